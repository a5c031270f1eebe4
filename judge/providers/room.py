"""How many calls of one provider may be under way: fewer when it is overloaded, more again when it answers."""

from __future__ import annotations

import asyncio
import warnings
from collections import deque
from collections.abc import Callable
from types import TracebackType

from judge.errors import Overloaded, RetryableError
from judge.providers.retry import backoff

TOLD_AFTER_S = 30.0
"""Seconds of nothing but overloads after which it is told: whoever watches has begun to wonder. A provider that limits
calls by the minute, and is not busy with others, has let some through by then."""


class OverloadWarning(UserWarning):
    """A provider refuses every call, and everyone waits for it."""


class Room:
    """Places for calls under way, their number adjusted while they are held. Bound to the loop it is used in.

    An overload (429, 503, 529) halves the places, every full round of answers gives one back. From the second
    overload in a row, with no answer in between, everyone waits: for as long as the server asks, else by the common
    backoff. One call told to wait alone holds up nobody else. Calls that were sent before the last change tell
    nothing new, so that a burst of refusals counts once.

    A provider that only refuses is given up after `longest` seconds and `tries` overloads in a row, or when everyone
    is asked to wait longer than `longest`. The time lets it come back from a restart; the number keeps what a single
    call may do, which is to wait as long as the server asks before each of its tries. One given up is still asked, by
    whoever comes when a common wait is over, and its first answer ends all of this.

    Attributes:
        overloads: In a row, without an answer in between.
        refusals: Their statuses, each once, in the order of the first.
        asked: Seconds that the server asked to wait with the last of them, or None.
        given_up: Whether nobody waits any more: calls that meet a common wait are to fail.
    """

    def __init__(
        self,
        name: str,
        most: int,
        *,
        longest: float,
        tries: int,
        clock: Callable[[], float],
        draw: Callable[[], float],
    ) -> None:
        """
        Args:
            name: Of the judge, for what is told.
            longest: Seconds of nothing but overloads that are waited for, and the longest wait that a server may ask.
            tries: Of one call.
        """
        self.name = name
        self.most = most
        self.places = float(most)
        self.overloads = 0
        self.refusals: dict[int, None] = {}
        self.asked: float | None = None
        self.given_up = False
        self._longest = longest
        self._tries = tries
        self._clock = clock
        self._draw = draw
        self._used = 0
        self._told = False
        self._since = 0.0
        self._changed = float("-inf")
        self._until = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    def pause(self) -> float:
        """Seconds that everyone has to wait before sending; 0 for none."""
        return max(0.0, self._until - self._clock()) if self.overloads else 0.0

    def answered(self) -> None:
        """An answer came: the overload, if there was one, is over."""
        self.overloads = 0
        self.refusals.clear()
        self.given_up = self._told = False
        if self.places < self.most:
            self.places = min(float(self.most), self.places + 1.0 / self.places)
            self._wake()

    def overloaded(self, sent: float, asked: float | None, status: int) -> None:
        """The server refused a call for lack of capacity.

        Args:
            sent: When that call was sent.
            asked: Seconds that the server asks to wait, or None.
            status: Of the refusal.
        """
        if sent < self._changed:
            return
        now = self._clock()
        if not self.overloads:
            self._since = now
        self._changed = now
        self.overloads += 1
        self.refusals[status] = None
        self.asked = asked
        self.given_up = self.overloads >= self._tries and now - self._since >= self._longest
        self.places = max(1.0, self.places / 2)
        if self.overloads >= 2:
            self.given_up = self.given_up or (asked or 0.0) > self._longest
            wait = backoff(self.overloads - 1, draw=self._draw()) if asked is None else min(asked, self._longest)
            self._until = max(self._until, now + wait)
        if not (self._told or self.given_up) and now - self._since >= TOLD_AFTER_S:
            self._told = True
            limit = f"max_wait_s = {self._longest:g}"
            warnings.warn(f"{self._said()} Its calls wait, up to {limit}.", OverloadWarning, stacklevel=2)

    def error(self, spent: int) -> Overloaded:
        """What a call raises that waits no more, after `spent` requests."""
        error = Overloaded(
            self._said(),
            hint=f"Nobody waits longer than max_wait_s = {self._longest:g}. Run again later (finished work is kept), "
            "or raise max_wait_s.",
            provider=self.name,
            status_code=next(reversed(self.refusals)),
        )
        error.attempts = spent
        return error

    def unsent(self) -> RetryableError:
        """What a call raises that may not wait for the common wait to end, and was not sent."""
        status = next(reversed(self.refusals))
        return RetryableError(
            f"{self._said()} This call was not sent in its time.",
            provider=self.name,
            status_code=status,
            reason="rate_limit" if status == 429 else "server",
        )

    def _said(self) -> str:
        """What the provider answers, and for how long."""
        statuses = " and ".join(map(str, self.refusals))
        asks = "" if self.asked is None else f" and asks to wait {self.asked:g} s"
        return f"{self.name} has answered nothing but {statuses} for {self._clock() - self._since:.0f} s{asks}."

    async def __aenter__(self) -> None:
        if self._used < int(self.places) and not self._waiting:
            self._used += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting.remove(turn)
            else:  # the place was given in the same moment
                self._leave()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        self._used -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self._used < int(self.places):
            turn = self._waiting.popleft()
            if not turn.done():
                self._used += 1
                turn.set_result(None)
