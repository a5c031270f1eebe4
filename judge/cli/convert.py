"""`judge convert`: any supported format to native JSON Lines."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, say


def convert(
    traces: options.Traces,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Where the native JSON Lines go.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print what was detected, and every diagnostic.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 when an importer warned.")] = False,
    format: options.Format = None,
    mapping: options.Mapping = None,
    limit: options.Limit = None,
    as_json: options.AsJson = False,
) -> None:
    """Read traces of any supported format and write them as native JSON Lines, losing nothing."""
    from judge.cli import reading
    from judge.importers import convert_files

    report = convert_files(
        traces, out=out, format=format, mapping=reading.mapping_file(mapping), limit=limit, detail=explain
    )
    if as_json:
        emit({"results": [entry.to_json() for entry in report]})
    else:
        for entry in report:
            say(entry.text(explain=explain))
        if out:
            say(f"Wrote {sum(entry.trajectories for entry in report)} trajectories to {out}.")
    if strict and any(entry.warnings for entry in report):
        raise typer.Exit(1)
