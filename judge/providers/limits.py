"""Objects that belong to one running event loop: SDK clients, semaphores, the pace of a quota."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

Held = TypeVar("Held")


class PerLoop(Generic[Held]):
    """One object for each running loop, made on first use and closed with its loop.

    The object is held by an asynchronous generator that the loop itself knows: `asyncio.run`
    finalises those before it closes the loop, so that a client is closed in time even where
    nobody called `aclose`.
    """

    def __init__(self, make: Callable[[], Held], close: Callable[[Held], Awaitable[None]] | None = None) -> None:
        self._make = make
        self._close = close
        self._held: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Held, AsyncGenerator[None, None]]]
        self._held = WeakKeyDictionary()

    async def get(self) -> Held:
        """The object of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._held.get(loop)
        if found is not None:
            return found[0]
        held = self._make()
        lifetime = self._lifetime(held)
        self._held[loop] = (held, lifetime)
        await anext(lifetime)
        return held

    async def _lifetime(self, held: Held) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            if self._close is not None:
                await self._close(held)

    async def aclose(self) -> None:
        """Close the running loop's object; the next `get` makes a new one."""
        found = self._held.pop(asyncio.get_running_loop(), None)
        if found is not None:
            await found[1].aclose()


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
