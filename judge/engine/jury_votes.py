"""Repeated votes of a jury: every member's k-th sample makes the jury's k-th vote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judge.calibration.jury_rules import jury_vote, next_seat
from judge.config import Settings
from judge.engine.budget import Budget
from judge.engine.connection import JudgeLike, OpenJury
from judge.engine.facade import budget_of, open_judge, score_many
from judge.engine.loop import PRIVATE
from judge.types.jury import Jury
from judge.types.rubric import BinaryScale, Criterion, Rubric, normalise
from judge.types.trajectory import Trajectory, Usage
from judge.types.verdict import Verdict


@dataclass(frozen=True)
class VotePrices:
    """US dollars of one vote.

    Attributes:
        first: Of a run's first vote.
        more: Of each further one that is asked for with it or after it: by one request, or with the prompt read from
            the provider's cache, it costs less.
        alone: Of a further one by a request of its own.
    """

    first: float
    more: float
    alone: float

    def of(self, votes: float, *, together: float) -> float:
        """Of so many votes, of which `together` are asked for at once."""
        return self.first + (min(together, votes) - 1) * self.more + max(0.0, votes - together) * self.alone


@dataclass(frozen=True)
class DrawnVotes:
    """Votes on runs, passed (1) or failed (0).

    Attributes:
        passes: Shape (runs, repeats); NaN where a vote gave no score.
        usages: Of every call that was answered and told them.
        usd: Mean price of one vote; None where unknown, and `prices` then.
    """

    judge: str
    passes: NDArray[np.float64]
    usages: tuple[Usage, ...]
    usd: float | None
    prices: VotePrices | None


@dataclass(frozen=True)
class JuryDraws:
    """Repeated votes of a jury.

    Attributes:
        heard: Run to what was said for each vote by the judges that this vote called.
        values: Run to each vote's value; None where it gave none.
        usages: Judge to those of its calls that told them.
    """

    heard: Mapping[str, Sequence[Mapping[str, float | None]]]
    values: Mapping[str, tuple[float | None, ...]]
    usages: Mapping[str, Sequence[Usage]]


def draw_jury(
    jury: Jury,
    runs: Sequence[Trajectory],
    rubric: Rubric,
    criterion: Criterion,
    repeats: int,
    *,
    settings: Settings,
    policy: str | None = None,
    progress: Callable[[int], None] | None = None,
    budget: Budget | None = None,
) -> JuryDraws:
    """Draws `repeats` votes of the whole jury on each run; a seat is called only on runs that need it.

    Args:
        budget: Of a larger piece of work that this is part of; None for one of its own.

    Raises:
        TerminalError, BudgetReached: A member takes no further call.
    """
    given: dict[str, list[dict[str, float | None]]] = {run.id: [{} for _ in range(repeats)] for run in runs}
    usages: dict[str, list[Usage]] = {}
    budget = budget or budget_of(settings)
    drawing = settings.model_copy(update={"samples": repeats, "stop": None})
    while (name := _wanted(jury, given)) is not None:
        asked = [run for run in runs if any(next_seat(jury, votes) == name for votes in given[run.id])]
        verdicts = score_many(asked, rubric, judge=name, settings=drawing, policy=policy, budget=budget)
        for done, verdict in enumerate(verdicts, start=1):
            scores, told = _samples(verdict, criterion, repeats)
            for votes, score in zip(given[verdict.trajectory_id], scores, strict=True):
                votes[name] = score
            usages.setdefault(name, []).extend(told)
            if progress is not None and name == jury.members[0]:
                progress(done)
    binary = isinstance(criterion.scale, BinaryScale)
    heard = {item: [_heard(jury, votes) for votes in rows] for item, rows in given.items()}
    values = {
        item: tuple(jury_vote(jury, votes, binary=binary, weights=jury.weights or None).value for votes in rows)
        for item, rows in heard.items()
    }
    return JuryDraws(heard=heard, values=values, usages=usages)


def jury_votes(
    jury: Jury,
    runs: Sequence[Trajectory],
    rubric: Rubric,
    criterion: Criterion,
    *,
    mark: float,
    repeats: int,
    settings: Settings,
    policy: str | None,
    progress: Callable[[int], None] | None,
) -> DrawnVotes:
    """Votes of a jury as passed and failed, with their price.

    Args:
        mark: Lowest share of the scale that passes.

    Raises:
        TerminalError, BudgetReached: A member takes no further call.
    """
    drawn = draw_jury(jury, runs, rubric, criterion, repeats, settings=settings, policy=policy, progress=progress)
    passes = np.full((len(runs), repeats), np.nan)
    called = dict.fromkeys(drawn.usages, 0)
    for row, run in enumerate(runs):
        for k, value in enumerate(drawn.values[run.id]):
            if value is not None:
                passes[row, k] = float(normalise(value, criterion.scale) >= mark - 1e-9)
            for name in drawn.heard[run.id][k]:
                called[name] += 1
    prices = {name: usd_per_vote(name, settings, told) for name, told in drawn.usages.items()}
    shared = [None if (price := prices[name]) is None else price * n / passes.size for name, n in called.items()]
    usd = None if None in shared else sum(price for price in shared if price is not None)
    told_all = tuple(usage for told in drawn.usages.values() for usage in told)
    return DrawnVotes(jury.name, passes, told_all, usd, None if usd is None else VotePrices(usd, usd, usd))


def usd_per_vote(judge: JudgeLike | None, settings: Settings, usages: Sequence[Usage]) -> float | None:
    """Mean price of calls of one single judge; 0 for one that calls no model, None where a price is not known."""
    return PRIVATE.run(_usd_per_vote(judge, settings, usages))


async def _usd_per_vote(judge: JudgeLike | None, settings: Settings, usages: Sequence[Usage]) -> float | None:
    async with open_judge(judge, settings) as opened:
        if opened.offline:
            return 0.0
        if isinstance(opened, OpenJury):
            return None  # its calls are its members', each at a price of its own
        prices = [opened.price(usage) for usage in usages]
    known = [price for price in prices if price is not None]
    return sum(known) / len(known) if known and len(known) == len(prices) else None


def _wanted(jury: Jury, given: dict[str, list[dict[str, float | None]]]) -> str | None:
    """A seat that some vote still waits for."""
    waiting = (next_seat(jury, votes) for rows in given.values() for votes in rows)
    return next((name for name in waiting if name is not None), None)


def _heard(jury: Jury, votes: Mapping[str, float | None]) -> dict[str, float | None]:
    """What the judges said whom this one vote alone would have called, of those asked for the run as a whole."""
    heard: dict[str, float | None] = {}
    while (name := next_seat(jury, heard)) is not None:
        heard[name] = votes[name]
    return heard


def _samples(verdict: Verdict, criterion: Criterion, repeats: int) -> tuple[list[float | None], list[Usage]]:
    """The valid scores of a run's samples in their order, None for a failed one; and what they used."""
    result = next((r for r in verdict.criteria if r.id == criterion.id), None)
    out: list[float | None] = [None] * repeats
    votes = result.votes[:repeats] if result else ()
    for place, vote in enumerate(votes):
        if vote.status == "ok":
            out[place] = vote.score
    return out, [vote.usage for vote in votes if vote.usage is not None]
