"""Whose key a text is, remembered as long as the database has not changed: most requests come from few callers."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from judge.store.access_keys import Caller, caller_of_key, digest, has_keys

KEPT_S = 1.0
"""Most seconds that an answer is remembered, whatever the files say."""


class Callers:
    """Asks the database in a thread, and not again while its files are as they were. For one event loop.

    A key that is made or revoked, also by another process, changes the files of a SQLite database and counts with the
    next request. A database elsewhere has no files here and is asked each time.
    """

    def __init__(self, engine: Engine, *, clock: Callable[[], float] = time.monotonic) -> None:
        name = engine.url.database if engine.dialect.name == "sqlite" else None
        self._engine = engine
        self._clock = clock
        self._files = () if name in (None, "", ":memory:") else (Path(str(name)), Path(f"{name}-wal"))
        self._mark: tuple[Any, ...] | None = None
        self._until = 0.0
        self._found: dict[str, Any] = {}

    async def any_key(self) -> bool:
        """Whether any key was made."""
        return bool(await self._ask("", lambda: has_keys(self._engine)))

    async def of_key(self, text: str) -> Caller | None:
        """The caller whose key `text` is, or None."""
        found: Caller | None = await self._ask(digest(text), lambda: caller_of_key(self._engine, text))
        return found

    async def _ask(self, name: str, question: Callable[[], Any]) -> Any:
        mark = self._look()
        if name in self._found:
            return self._found[name]
        found = await run_in_threadpool(question)
        if mark is not None and found is not None and mark == self._mark:
            self._found[name] = found
        return found

    def _look(self) -> tuple[Any, ...] | None:
        """How the files are now; what was remembered of an earlier state is forgotten."""
        mark = tuple(map(_state, self._files)) or None
        now = self._clock()
        if mark is None or mark != self._mark or now >= self._until:
            self._mark, self._until = mark, now + KEPT_S
            self._found.clear()
        return mark


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
