"""Replies kept on disk as text, so that a re-run costs nothing.

diskcache unpickles what it finds in its database, whoever wrote it (CVE-2025-69872), reads any
file that a row names, and evicts at 1 GiB. The `Disk` below takes text only, inside the
database, on the way in and on the way out; nothing is evicted; the folder is the owner's alone.

A row that is not text is treated as absent. A database that does not open is moved aside
to ``cache.db.corrupt-N`` with a `CacheWarning`: losing a cache costs calls, losing a run costs more.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import warnings
from pathlib import Path
from typing import Any

import diskcache
from diskcache.core import MODE_RAW

from judge.errors import ConfigError

DATABASE = "cache.db"
NO_LIMIT = 2**62


class CacheWarning(UserWarning):
    """The cache could not be used as asked; the run goes on without what was lost."""


class _NotText(Exception):
    """A row that is not text inside the database."""


class TextDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache ships no types
    """Stores text keys and text values, and nothing else."""

    def put(self, key: Any) -> tuple[str, bool]:
        if type(key) is not str:
            raise TypeError(f"a cache key is text, found {type(key).__name__}")
        return key, True

    def get(self, key: Any, raw: Any) -> str:
        if not raw or type(key) is not str:
            raise _NotText
        return key

    def store(self, value: Any, read: bool, key: Any = None) -> tuple[int, int, None, str]:
        if type(value) is not str or read:
            raise TypeError(f"a cache value is text, found {type(value).__name__}")
        return 0, MODE_RAW, None, value

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> str:
        if mode != MODE_RAW or filename is not None or type(value) is not str or read:
            raise _NotText
        return value


class TextCache:
    """A `Cache` in a folder. Safe to use from many threads and processes at once.

    Attributes:
        failures: Reads and writes that were not done because the database did not do them.

    Raises:
        ConfigError: The folder cannot be made or written.
    """

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(directory)
        self.failures = 0
        self._warned = False
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.name == "posix":
                self.directory.chmod(0o700)
        except OSError as error:
            raise ConfigError(
                f"The cache folder {str(directory)!r} cannot be used: {error.strerror or error}.",
                hint="Set JUDGE_CACHE_DIR to a folder that can be written, or turn the cache off.",
            ) from None
        try:
            self._cache = self._open()
        except sqlite3.OperationalError as error:
            raise ConfigError(
                f"The cache in {str(directory)!r} does not open: {error}.",
                hint="Set JUDGE_CACHE_DIR to a folder that can be written, or turn the cache off.",
            ) from None
        except (sqlite3.DatabaseError, _NotText, TypeError, ValueError, KeyError) as error:
            self._set_aside(error)
            self._cache = self._open()

    def _open(self) -> Any:
        cache = diskcache.Cache(
            str(self.directory),
            disk=TextDisk,
            eviction_policy="none",
            size_limit=NO_LIMIT,
            cull_limit=0,
            statistics=0,
            tag_index=0,
        )
        try:
            cache.get("probe")
            (found,) = cache._sql("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise sqlite3.DatabaseError(found)
        except BaseException:
            cache.close()
            raise
        return cache

    def _set_aside(self, error: BaseException) -> None:
        number = 1
        while (self.directory / f"{DATABASE}.corrupt-{number}").exists():
            number += 1
        for suffix in ("", "-wal", "-shm"):
            path = self.directory / f"{DATABASE}{suffix}"
            if path.exists():
                path.rename(self.directory / f"{DATABASE}{suffix}.corrupt-{number}")
        warnings.warn(
            f"The cache in {str(self.directory)!r} is damaged ({error}); it was moved to "
            f"{DATABASE}.corrupt-{number} and an empty one was begun.",
            CacheWarning,
            stacklevel=4,
        )

    def _warn(self, doing: str, error: BaseException) -> None:
        self.failures += 1
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"The cache in {str(self.directory)!r} failed while {doing} ({error}); the run goes on without it.",
                CacheWarning,
                stacklevel=3,
            )

    def get(self, key: str) -> str | None:
        """The text kept under `key`, or None. A row that is not text is None."""
        try:
            found = self._cache.get(key)
        except _NotText:
            return None
        except (sqlite3.DatabaseError, diskcache.Timeout) as error:
            self._warn("reading", error)
            return None
        return found if type(found) is str else None

    def put(self, key: str, text: str) -> None:
        """Keep `text` under `key`, over what was there.

        Raises:
            TypeError: `key` or `text` is not text.
        """
        try:
            self._cache.set(key, text)
        except (sqlite3.DatabaseError, diskcache.Timeout, OSError) as error:
            self._warn("writing", error)

    def stats(self) -> dict[str, Any]:
        """{"path": folder, "entries": replies kept, "bytes": size of the database files}."""
        size = 0
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                size += (self.directory / f"{DATABASE}{suffix}").stat().st_size
        return {"path": str(self.directory), "entries": len(self._cache), "bytes": size}

    def clear(self) -> int:
        """Remove every entry; returns how many there were."""
        before = len(self._cache)
        self._cache.clear()
        return before

    def close(self) -> None:
        """Close the database connection of this thread."""
        self._cache.close()
