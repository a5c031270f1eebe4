"""How many calls of one provider may be under way: fewer when it is overloaded, more again when it answers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType

from judge.providers.retry import backoff


class Room:
    """Places for calls under way, their number adjusted while they are held. Bound to the loop it is used in.

    An overload (429, 503, 529) halves the places, every full round of answers gives one back. From the second
    overload in a row, with no answer in between, everyone waits: for as long as the server asks, else by the common
    backoff. One call told to wait alone holds up nobody else. Calls that were sent before the last change tell
    nothing new, so that a burst of refusals counts once.
    """

    def __init__(self, most: int, *, clock: Callable[[], float], draw: Callable[[], float]) -> None:
        self.most = most
        self.places = float(most)
        self.overloads = 0
        self._clock = clock
        self._draw = draw
        self._used = 0
        self._changed = float("-inf")
        self._until = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    def pause(self) -> float:
        """Seconds that everyone has to wait before sending; 0 for none."""
        return max(0.0, self._until - self._clock()) if self.overloads else 0.0

    def answered(self) -> None:
        """An answer came: the overload, if there was one, is over."""
        self.overloads = 0
        if self.places < self.most:
            self.places = min(float(self.most), self.places + 1.0 / self.places)
            self._wake()

    def overloaded(self, sent: float, asked: float | None, longest: float) -> None:
        """The server refused a call for lack of capacity.

        Args:
            sent: When that call was sent.
            asked: Seconds that the server asks to wait, or None; at most `longest` is obeyed by all.
        """
        if sent < self._changed:
            return
        now = self._clock()
        self._changed = now
        self.overloads += 1
        self.places = max(1.0, self.places / 2)
        if self.overloads >= 2:
            wait = backoff(self.overloads - 1, draw=self._draw()) if asked is None else min(asked, longest)
            self._until = max(self._until, now + wait)

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
