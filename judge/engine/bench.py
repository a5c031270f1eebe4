"""Bench: who judges a run, one judge or a jury of several, behind one face that `Run` drives."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from judge.config import Settings
from judge.engine.budget import Budget, Purse
from judge.engine.connection import Opened, OpenJury
from judge.engine.judging import Judging
from judge.engine.jury import LiveJury, jury_setup
from judge.engine.setup import Setup, make_setup
from judge.types.reference import Reference
from judge.types.rubric import Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import Verdict


class Bench(Protocol):
    """Judges trajectories one by one; `Judging` and `LiveJury` are those there are.

    A case is the bench's own record of a trajectory under way.

    Attributes:
        stopped: What lets no further call begin, or None.
    """

    setup: Setup
    budget: Budget
    stopped: BaseException | None

    def begin(self, trajectory: Trajectory, reference: Reference | None) -> Any:
        """The case of a trajectory, or at once its verdict when it does not fit."""
        ...

    def whole(self, case: Any) -> float:
        """Most that a trajectory may cost, without retries; 0 where no cap is set."""
        ...

    def may_begin(self, case: Any) -> bool:
        """Whether all of a trajectory fits under the cap beside everything under way."""
        ...

    def recall(self, case: Any) -> Verdict | None:
        """The verdict when the cache holds every sample it takes, else None. Waits for nothing."""
        ...

    async def finish(self, case: Any) -> Verdict:
        """The verdict, with what the cache does not hold drawn anew."""
        ...

    def stop(self, error: BaseException) -> None:
        """Lets no further call begin; the first cause stays."""
        ...


def make_bench(
    opened: Opened,
    rubric: Rubric,
    settings: Settings,
    *,
    policy: str | None = None,
    budget: Budget | None = None,
    purse: Purse | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Judging | LiveJury:
    """The bench of an opened judge or jury.

    Args:
        budget: Pays for the calls, and may pay for others too; None for one of `max_usd` alone.
        purse: Pays for the calls, where the money is held elsewhere.

    Raises:
        ConfigError: A spend cap is set and the price of a judge is not known.
        UsageError: The rubric needs a policy text and none is given, or does not fit the jury's rule.
    """

    if not isinstance(opened, OpenJury):
        setup = make_setup(rubric, opened, settings, policy=policy)
        return Judging(setup, opened, budget=budget, purse=purse, clock=clock)
    setups = {
        name: make_setup(rubric, connection, settings, policy=policy) for name, connection in opened.connections.items()
    }
    budget = budget or Budget(settings.max_usd)  # one cap for the whole jury
    seats = {
        name: Judging(setups[name], connection, purse=purse or budget, seated=True, clock=clock)
        for name, connection in opened.connections.items()
    }
    return LiveJury(opened.jury, jury_setup(opened.jury, setups), seats, budget, clock=clock)
