"""A spend cap that holds under concurrency: reserve before sending, settle after, release on failure."""

from __future__ import annotations

import asyncio

from judge.errors import BudgetReached
from judge.voting.exact import exact


class Budget:
    """Money for one run, in US dollars. Amounts are added as decimals, so that 1.8 + .07 + .07 is 1.94.

    A call is admitted only when everything spent, everything reserved and its own estimate fit under
    the cap together. Bound to the event loop in which it first waits.
    """

    def __init__(self, cap: float | None, *, spent: float = 0.0) -> None:
        """`cap` None admits everything; `spent` is what earlier runs used of the same cap."""
        self._cap = None if cap is None else exact(cap)
        self._spent = exact(spent)
        self._reserved = exact(0.0)
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def spent(self) -> float:
        """Settled spend."""
        return float(self._spent)

    @property
    def committed(self) -> float:
        """Settled spend and open reservations together."""
        return float(self._spent + self._reserved)

    def admit(self, estimate: float) -> bool:
        """Reserves `estimate` if it fits under the cap; says whether it did. One step, no race."""
        amount = exact(estimate)
        if self._cap is not None and self._spent + self._reserved + amount > self._cap:
            return False
        self._reserved += amount
        return True

    async def reserve(self, estimate: float) -> None:
        """Reserves `estimate`, waiting for open reservations to settle when it does not fit beside them.

        Raises:
            BudgetReached: It does not fit, and nothing under way could make room.
        """
        while not self.admit(estimate):
            if self._reserved == 0:
                raise BudgetReached(
                    f"Budget reached: ${float(self._spent):.4f} of ${float(self._cap or 0):.4f} is spent, and the next "
                    f"call may cost ${estimate:.4f}.",
                    hint="Raise max_usd to go on; what is done is kept.",
                )
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn

    def settle(self, estimate: float, cost: float | None) -> None:
        """Turns a reservation into spend. An unknown cost counts as the whole estimate."""
        self._spent += exact(estimate if cost is None else cost)
        self.release(estimate)

    def release(self, estimate: float) -> None:
        """Gives a reservation back: the call did not happen, or is settled."""
        self._reserved -= exact(estimate)
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)
