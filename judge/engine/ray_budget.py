"""The one budget of a run that many workers pay from: an actor that holds it, and the purse that each worker has.

Money is reserved before a call is sent, as in one process, and every reservation is made in one place: so the cap
holds over all workers together.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from judge.engine.budget import Budget, Ledger
from judge.engine.sent_error import SentError
from judge.errors import BudgetReached, JudgeError


class BudgetKeeper:
    """Holds the budget. Lives in a Ray actor; every method is called from afar. Amounts are US dollars."""

    def __init__(self, cap: float | None, *, spent: float, ledger: Ledger | None = None) -> None:
        self._budget = Budget(cap, spent=spent, ledger=ledger)
        self._promised: dict[str, Counter[float]] = {}
        self._open: dict[str, Counter[float]] = {}
        self._gone: set[str] = set()
        self._moved = asyncio.Event()

    async def begin(self, worker: str, whole: float) -> SentError | None:
        """Promises room for a whole trajectory, waiting while others under way may settle for less.

        The error is that of a budget that has no room for it, whatever comes.
        """
        while not self._budget.fits_beside(self._sum() + whole):
            if not any(self._promised.values()):
                return SentError.of(self._budget.reached(whole))
            await self._moved.wait()
        if worker not in self._gone:
            self._promised.setdefault(worker, Counter())[whole] += 1
        return None

    async def end(self, worker: str, whole: float) -> None:
        """The trajectory is done, or given up."""
        _take(self._promised, worker, whole)
        self._move()

    async def reserve(self, worker: str, estimate: float) -> SentError | None:
        """Reserves the price of a call; the error says that the budget has no room for it."""
        try:
            await self._budget.reserve(estimate)
        except BudgetReached as error:
            return SentError.of(error)
        if worker in self._gone:  # it was lost while it waited, and sends nothing
            self._budget.release(estimate)
        else:
            self._open.setdefault(worker, Counter())[estimate] += 1
        return None

    async def settle(self, worker: str, estimate: float, cost: float | None) -> None:
        """Turns a reservation into spend; None for a bill that was not told."""
        if _take(self._open, worker, estimate):
            self._budget.settle(estimate, cost)
            self._move()

    async def release(self, worker: str, estimate: float) -> None:
        """Gives a reservation back: the call cost nothing."""
        if _take(self._open, worker, estimate):
            self._budget.release(estimate)
            self._move()

    async def lost(self, worker: str) -> None:
        """A worker died: its open calls may be billed and count with their estimate; its promises are void."""
        self._gone.add(worker)
        self._promised.pop(worker, None)
        for estimate in self._open.pop(worker, Counter()).elements():
            self._budget.settle(estimate, None)
        self._move()

    async def state(self) -> tuple[float, float, bool]:
        """Dollars spent, dollars spent or reserved, and whether the run comes to the end of its cap."""
        return self._budget.spent, self._budget.committed, self._budget.wrapping_up()

    def _sum(self) -> float:
        return sum(whole for promises in self._promised.values() for whole in promises.elements())

    def _move(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()


class RemotePurse:
    """What a worker pays from: everything is asked of the keeper.

    Attributes:
        near_its_end: Whether the keeper's budget is; told by whoever looks after the workers.
    """

    def __init__(self, keeper: Any, worker: str) -> None:
        """`keeper`: handle of the `BudgetKeeper` actor; `worker`: the name that this worker goes by there."""
        self._keeper = keeper
        self._worker = worker
        self.near_its_end = False

    async def begin(self, whole: float) -> None:
        """As `BudgetKeeper.begin`.

        Raises:
            BudgetReached: There is no room.
        """
        await self._asked("begin", whole)

    def end(self, whole: float) -> None:
        """As `BudgetKeeper.end`."""
        self._keeper.end.remote(self._worker, whole)

    async def reserve(self, estimate: float) -> None:
        """As `Purse.reserve`."""
        await self._asked("reserve", estimate)

    def settle(self, estimate: float, cost: float | None) -> None:
        """As `Purse.settle`."""
        self._keeper.settle.remote(self._worker, estimate, cost)

    def release(self, estimate: float) -> None:
        """As `Purse.release`."""
        self._keeper.release.remote(self._worker, estimate)

    def wrapping_up(self) -> bool:
        """As `Purse.wrapping_up`, a moment later than the keeper."""
        return self.near_its_end

    async def _asked(self, method: str, amount: float) -> None:
        from ray.exceptions import RayError

        try:
            refusal: SentError | None = await getattr(self._keeper, method).remote(self._worker, amount)
        except RayError:
            raise budget_lost() from None
        if refusal is not None:
            raise refusal.error()


def budget_lost() -> JudgeError:
    """The error of a run whose budget nobody holds any more."""
    return JudgeError(
        "The actor that holds the budget was lost, so no further call may be paid for.",
        hint="What is done is kept: run again with --resume --count-earlier.",
    )


def _take(amounts: dict[str, Counter[float]], worker: str, amount: float) -> bool:
    """Takes one amount of a worker away; says whether it was there."""
    own = amounts.get(worker)
    if own is None or own[amount] == 0:
        return False
    own[amount] -= 1
    if own[amount] == 0:
        del own[amount]
    if not own:
        del amounts[worker]
    return True
