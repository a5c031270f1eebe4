"""Calls of a scripted judge that wait until a test lets them through: what happens meanwhile needs no clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from judge.types.request import Reply, Request

PATIENCE_S = 120.0
"""Longer than any step of a test takes on a slow machine; where all is well nobody waits for it."""


class HeldJudge:
    """Stands in for `Fake.complete` of this process.

    Attributes:
        asked: Ids of the trajectories that a call has begun for, in order.
        free: How many calls from the first on are answered at once; the others wait for `let_go`.
        let_go: Says whether the calls that wait may be answered.
    """

    def __init__(self, answer: Callable[[Any, Request], Awaitable[Reply]]) -> None:
        self._answer = answer
        self.asked: list[str] = []
        self.free = 0
        self.let_go: Callable[[], bool] = lambda: False

    def release(self) -> None:
        """Answers every call from now on."""
        self.let_go = lambda: True

    async def complete(self, provider: Any, request: Request) -> Reply:
        place = len(self.asked)
        self.asked.append(request.subject.trajectory_id)
        while place >= self.free and not self.let_go():
            await asyncio.sleep(0.01)
        return await self._answer(provider, request)


def until(holds: Callable[[], bool], what: str) -> None:
    """Waits for a condition; `what` is said where it never comes true."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.02)
