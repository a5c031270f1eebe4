"""`judge convert`: any supported format to native JSON Lines, ATIF or OpenAI messages."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, say


def convert(
    traces: options.Traces,
    out: Annotated[str | None, typer.Option("--out", "-o", help="File that the JSON Lines go to.")] = None,
    to: Annotated[
        str, typer.Option("--to", help="native (loses nothing), atif or openai (say what was lost).")
    ] = "native",
    explain: Annotated[bool, typer.Option("--explain", help="Print what was detected, and every diagnostic.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 when an importer warned.")] = False,
    format: options.Format = None,
    mapping: options.Mapping = None,
    limit: options.Limit = None,
    as_json: options.AsJson = False,
) -> None:
    """Read traces of any supported format and write them as JSON Lines; native ones lose nothing."""
    from collections import Counter

    from judge.cli import reading
    from judge.errors import UsageError
    from judge.importers import TARGETS, convert_files
    from judge.report.numbers import plural

    target = next((name for name in TARGETS if name == to), None)
    if target is None:
        raise UsageError(f"--to is {to!r}.", hint=f"Choose one of {', '.join(TARGETS)}.")
    lost: Counter[str] = Counter()
    report = convert_files(
        traces,
        out=out,
        to=target,
        lost=lost,
        format=format,
        mapping=reading.mapping_file(mapping),
        limit=limit,
        detail=explain,
    )
    if as_json:
        document = {"results": [entry.to_json() for entry in report]}
        emit(document if target == "native" else {**document, "lost": dict(sorted(lost.items()))})
    else:
        for entry in report:
            say(entry.text(explain=explain))
        if out:
            runs = plural(sum(entry.trajectories for entry in report), "trajectory", "trajectories")
            say(f"Wrote {runs} to {out}.")
            for what, number in sorted(lost.items()):
                say(f"  lost: {number} × {what}")
    if strict and any(entry.warnings for entry in report):
        raise typer.Exit(1)
