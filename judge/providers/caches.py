"""The reply cache that the settings name: a folder of this machine, or a server that many share."""

from __future__ import annotations

from judge.config import Settings
from judge.providers.cache import TextCache
from judge.providers.redis_cache import RedisCache


def open_cache(settings: Settings) -> TextCache | RedisCache | None:
    """The cache, opened; None where it is turned off.

    Raises:
        ConfigError: The folder cannot be used, or the server does not answer and the run was not told to go without.
        MissingExtra: The server's package is not installed.
    """
    if isinstance(settings.cache, str):
        return RedisCache(
            settings.cache_url() or settings.cache,
            settings.cache,
            days=settings.cache_days,
            optional=settings.cache_optional,
            hidden=settings.secrets(),
        )
    return TextCache(settings.cache_dir) if settings.cache else None
