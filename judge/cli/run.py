"""`judge run`: a suite of cases over recorded traces, or over an agent that is run now."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, note, say
from judge.errors import BudgetReached, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from judge.engine.suite import SuiteRun
    from judge.types import Trajectory
    from judge.types.suite import SuiteResult

NOT_TRACES = ("result.json", "labels.jsonl")


def run(
    suite: Annotated[str, typer.Argument(help="Suite file (docs/suites.md).", metavar="CASES.yaml")],
    traces: Annotated[
        list[str] | None,
        typer.Option("--traces", help="Trace file, or folder of traces with what the runs left behind in left/ID."),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="module:function that is run for every attempt. It is your code.")
    ] = None,
    attempts: Annotated[
        int | None, typer.Option("--attempts", "-k", min=1, help="Attempts of every case, over the file's.")
    ] = None,
    split: Annotated[str, typer.Option("--split", help="dev, holdout or all.")] = "dev",
    judge: Annotated[
        str | None, typer.Option("--judge", "-j", help="Who answers the rubrics of the cases; nobody by default.")
    ] = None,
    max_usd: Annotated[
        float | None, typer.Option("--max-usd", min=0.0, help="Begin no new case once this is spent (exit 5).")
    ] = None,
    min_pass: Annotated[
        float,
        typer.Option("--min-pass", min=0.0, max=1.0, help="Least pass rate that exits 0; every attempt by default."),
    ] = 1.0,
    allow_commands: Annotated[
        bool, typer.Option("--allow-commands", help="Run the command checks of a suite that allows them.")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="New folder for the traces, what runs left behind and result.json."),
    ] = None,
    labels_out: Annotated[
        str | None, typer.Option("--labels-out", help="Write the checks as labels to this JSON Lines file.")
    ] = None,
    format: options.Format = None,
    mapping: options.Mapping = None,
    as_json: options.AsJson = False,
) -> None:
    """Check every attempt at every case of a suite: pass rate, pass^k, pass@k, path agreement, cost."""
    from contextlib import ExitStack
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from judge.engine.suite import SuiteRun, run_traces
    from judge.engine.suite_file import load_suite
    from judge.report.suite import suite_text

    if (agent is None) == (not traces):
        raise UsageError("A suite needs one of --traces and --agent.", hint="See `judge run --help`.")
    if split not in ("dev", "holdout", "all"):
        raise UsageError(f"--split is {split!r}; dev, holdout or all was expected.")
    made = load_suite(suite)
    grader = _grader(judge, Path(suite).parent)
    chosen = SuiteRun(
        suite=made,
        folder=Path(suite).parent,
        split=split,  # type: ignore[arg-type]  # checked above
        attempts=attempts,
        max_usd=max_usd,
        allow_commands=allow_commands,
        grader=grader,
    )
    with TemporaryDirectory(prefix="judge-run-") as spare, ExitStack() as stack:
        if grader is not None:
            stack.callback(grader.close)
        chosen.checkers()  # a policy that does not load leaves no folder behind
        folder = _new_folder(out) if out else Path(spare)
        if agent is not None:
            result = _run_agent(chosen, agent, folder)
        else:
            result = run_traces(chosen, _traces(traces or [], format, mapping), left=_left(traces or []))
        if out:
            _write(folder / "result.json", result)
    if labels_out:
        _write_labels(labels_out, result)
    if as_json:
        emit(result.to_json())
    else:
        say(suite_text(result))
    if grader is not None and grader.reached is not None:
        raise grader.reached
    _exit(result, min_pass)


def _grader(judge: str | None, folder: Path):  # type: ignore[no-untyped-def]  # the type loads the engine
    if judge is None:
        return None
    from judge.config import load_settings
    from judge.engine.judged_rate import Grader

    return Grader(load_settings({"judge": judge}), folder)


def _new_folder(name: str) -> Path:
    from pathlib import Path

    folder = Path(name)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f"The folder {name!r} is not empty; a run would mix with an earlier one.", hint="Name a new one."
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _run_agent(chosen: SuiteRun, agent: str, folder: Path) -> SuiteResult:
    import json
    import shutil

    from judge.cli.progress import progress
    from judge.engine.suite import run_agents

    note(f"Running your code: {agent}, in a process of its own for each attempt.")
    total = sum(chosen.wanted(case) for case in chosen.cases())
    path = folder / "traces.jsonl"
    try:
        with path.open("w", encoding="utf-8", newline="\n") as file, progress("attempts", total) as done:

            def keep(trajectory: Trajectory) -> None:
                file.write(json.dumps(trajectory.to_json(), ensure_ascii=False) + "\n")
                file.flush()

            return run_agents(chosen, agent, out=folder, keep=keep, done=done)
    except UsageError:
        if path.stat().st_size == 0:  # nothing ran: what was begun would stand in the way of the next try
            path.unlink()
            shutil.rmtree(folder / "left", ignore_errors=True)
        raise


def _traces(paths: list[str], format: str | None, mapping: str | None) -> Iterator[Trajectory]:
    from pathlib import Path

    from judge.cli import reading

    files: list[str] = []
    for path in paths:
        if Path(path).is_dir():
            found = sorted(
                f for f in Path(path).iterdir() if f.suffix in (".json", ".jsonl") and f.name not in NOT_TRACES
            )
            if not found:
                raise UsageError(f"The folder {path!r} has no .json or .jsonl file.")
            files += map(str, found)
        else:
            files.append(path)
    return reading.trajectories(files, format=format, mapping=mapping, limit=None)


def _left(paths: list[str]):  # type: ignore[no-untyped-def]  # a closure over the folders
    from pathlib import Path

    homes = [(Path(path) if Path(path).is_dir() else Path(path).parent) / "left" for path in paths if path != "-"]

    def left(id: str) -> Path | None:
        if id in ("", ".", "..") or "/" in id or "\\" in id:
            return None  # such an id names no single folder
        return next((home / id for home in homes if (home / id).is_dir()), None)

    return left


def _write(path: Path, result: SuiteResult) -> None:
    import json

    path.write_text(json.dumps(result.to_json(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8", newline="\n")


def _write_labels(path: str, result: SuiteResult) -> None:
    import json
    from datetime import UTC, datetime
    from pathlib import Path

    from judge.engine.suite_labels import suite_labels
    from judge.report.numbers import plural

    at = datetime.now(UTC).isoformat(timespec="seconds")
    lines = [json.dumps(label.to_json(), ensure_ascii=False) for label in suite_labels(result, labelled_at=at)]
    try:
        Path(path).write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"Labels cannot be written to {path!r}: {error.strerror}.") from None
    note(f"Wrote {plural(len(lines), 'label')} to {path}.")


def _exit(result: SuiteResult, min_pass: float) -> None:
    """5 where the budget kept cases from starting, 1 where too little passed, 3 where something was not measured."""
    summary = result.summary
    if summary.not_run:
        raise BudgetReached(
            f"The budget is reached: cases that were not started: {len(summary.not_run)}. The results above stand.",
            hint="Raise --max-usd or the suite's max_usd to run the rest.",
        )
    rate = summary.pass_rate.value
    if rate is not None and rate < min_pass - 1e-12:
        raise typer.Exit(1)
    if rate is None or summary.unmeasured or any(case.status == "not_run" for case in result.cases):
        note("Undecided: not every case was measured.")
        raise typer.Exit(3)
