"""How many votes a judge needs for a steady verdict, from its own wobble on a set, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from judge.calibration.wobble import stability_interval, vote_stability, wobble
from judge.config import Settings
from judge.engine.connection import JudgeLike
from judge.engine.facade import jury_of, rubric_of, score_many
from judge.engine.jury_votes import DrawnVotes, VotePrices, jury_votes, usd_per_vote
from judge.engine.probing import ProbeRuns, spread
from judge.errors import UsageError
from judge.registry import unknown
from judge.types.calibration_set import cluster
from judge.types.estimate import Statistic
from judge.types.record import Record
from judge.types.rubric import BinaryScale, Criterion, Rubric, normalise
from judge.types.stop_rule import StopRule
from judge.types.trajectory import Trajectory, Usage
from judge.types.verdict import Verdict
from judge.voting.sequential import binary_outcome

CURVE = (1, 3, 5, 7, 9, 11, 15, 21)
REPEATS = 6


class VotePoint(Record):
    """One number of votes.

    Attributes:
        flips: Share of runs whose verdict would change if all votes were drawn anew; None with a `reason`.
        low, high: 95 % interval of that over tasks, see `judge.calibration.wobble.stability_interval`. `high` is never
            above that of fewer votes, since more of them flip less. None where tasks give none.
        method: How that was found, see `judge.calibration.wobble.vote_stability`.
        calls: Expected calls when drawing stops as soon as the votes left cannot change the verdict.
        usd, usd_stopping: Price of a verdict with all votes, and with that stop; None where unknown.
    """

    omit_none: ClassVar[bool] = False

    votes: int
    flips: float | None
    low: float | None = None
    high: float | None = None
    method: str
    reason: str | None = None
    calls: float
    usd: float | None
    usd_stopping: float | None


class VotePlan(Record):
    """The curve, and the fewest votes that reach the target.

    Attributes:
        flip_rate: Chance that two single votes on a run give different verdicts, with interval over tasks.
        target: Highest share of verdicts that may flip.
        votes: Fewest odd votes that reach it, of those on the curve or up to 51; None where none does, or unknown.
        votes_at_worst: Fewest on the curve whose interval lies at or below it; None where none does.
        usd_per_vote: Mean price of one of these votes; None where unknown. A run's first vote may cost more than the
            others, which can share its prompt: the curve reckons with that.
        prefix_cached: Share of the input tokens that the provider read from its own prompt cache; None where it does
            not say.
        left_out: Runs with fewer than two valid votes.
    """

    omit_none: ClassVar[bool] = False

    judge: str
    rubric: str
    criterion: str
    source: str
    runs: int
    repeats: int
    left_out: int
    pass_mark: float
    flip_rate: Statistic
    target: float
    votes: int | None
    votes_at_worst: int | None = None
    curve: tuple[VotePoint, ...]
    usd_per_vote: float | None
    prefix_cached: float | None


def plan_votes(
    what: ProbeRuns,
    rubric: str | Path | Rubric | None = None,
    *,
    settings: Settings,
    judge: JudgeLike | None = None,
    target: float = 0.02,
    repeats: int = REPEATS,
    criterion: str | None = None,
    limit: int | None = None,
    policy: str | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> VotePlan:
    """Draws `repeats` votes on each run (those in the cache count) and reads the curve off them.

    A vote of a jury is the verdict of one sample of each member.

    A vote passes from the pass mark of `what`; the median of an odd number passes exactly when most of its votes do, so
    passed or failed is all that is needed.

    Raises:
        UsageError: There are no runs, or fewer than two repeats.
        UnknownName: The rubric has no such criterion.
        TerminalError, BudgetReached: The judge takes no further call.
    """
    if not what.runs or repeats < 2:
        raise UsageError(
            f"{len(what.runs)} runs and {repeats} repeats: wobble cannot be seen.",
            hint="Give runs, and 2 repeats or more (6 for a curve that needs no model up to 3 votes).",
        )
    used = rubric_of(rubric, settings)
    asked = _criterion(used, criterion)
    runs = spread(what.runs, limit)
    mark = 1.0 if isinstance(asked.scale, BinaryScale) else what.pass_mark
    jury = jury_of(judge, settings)
    if jury is None:
        drawn = _votes(runs, used, asked, mark, repeats, settings, judge, policy, progress)
    else:
        drawn = jury_votes(
            jury, runs, used, asked, mark=mark, repeats=repeats, settings=settings, policy=policy, progress=progress
        )
    matrix = drawn.passes
    found = wobble(
        matrix, groups=[cluster(run) for run in runs], target=target, rng=np.random.default_rng(seed), votes=(1,)
    )
    sizes = sorted({*CURVE, *((found.votes_needed,) if found.votes_needed else ())})
    groups = [cluster(run) for run in runs]
    rng = np.random.default_rng(seed)
    curve = _never_rising(_point(matrix, votes, drawn.prices, groups, rng) for votes in sizes)
    flat = next((point.votes for point in curve if point.flips is not None and point.flips <= target), None)
    needed = found.votes_needed if found.votes_needed is not None else flat
    return VotePlan(
        judge=drawn.judge,
        rubric=used.id,
        criterion=asked.id,
        source=what.source,
        runs=len(runs),
        repeats=repeats,
        left_out=found.left_out,
        pass_mark=mark,
        flip_rate=found.flip_rate,
        target=target,
        votes=needed,
        votes_at_worst=next((p.votes for p in curve if p.high is not None and p.high <= target), None),
        curve=curve,
        usd_per_vote=drawn.usd,
        prefix_cached=_prefix_cached(drawn.usages),
    )


def _votes(
    runs: Sequence[Trajectory],
    rubric: Rubric,
    criterion: Criterion,
    mark: float,
    repeats: int,
    settings: Settings,
    judge: JudgeLike | None,
    policy: str | None,
    progress: Callable[[int], None] | None,
) -> DrawnVotes:
    """Votes of a single judge."""
    drawing = settings.model_copy(update={"samples": repeats, "stop": None})
    verdicts: list[Verdict] = []
    for verdict in score_many(runs, rubric, judge=judge, settings=drawing, policy=policy):
        verdicts.append(verdict)
        if progress is not None:
            progress(len(verdicts))
    matrix = np.asarray([_passes(verdict, criterion, mark, repeats) for verdict in verdicts])
    votes = [vote for v in verdicts for r in v.criteria if r.id == criterion.id for vote in r.votes]
    usages = tuple(vote.usage for vote in votes if vote.usage is not None)
    usd = usd_per_vote(judge, settings, usages)
    first = [vote.usage for vote in votes if vote.sample == 0 and vote.usage is not None]
    later = [vote.usage for vote in votes if vote.sample > 0 and vote.usage is not None]
    return DrawnVotes(verdicts[0].judge, matrix, usages, usd, _prices(judge, settings, first, later))


def _prices(
    judge: JudgeLike | None, settings: Settings, first: Sequence[Usage], later: Sequence[Usage]
) -> VotePrices | None:
    """Prices of first and further votes; None where one is not known."""
    one, more = usd_per_vote(judge, settings, first), usd_per_vote(judge, settings, later)
    if one is None or more is None:
        return None
    came_along = all(usage.input_tokens == 0 for usage in later)  # by the first vote's request
    return VotePrices(one, more, alone=one if came_along else more)


def _criterion(rubric: Rubric, name: str | None) -> Criterion:
    if name is None:
        return rubric.criteria[0]
    found = next((criterion for criterion in rubric.criteria if criterion.id == name), None)
    if found is None:
        raise unknown("criterion of this rubric", name, [criterion.id for criterion in rubric.criteria])
    return found


def _passes(verdict: Verdict, criterion: Criterion, mark: float, repeats: int) -> list[float]:
    """1 passed, 0 failed, NaN no valid score, for each vote."""
    result = next((r for r in verdict.criteria if r.id == criterion.id), None)
    out = [float("nan")] * repeats
    for place, vote in enumerate(result.votes[:repeats] if result else ()):
        if vote.status == "ok" and vote.score is not None:
            out[place] = float(normalise(vote.score, criterion.scale) >= mark - 1e-9)
    return out


def _never_rising(curve: Iterable[VotePoint]) -> tuple[VotePoint, ...]:
    """The points with upper ends that fewer votes have shown already."""
    out: list[VotePoint] = []
    high: float | None = None
    for point in curve:
        if high is not None and point.flips is not None and (point.high is None or point.high > high):
            low = 0.0 if point.low is None else point.low
            point = point.model_copy(update={"low": min(low, high), "high": max(high, point.flips)})
        high = point.high if point.high is not None else high
        out.append(point)
    return tuple(out)


def _point(
    matrix: np.ndarray, votes: int, prices: VotePrices | None, groups: Sequence[str], rng: np.random.Generator
) -> VotePoint:
    kept = (~np.isnan(matrix)).sum(1) >= 2
    some = matrix[kept]
    between = stability_interval(some, votes, groups=[g for g, k in zip(groups, kept, strict=True) if k], rng=rng)
    stable = vote_stability(some, votes)
    shares = np.nanmean(some, axis=1) if len(some) else np.asarray([])
    rule = StopRule(risk=0.0, least=min(2, votes), most=votes)
    outcomes: dict[float, float] = {}
    for share in shares.tolist():
        lead = max(share, 1 - share)
        if lead not in outcomes:
            outcomes[lead] = binary_outcome(rule, lead).calls
    calls = float(np.mean([outcomes[max(s, 1 - s)] for s in shares.tolist()])) if len(shares) else float(votes)
    flips, reason = stable.changes, stable.reason
    if flips is None and len(some) and np.nanmax(some) == np.nanmin(some):
        flips, reason = 0.0, None  # every vote is the same, so any number of them gives the same verdict
    return VotePoint(
        votes=votes,
        flips=flips,
        low=None if between is None else between[0],
        high=None if between is None else between[1],
        method=stable.method if stable.changes is not None else "no vote differs" if flips == 0 else "none",
        reason=reason,
        calls=calls,
        usd=None if prices is None else prices.of(votes, together=votes),
        usd_stopping=None if prices is None else prices.of(calls, together=rule.least),
    )


def _prefix_cached(usages: Sequence[Usage | None]) -> float | None:
    known = [u for u in usages if u is not None and u.cache_read_input_tokens is not None and u.input_tokens]
    total = sum(usage.input_tokens or 0 for usage in known)
    return sum(usage.cache_read_input_tokens or 0 for usage in known) / total if total else None
