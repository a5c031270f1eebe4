"""`judge cache`: where replies are kept, in a folder or on a server, how many, and how to drop them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, note, say

if TYPE_CHECKING:
    from judge.providers import TextCache
    from judge.providers.redis_cache import RedisCache

app = typer.Typer(help="Look at the reply cache, or empty it.", no_args_is_help=True)


@app.command("stats")
def stats(cache: options.Cache = None, as_json: options.AsJson = False) -> None:
    """Path, number of replies and size of the cache."""
    kept = _open(cache)
    try:
        found = kept.stats()
    finally:
        kept.close()
    if as_json:
        emit(found)
    else:
        say(f"{found['path']}: {found['entries']} replies, {found['bytes'] / 1e6:.1f} MB")


@app.command("clear")
def clear(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    cache: options.Cache = None,
    as_json: options.AsJson = False,
) -> None:
    """Drop every cached reply, of everybody where the cache is shared. What was paid for is gone: it asks first."""
    from judge.report.numbers import plural

    kept = _open(cache)
    try:
        found = kept.stats()
        question = f"Drop {plural(found['entries'], 'cached reply', 'cached replies')} in {found['path']}?"
        if not yes and not typer.confirm(question, err=True):
            note("Nothing was dropped.")
            raise typer.Exit(1)
        dropped = kept.clear()
    finally:
        kept.close()
    if as_json:
        emit({"dropped": dropped})
    else:
        say(f"Dropped {plural(dropped, 'reply', 'replies')}.")


def _open(cache: str | None) -> TextCache | RedisCache:
    """The cache named, else the configured one, even where runs do not use it; one that is not there is an error."""
    from judge.config import load_settings
    from judge.providers import TextCache
    from judge.providers.caches import open_cache

    settings = load_settings({"cache": cache, "cache_optional": False})
    return open_cache(settings) or TextCache(settings.cache_dir)
