"""One call for equal requests of several processes: who is first claims it, the others wait for its reply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from judge.protocols import Claim, SharedCache
from judge.providers.redis_cache import new_token

FIRST_LOOK_S = 0.05
LONGEST_LOOK_S = 0.5
GROWTH = 1.5
RENEWALS = 3
"""Renewals of a claim within the time that it stands."""


@asynccontextmanager
async def claimed(
    cache: SharedCache,
    key: str,
    arrived: Callable[[], bool],
    *,
    sleep: Callable[[float], Awaitable[Any]],
    draw: Callable[[], float],
) -> AsyncIterator[None]:
    """The block runs when no other process is asking for the reply of `key`, or as soon as that reply has arrived.

    The claim is renewed by the running loop while the block lasts. A process that dies, or whose loop stands still
    for longer than a claim stands, is overtaken: then the reply may be asked for twice, and each is kept.

    Args:
        arrived: Whether the reply is in the cache now.
        draw: A random number in [0, 1), so that processes that wait do not look at the same moment.
    """
    token = new_token()
    wait = FIRST_LOOK_S
    while (claim := cache.claim(key, token)) is None:
        await sleep(wait * (0.5 + draw()))
        wait = min(wait * GROWTH, LONGEST_LOOK_S)
        if arrived():
            yield
            return
    renewing = _Renewing(claim)
    try:
        yield
    finally:
        renewing.stop()
        claim.release()


class _Renewing:
    """A timer of the running loop that renews a claim until it is stopped."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self._loop = asyncio.get_running_loop()
        self._timer = self._next()

    def _next(self) -> asyncio.TimerHandle:
        return self._loop.call_later(self._claim.lease_s / RENEWALS, self._renew)

    def _renew(self) -> None:
        self._claim.renew()
        self._timer = self._next()

    def stop(self) -> None:
        self._timer.cancel()
