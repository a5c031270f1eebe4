"""A spend cap that holds under concurrency: reserve before sending, settle after, release on failure."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Protocol

from judge.errors import BudgetReached
from judge.voting.exact import exact

WRAP_UP = Fraction(4, 5)
"""Share of the cap at which a run is said to come to its end."""


def wrap_up_notice(spent: float, cap: float | None) -> str:
    """What a person is told when so much of the cap is spent."""
    share = f"${spent:.4f} of ${cap}"
    return f"Most of max_usd is spent ({share}): votes that a verdict can do without are left out from here on."


class Ledger(Protocol):
    """Money that several runs share, e.g. that of a day."""

    def admit(self, amount: float) -> bool:
        """Reserves `amount` if it fits; says whether it did. One step, no race."""
        ...

    def settle(self, amount: float, cost: float) -> None:
        """Turns a reservation into spend; 0 gives it back."""
        ...

    def full(self) -> str:
        """What is used up, in words."""
        ...


class Purse(Protocol):
    """What a call needs of a budget: room before it is sent, and a bill afterwards. Amounts are US dollars."""

    async def reserve(self, estimate: float) -> None:
        """Reserves `estimate`, waiting for room.

        Raises:
            BudgetReached: It does not fit, and nothing under way could make room.
        """
        ...

    def settle(self, estimate: float, cost: float | None) -> None:
        """Turns a reservation into spend; None for a bill that was not told."""
        ...

    def release(self, estimate: float) -> None:
        """Gives a reservation back: the call cost nothing."""
        ...

    def wrapping_up(self) -> bool:
        """Whether so much of the cap is spent that the run comes to its end."""
        ...


class Promises:
    """What everything under way may still cost, so that whole verdicts, not single calls, are weighed against a cap.

    Attributes:
        usd: All that is held now.
        held: How many hold it.
    """

    def __init__(self) -> None:
        self.usd = 0.0
        self.held = 0

    @contextmanager
    def hold(self, usd: float) -> Iterator[None]:
        """Counts `usd` in for the time of the block."""
        self.usd += usd
        self.held += 1
        try:
            yield
        finally:
            self.held -= 1
            self.usd = self.usd - usd if self.held else 0.0  # leaves no rest of rounding


class Budget:
    """Money for one run, in US dollars. Amounts are added as decimals, so that 1.8 + .07 + .07 is 1.94.

    A call is admitted only when everything spent, everything reserved and its own estimate fit under
    the cap together. Where a provider bills more than was estimated, every estimate of the run is raised by the
    largest such factor seen, the open ones and those whose bill was never told too; and calls begin one, three,
    seven, … at a time, so that the first bill is known before many calls are open. Bound to the event loop in
    which it first waits.
    """

    def __init__(
        self, cap: float | None, *, spent: float = 0.0, ledger: Ledger | None = None, name: str = "max_usd"
    ) -> None:
        """
        Args:
            cap: None admits everything.
            spent: What earlier runs used of the same cap.
            ledger: A further cap that is shared with others.
            name: The setting that the cap is from.
        """
        self._cap = None if cap is None else exact(cap)
        self._ledger = ledger
        self._name = name
        self._spent = exact(spent)
        self._untold = exact(0.0)
        self._reserved = exact(0.0)
        self._factor = exact(1.0)
        self._open = 0
        self._settled = 0
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def spent(self) -> float:
        """Settled spend; bills that were not told count with their estimate."""
        return float(self._settled_usd)

    @property
    def _settled_usd(self) -> Fraction:
        return self._spent + self._untold * self._factor

    @property
    def committed(self) -> float:
        """Settled spend and open reservations together."""
        return float(self._settled_usd + self._reserved * self._factor)

    @property
    def factor(self) -> float:
        """Largest bill so far over its estimate; at least 1."""
        return float(self._factor)

    def fits(self, estimate: float) -> bool:
        """Whether `estimate` fits under the cap beside what is spent and reserved. Reserves nothing."""
        return self._cap is None or self._settled_usd + (self._reserved + exact(estimate)) * self._factor <= self._cap

    def fits_beside(self, promised: float) -> bool:
        """Whether `promised`, open reservations included in it, fits under the cap beside what is spent."""
        return self._cap is None or self._settled_usd + exact(promised) * self._factor <= self._cap

    def wrapping_up(self) -> bool:
        """Whether so much of the cap is spent that the run comes to its end."""
        return self._cap is not None and self._settled_usd >= WRAP_UP * self._cap

    def admit(self, estimate: float) -> bool:
        """Reserves `estimate` if it fits under the cap; says whether it did. One step, no race."""
        if not self.fits(estimate):
            return False
        if self._ledger is not None and not self._ledger.admit(estimate):
            return False
        self._reserved += exact(estimate)
        self._open += 1
        return True

    async def reserve(self, estimate: float) -> None:
        """Reserves `estimate`, waiting for open reservations to settle when it does not fit beside them.

        Raises:
            BudgetReached: It does not fit, and nothing under way could make room.
        """
        capped = self._cap is not None
        while (capped and self._open > 2 * self._settled) or not self.admit(estimate):
            if self._open == 0:
                raise self.reached(estimate)
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn

    def reached(self, estimate: float) -> BudgetReached:
        """The error for a call, or a trajectory, that does not fit."""
        hint = "Raise the cap to go on; what is done is kept."
        if self._ledger is not None and self.fits(estimate):
            return BudgetReached(
                f"Budget reached: {self._ledger.full()}, and what comes next may cost ${estimate:.4f}.", hint=hint
            )
        return BudgetReached(
            f"Budget reached: ${self.spent:.4f} of ${float(self._cap or 0):.4f} is spent ({self._name}), and what "
            f"comes next may cost ${estimate * self.factor:.4f}.",
            hint=f"Raise {self._name} to go on; what is done is kept.",
        )

    def settle(self, estimate: float, cost: float | None) -> None:
        """Turns a reservation into spend. An unknown cost counts as the whole estimate, raised like the others."""
        self._settled += 1
        if cost is None:
            self._untold += exact(estimate)
        else:
            self._spent += exact(cost)
            if estimate > 0:
                self._factor = max(self._factor, exact(cost) / exact(estimate))
        self._free(estimate, estimate * self.factor if cost is None else cost)

    def release(self, estimate: float) -> None:
        """Gives a reservation back: the call did not happen, or cost nothing."""
        self._free(estimate, 0.0)

    def _free(self, estimate: float, paid: float) -> None:
        if self._ledger is not None:
            self._ledger.settle(estimate, paid)
        self._reserved -= exact(estimate)
        self._open -= 1
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)
