"""`judge rubrics`: list, show, lint, write (`new`) and improve rubrics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, say, table
from judge.errors import UsageError

app = typer.Typer(help="List, show, lint, write (`new`) and improve rubrics.", no_args_is_help=True)


@app.command("list")
def list_(as_json: options.AsJson = False) -> None:
    """The shipped rubrics, a line each."""
    from judge.prompt import load_rubric, rubric_names

    rubrics = [load_rubric(name) for name in rubric_names()]
    if as_json:
        emit({"rubrics": [{"id": r.id, "version": r.version, "title": r.title, "intent": r.intent} for r in rubrics]})
        return
    rows = [[r.id, r.version, ", ".join(c.id for c in r.criteria), r.title] for r in rubrics]
    say(table(rows, header=["rubric", "version", "criteria", "title"]))


@app.command("show")
def show(rubric: Annotated[str, typer.Argument(help="Name or path.")], as_json: options.AsJson = False) -> None:
    """One rubric, whole, with its fingerprint."""
    from judge.prompt import load_rubric, rubric_path

    loaded = load_rubric(rubric)
    if as_json:
        emit({"rubric": loaded.to_json(), "fingerprint": loaded.fingerprint})
        return
    say(rubric_path(rubric).read_text(encoding="utf-8").rstrip())
    say(f"\n# fingerprint {loaded.fingerprint}")


@app.command("lint")
def lint(
    rubrics: Annotated[list[str] | None, typer.Argument(help="Names or paths; none means all shipped ones.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Find what makes a rubric misleading, with the line. Exit 1 when there is an error."""
    from judge.prompt import lint_rubric, rubric_names, rubric_path
    from judge.report.numbers import plural

    results = [(name, lint_rubric(rubric_path(name))) for name in rubrics or rubric_names()]
    errors = sum(finding.severity == "error" for _, found in results for finding in found)
    if as_json:
        emit({"results": [{"rubric": name, "findings": [f.to_json() for f in found]} for name, found in results]})
    else:
        for name, found in results:
            for finding in found:
                say(f"{name}:{finding.line}: {finding.severity}: {finding.code}: {finding.message}")
        count = sum(len(found) for _, found in results)
        say(f"{plural(len(results), 'rubric')}, {plural(count, 'finding')}, errors among them: {errors}.")
    if errors:
        raise typer.Exit(1)


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(help="Id of the new rubric.")],
    out: Annotated[str | None, typer.Option("--out", "-o", help="File to write; NAME.yaml by default.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Write a commented rubric to start from. An existing file is never overwritten."""
    from judge.prompt import new_rubric

    path = Path(out or f"{name}.yaml")
    if path.exists():
        raise UsageError(f"{path} exists already.", hint="Choose another name with --out.")
    path.write_text(new_rubric(name), encoding="utf-8")
    if as_json:
        emit({"path": str(path)})
    else:
        say(f"Wrote {path}. Edit it, then run `judge rubrics lint {path}`.")


@app.command("improve")
def improve(
    set_name: Annotated[str, typer.Argument(help="A calibration set with dev labels.", metavar="SET")],
    rubric: Annotated[str | None, typer.Option("--rubric", "-r", help="Rubric; the set names its own.")] = None,
    edit: Annotated[str | None, typer.Option("--edit", help="A changed rubric to measure on the same runs.")] = None,
    ask: Annotated[
        str | None, typer.Option("--ask", help="A model to propose an edit from the disagreements; it is never taken.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="File for the proposed rubric; ID-VERSION.yaml by default.")
    ] = None,
    criterion: Annotated[str | None, typer.Option("--criterion", help="Criterion of the set.")] = None,
    judge: options.Judge = None,
    final: Annotated[
        bool, typer.Option("--final", help="Measure on the test split; every such look is counted.")
    ] = False,
    max_usd: options.MaxUsd = None,
    as_json: options.AsJson = False,
) -> None:
    """Show where judge and people disagree on dev runs, by the clause it turns on, and whether an edit helps."""
    from datetime import UTC, datetime

    from judge.config import load_settings
    from judge.engine.rubric_work import work_on_rubric
    from judge.report.rubric_work import rubric_work_text

    found = work_on_rubric(
        set_name,
        rubric,
        settings=load_settings({"judge": judge, "max_usd": max_usd}),
        now=datetime.now(UTC),
        edit=edit,
        ask=ask,
        out=Path(out) if out is not None else None,
        criterion=criterion,
        final=final,
    )
    if as_json:
        emit(found.to_json())
    else:
        say(rubric_work_text(found))
    if found.proposal is not None and found.proposal.edit is None:
        raise typer.Exit(4)
