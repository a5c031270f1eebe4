"""Judges: any model or rule behind one name, with limits, retries, cache and prices around it."""

from judge.providers.cache import CacheWarning, TextCache
from judge.providers.catalogue import KnownJudge, known_judges
from judge.providers.connection import Connection, connect
from judge.providers.redaction import redact
from judge.providers.room import OverloadWarning

__all__ = [
    "CacheWarning",
    "Connection",
    "KnownJudge",
    "OverloadWarning",
    "TextCache",
    "connect",
    "known_judges",
    "redact",
]
