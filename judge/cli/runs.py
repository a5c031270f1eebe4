"""`judge runs`: list run folders, show one, export its verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from judge.cli import options
from judge.cli.output import emit, note, say, table

app = typer.Typer(help="Run folders of `judge batch`.", no_args_is_help=True)

Folder = Annotated[str, typer.Argument(help="Folder of a run.", metavar="DIR")]


@app.command("list")
def list_(
    root: Annotated[str, typer.Argument(help="Where to look, two folders deep.", metavar="[ROOT]")] = ".",
    as_json: options.AsJson = False,
) -> None:
    """List the runs below a folder: how far each is."""
    from judge.errors import UsageError
    from judge.report.runs import spent
    from judge.store.run_folder import RunFolder, found_manifests

    if not Path(root).is_dir():
        raise UsageError(f"There is no folder {root!r} to look for runs in.")
    found: list[dict[str, Any]] = []
    spends: list[str] = []
    unreadable: dict[str, str] = {}
    for path, why in found_manifests(Path(root)):
        if why is not None:
            unreadable[str(path)] = why
            continue
        with RunFolder.read(path) as run:
            counts, manifest = run.counts(), run.manifest
            found.append(
                {
                    "folder": str(path),
                    "created": manifest.created,
                    "rubric": manifest.rubric,
                    "judge": manifest.judge,
                    "items": counts.items if counts.input_known else None,
                    "pending": counts.pending if counts.input_known else None,
                    "by_status": counts.by_status if counts.input_known else None,
                    "spend": run.spend().to_json(),
                }
            )
            spends.append(spent(run.spend()))
    if as_json:
        emit({"runs": found, "unreadable": unreadable})
        return
    for why in unreadable.values():
        note(f"left out: {why}")
    if not found:
        say(f"No runs below {root!r}.")
        return
    rows = [
        [*(r["folder"], r["created"][:16], r["rubric"], r["judge"]), *_far(r), cost]
        for r, cost in zip(found, spends, strict=True)
    ]
    say(table(rows, header=["folder", "created", "rubric", "judge", "done", "errors", "spent"]))


def _far(run: dict[str, Any]) -> tuple[str, str]:
    """How many are done of how many, and errors; unknown where the input is not taken down."""
    if run["items"] is None:
        return "unknown", "unknown"
    return f"{run['items'] - run['pending']:,}/{run['items']:,}", f"{run['by_status'].get('error', 0):,}"


@app.command("show")
def show(run: Folder, as_json: options.AsJson = False) -> None:
    """Show a run: what it judges, how far it is, what it cost, and the summary of its verdicts."""
    from judge.engine.batch import summary_of
    from judge.report.numbers import plural
    from judge.report.runs import run_text
    from judge.store.batch_ledger import handed_in
    from judge.store.run_folder import RunFolder

    with RunFolder.read(Path(run)) as folder:
        counts, spend = folder.counts(), folder.spend()
        summary = summary_of(folder)
        batches, requests = handed_in(Path(run))
        if as_json:
            emit(
                {
                    "folder": run,
                    "manifest": folder.manifest.to_json(),
                    "counts": counts.to_json(),
                    "spend": spend.to_json(),
                    "at_provider": {"batches": batches, "requests": requests},
                    "summary": summary.to_json(),
                }
            )
            return
        say(run_text(folder.manifest, counts, spend, summary))
        if batches:
            where = f"{plural(requests, 'request')} in {plural(batches, 'batch', 'batches')}"
            say(f"at the provider, and not in the cost: {where}")
            note(f"`judge batch attach {run}` takes what has come.")


@app.command("export")
def export(
    run: Folder,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="File to write, ending .jsonl, .csv or .parquet.")
    ] = None,
    format: Annotated[
        str | None, typer.Option("--format", help="jsonl, csv or parquet; by the file's ending when left out.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Export the verdicts that count, one for each trajectory, in the order of the input."""
    import sys
    from typing import cast

    from judge.errors import UsageError
    from judge.report.numbers import plural
    from judge.store.export import ExportFormat, csv_text, export_run
    from judge.store.run_folder import RunFolder

    with RunFolder.read(Path(run)) as folder:
        if out is None:
            if format not in (None, "jsonl", "csv") or as_json:
                raise UsageError("This export needs a file.", hint="Name it with --out FILE.")
            if format == "csv":
                for text in csv_text(folder.verdicts()):
                    sys.stdout.write(text)
            else:
                for line in folder.lines():
                    sys.stdout.write(line.decode("utf-8"))
            return
        count = export_run(folder, Path(out), cast("ExportFormat | None", format))
        missing = folder.counts().items - count
    if as_json:
        emit({"path": out, "verdicts": count, "missing": max(missing, 0)})
        return
    note(f"{plural(count, 'verdict')} written to {out}.")
    if missing > 0:
        note(f"Not in it, since they have no verdict yet: {missing:,}.")
