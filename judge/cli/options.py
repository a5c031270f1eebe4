"""Options that several commands share, declared once."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.errors import UsageError

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
        help="anthropic/MODEL, openai/MODEL, litellm/ANY, local/NAME, rules/process, replay/FILE, fake/always-N, "
        "jury/NAME.",
    ),
]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", help="Send every call of this judge there, and nowhere else.")
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the reply cache.")]
Cache = Annotated[
    str | None,
    typer.Option(
        "--cache",
        metavar="URL",
        help="Cache that machines share: redis://HOST:PORT/DB or rediss://. A password belongs into JUDGE_CACHE.",
    ),
]
CacheOptional = Annotated[
    bool, typer.Option("--cache-optional", help="Go on without the shared cache where it does not answer.")
]


def cache_flags(cache: str | None, no_cache: bool, cache_optional: bool) -> dict[str, object]:
    """The settings that the options on the cache stand for.

    Raises:
        UsageError: A cache is named and turned off.
    """
    if no_cache and cache is not None:
        raise UsageError("Found --cache beside --no-cache.", hint="Give one of them.")
    return {"cache": False if no_cache else cache, "cache_optional": cache_optional or None}
