"""Objects that belong to one running event loop: SDK clients, semaphores, the pace of a quota."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

Held = TypeVar("Held")
_ByLoop = WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Held, AsyncGenerator[None, None]]]

ELSEWHERE_S = 2.0
"""Seconds that the loop of another thread is given to close what it holds."""
_CLOSING: set[asyncio.Task[None]] = set()


class PerLoop(Generic[Held]):
    """One object for each running loop, made on first use and closed with its loop.

    The object is held by an asynchronous generator that the loop itself knows: `asyncio.run`
    finalises those before it closes the loop, so that a client is closed in time even where
    nobody called `aclose`. Where the holder is dropped while a loop runs, that loop closes the object; it is kept
    alive until then, as the garbage collector ends what refers to each other in any order, and not a client first.
    """

    def __init__(self, make: Callable[[], Held], close: Callable[[Held], Awaitable[None]] | None = None) -> None:
        """`close` and what `make` makes refer to no owner of this object: they would keep it alive."""
        self._make = make
        self._close = close
        self._held: _ByLoop[Held] = WeakKeyDictionary()
        if close is not None:
            weakref.finalize(self, _close_dropped, self._held).atexit = False  # loops end before the process does

    async def get(self) -> Held:
        """The object of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._held.get(loop)
        if found is not None:
            return found[0]
        held = self._make()
        lifetime = _lifetime(held, self._close, self._held)
        self._held[loop] = (held, lifetime)
        await anext(lifetime)
        return held

    async def aclose(self) -> None:
        """Close the objects of every loop that runs; the next `get` makes a new one.

        Where nothing has to be closed, only the running loop's is let go. Those of other threads are closed there, and
        waited for `ELSEWHERE_S` at most: their loop may be blocked by whoever waits here. Those of a loop that stands
        still are closed when it ends.
        """
        here = asyncio.get_running_loop()
        mine = self._held.pop(here, None)
        others = [] if self._close is None else [loop for loop in list(self._held) if loop.is_running()]
        elsewhere = [
            asyncio.wrap_future(asyncio.run_coroutine_threadsafe(found[1].aclose(), loop))
            for loop in others
            if (found := self._held.pop(loop, None)) is not None
        ]
        try:
            if mine is not None:
                await mine[1].aclose()
        finally:
            if elsewhere:
                done, _ = await asyncio.wait(elsewhere, timeout=ELSEWHERE_S)
                for future in done:
                    future.result()


async def _lifetime(
    held: Held, close: Callable[[Held], Awaitable[None]] | None, by_loop: _ByLoop[Held]
) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        loop = asyncio.get_running_loop()
        known = by_loop.get(loop)
        if known is not None and known[0] is held:
            del by_loop[loop]
        if close is not None:
            await close(held)


def _close_dropped(by_loop: _ByLoop[Any]) -> None:
    for loop, (_, lifetime) in list(by_loop.items()):
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_begin_closing, loop, lifetime)


def _begin_closing(loop: asyncio.AbstractEventLoop, lifetime: AsyncGenerator[None, None]) -> None:
    task = loop.create_task(lifetime.aclose())
    _CLOSING.add(task)  # a loop holds its tasks weakly
    task.add_done_callback(_CLOSING.discard)


class Pace:
    """At most `per_minute` starts a minute, evenly spaced, in the order of asking.

    Even spacing means no burst: the first start is at once, each further one 60 / `per_minute`
    seconds after the one before.
    """

    def __init__(
        self, per_minute: float, *, clock: Callable[[], float], sleep: Callable[[float], Awaitable[object]]
    ) -> None:
        self._gap = 60.0 / per_minute
        self._clock = clock
        self._sleep = sleep
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for the next free start."""
        now = self._clock()
        start = max(now, self._next)
        self._next = start + self._gap
        if start > now:
            await self._sleep(start - now)
