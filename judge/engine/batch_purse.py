"""The money of a run that pays by the batch: a whole batch is reserved before it is handed in."""

from __future__ import annotations

from fractions import Fraction

from judge.engine.budget import WRAP_UP, Ledger
from judge.errors import BudgetReached
from judge.voting.exact import exact


class BatchPurse:
    """Amounts in US dollars. Where a batch was billed at more than its estimate, further ones count with that factor.

    Batches of earlier sessions are in it: a run that is taken up again has one cap, not one for each session.
    """

    def __init__(self, cap: float | None, *, ledger: Ledger | None = None) -> None:
        """`cap`: of the run, or None; `ledger`: the day's, which other runs share."""
        self._cap = None if cap is None else exact(cap)
        self._ledger = ledger
        self._paid = Fraction(0)
        self._held: dict[int, tuple[Fraction, bool]] = {}
        self._factor = Fraction(1)

    @property
    def spent(self) -> float:
        """What ended batches cost; one whose bill is not known counts with its estimate."""
        return float(self._paid)

    def wrapping_up(self) -> bool:
        """Whether so much of the cap is spent that the run comes to its end."""
        return self._cap is not None and self._paid >= WRAP_UP * self._cap

    def paid(self, amount: float) -> None:
        """Counts what earlier sessions paid."""
        self._paid += exact(amount)

    def carry(self, number: int, estimate: float) -> None:
        """Counts a batch that an earlier session handed in, whether it fits or not."""
        self._held[number] = exact(estimate), False

    def fits(self, amount: float) -> bool:
        """Whether `amount` fits under the run's cap beside everything paid and reserved. Reserves nothing."""
        held = sum((estimate for estimate, _ in self._held.values()), Fraction(0))
        return self._cap is None or self._paid + (held + exact(amount)) * self._factor <= self._cap

    def hold(self, number: int, estimate: float) -> bool:
        """Reserves a batch if it fits under every cap; says whether it did."""
        if not self.fits(estimate) or (self._ledger is not None and not self._ledger.admit(estimate)):
            return False
        self._held[number] = exact(estimate), True
        return True

    def settle(self, number: int, cost: float | None) -> None:
        """Turns the reservation of a batch into what it cost, or into its estimate where that is not known."""
        estimate, here = self._held.pop(number, (Fraction(0), False))
        paid = estimate if cost is None else exact(cost)
        self._paid += paid
        if estimate > 0:
            self._factor = max(self._factor, paid / estimate)
        if here and self._ledger is not None:
            self._ledger.settle(float(estimate), float(paid))

    def reached(self, estimate: float) -> BudgetReached:
        """The error for a trajectory that does not fit."""
        if self._ledger is not None and self.fits(estimate):
            text = self._ledger.full()
        else:
            text = f"${self.spent:.4f} of ${float(self._cap or 0):.4f} is spent on batches"
        return BudgetReached(
            f"Budget reached: {text}, and the next trajectory may cost ${estimate * float(self._factor):.4f}.",
            hint="Raise the cap to go on; what is done is kept.",
        )
