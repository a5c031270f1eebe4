"""`judge cache`: where replies are kept, how many, and how to drop them."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, note, say

app = typer.Typer(help="Look at the reply cache, or empty it.", no_args_is_help=True)


@app.command("stats")
def stats(as_json: options.AsJson = False) -> None:
    """Path, number of replies and size of the cache."""
    from judge.config import load_settings
    from judge.providers import TextCache

    cache = TextCache(load_settings().cache_dir)
    try:
        found = cache.stats()
    finally:
        cache.close()
    if as_json:
        emit(found)
    else:
        say(f"{found['path']}: {found['entries']} replies, {found['bytes'] / 1e6:.1f} MB")


@app.command("clear")
def clear(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False, as_json: options.AsJson = False
) -> None:
    """Drop every cached reply. What was paid for is gone: it asks first."""
    from judge.config import load_settings
    from judge.providers import TextCache

    cache = TextCache(load_settings().cache_dir)
    try:
        entries = cache.stats()["entries"]
        if not yes and not typer.confirm(f"Drop {entries} cached replies?", err=True):
            note("Nothing was dropped.")
            raise typer.Exit(1)
        dropped = cache.clear()
    finally:
        cache.close()
    if as_json:
        emit({"dropped": dropped})
    else:
        say(f"Dropped {dropped} replies.")
