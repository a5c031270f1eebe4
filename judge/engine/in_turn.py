"""Judges that are asked one after the other, each only where it is needed, and make one verdict together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from judge.engine.budget import Budget, Promises
from judge.engine.judging import Case
from judge.engine.setup import Setup
from judge.types.reference import Reference
from judge.types.trajectory import Trajectory
from judge.types.verdict import Verdict

if TYPE_CHECKING:
    from judge.engine.bench import Bench


@dataclass(slots=True)
class TurnCase:
    """One trajectory before several judges. Nothing of it is shared with another one.

    Attributes:
        budget: Money for this trajectory, all judges together; None where there is no such cap.
        begun: Seat to its own case, or at once its verdict.
        said: Seat to its verdict, in the order of asking.
    """

    trajectory: Trajectory
    reference: Reference | None
    _: KW_ONLY
    budget: Budget | None = None
    begun: dict[str, Any] = field(default_factory=dict)
    said: dict[str, Verdict] = field(default_factory=dict)


TurnCaseT = TypeVar("TurnCaseT", bound=TurnCase)


class InTurn(ABC, Generic[TurnCaseT]):
    """A bench whose seats are benches, all paid from one budget; see `judge.engine.bench.Bench`."""

    _seats: Mapping[str, Bench]

    def __init__(self, setup: Setup, seats: Mapping[str, Bench], budget: Budget, *, priced: Sequence[str]) -> None:
        """`priced`: the seats that a trajectory must leave money for before it begins."""
        self.setup = setup
        self.budget = budget
        self.stopped: BaseException | None = None
        self._seats = seats
        self._priced = priced
        self._promises = Promises()

    @abstractmethod
    def _next(self, case: TurnCaseT) -> str | None:
        """The seat that is asked next; None when no further one is."""

    @abstractmethod
    def _hear(self, case: TurnCaseT, seat: str, verdict: Verdict) -> None:
        """Takes down what a seat says."""

    @abstractmethod
    def _verdict(self, case: TurnCaseT) -> Verdict:
        """What all that was said comes to."""

    def whole(self, case: TurnCaseT) -> float:
        """Most that the priced seats still to be heard may cost, without retries; 0 where no cap is set."""
        if not self.setup.capped:
            return 0.0
        waiting = ((seat, case.begun[seat]) for seat in self._priced if seat not in case.said)
        return sum(self._seats[seat].whole(begun) for seat, begun in waiting if not isinstance(begun, Verdict))

    def may_begin(self, case: TurnCaseT) -> bool:
        """Whether all priced seats fit under the cap beside everything under way."""
        return self.budget.fits_beside(self._promises.usd + self.whole(case))

    def recall(self, case: TurnCaseT) -> Verdict | None:
        """The verdict when the cache holds every sample of every seat that is asked, else None. Waits for nothing."""
        while (seat := self._next(case)) is not None:
            begun = self._begun(case, seat)
            verdict = begun if isinstance(begun, Verdict) else self._seats[seat].recall(begun)
            if verdict is None:
                return None
            self._hear(case, seat, verdict)
        return self._verdict(case)

    async def finish(self, case: TurnCaseT) -> Verdict:
        """The verdict, each seat asked in its turn.

        Raises:
            TerminalError, BudgetReached: A judge can make no further call.
        """
        with self._promises.hold(self.whole(case)):
            while (seat := self._next(case)) is not None:
                begun = self._begun(case, seat)
                if not isinstance(begun, Verdict):
                    bench = self._seats[seat]
                    begun = bench.recall(begun) or await bench.finish(begun)
                self._hear(case, seat, begun)
            return self._verdict(case)

    def stop(self, error: BaseException) -> None:
        """Lets no seat begin a further call; the first cause stays."""
        if self.stopped is None:
            self.stopped = error
        for bench in self._seats.values():
            bench.stop(error)

    def _price(self, case: TurnCaseT) -> TurnCaseT:
        """The case; under a cap with the prompts of all priced seats made, so that it has a price."""
        if self.setup.capped:
            for seat in self._priced:
                self._begun(case, seat)
        return case

    def _begun(self, case: TurnCaseT, seat: str) -> Any:
        if seat not in case.begun:
            begun = self._seats[seat].begin(case.trajectory, case.reference)
            if isinstance(begun, Case) and case.budget is not None:
                begun.budget = case.budget  # one cap for the trajectory, whoever judges it
            case.begun[seat] = begun
        return case.begun[seat]
