"""Options that several commands share, declared once."""

from __future__ import annotations

from typing import Annotated

import typer

Traces = Annotated[list[str], typer.Argument(help="Trace files of any format; - is stdin.", metavar="TRACE...")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Format = Annotated[str | None, typer.Option("--format", help="Name of the trace format; detected by default.")]
Mapping = Annotated[
    str | None, typer.Option("--mapping", help="YAML file that maps your own field names (docs/mapping.md).")
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Take the first N trajectories.")]
Reference = Annotated[
    str | None,
    typer.Option("--reference", help="Expected answer, state, calls or sequence: a JSON file, or JSON itself."),
]
Judge = Annotated[
    str | None,
    typer.Option(
        "--judge",
        "-j",
        help="anthropic/MODEL, openai/MODEL, litellm/ANY, local/NAME, rules/process, replay/FILE, fake/always-N.",
    ),
]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", help="Send every call of this judge there, and nowhere else.")
]
