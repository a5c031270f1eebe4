"""Wobble: how much one judge varies from run to run on frozen input.

Take it from runs with a fixed number of repeats only: voting that stops early biases the flip rate. A judge that
repeats itself perfectly may be perfectly wrong: wobble bounds trust from above and proves nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cache
from math import comb
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.alpha import krippendorff_alpha
from judge.calibration.icc import icc, rating_matrix
from judge.calibration.proportions import share
from judge.calibration.ratings import cluster_codes
from judge.calibration.resampling import Floats
from judge.errors import StatisticsError
from judge.types.estimate import Statistic, undefined
from judge.types.record import Record

VOTES = (1, 3, 5)
MOST_VOTES = 51
RARE = 1e-4
"""Changes below this share count as it on the scale of log odds."""
LEAST_ERROR = 1e-3
"""Standard errors below this are the fit's own: no task differs from another."""


class ItemWobble(Record):
    """One item over its repeats.

    Attributes:
        spread: Highest minus lowest score.
        sd: Standard deviation with n - 1.
        flip_rate: Chance that two different repeats give different answers.
        repeats: Repeats with a score.
    """

    spread: float
    sd: float
    flip_rate: float
    repeats: int


class VoteStability(Record):
    """How often the verdict of k votes would change if all k were drawn anew.

    Attributes:
        changes: Share of items in [0, 1]; None where it cannot be known from these repeats.
        method: "disjoint repeats" (unbiased, needs 2 k repeats) or "beta-binomial" (a model of binary verdicts).
    """

    omit_none: ClassVar[bool] = False

    votes: int
    changes: float | None
    method: str
    reason: str | None = None


class Wobble(Record):
    """Attributes:
    flip_rate: Mean over items of the item's flip rate, with bounds; `upper` is what a gate reads.
    icc: ICC(1,1) of the scores over repeats.
    alpha: Krippendorff's alpha across repeats: an upper bound of trust.
    items: By position in the input; None for an item with fewer than two scores.
    votes_needed: Fewest odd votes for the asked flip rate, which two more hold too; None where no number up to 51
        reaches it, or unknown.
    """

    omit_none: ClassVar[bool] = False

    flip_rate: Statistic
    icc: Statistic
    alpha: Statistic
    items: tuple[ItemWobble | None, ...]
    votes: tuple[VoteStability, ...]
    votes_needed: int | None
    repeats: int
    left_out: int


def item_wobble(scores: Floats) -> ItemWobble | None:
    """Spread, SD and flip rate of one item's scores; None with fewer than two."""
    there = scores[~np.isnan(scores)]
    n = len(there)
    if n < 2:
        return None
    counts = np.unique(there, return_counts=True)[1].astype(np.float64)
    return ItemWobble(
        spread=float(np.ptp(there)),
        sd=float(there.std(ddof=1)),
        flip_rate=1 - float((counts * (counts - 1)).sum()) / (n * (n - 1)),
        repeats=n,
    )


def wobble(
    scores: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    votes: Sequence[int] = VOTES,
    target: float | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Wobble:
    """Wobble of a judge over repeats.

    Args:
        scores: Shape (items, repeats); NaN where a repeat failed. An item with fewer than two is left out, counted.
        votes: Sizes of panel for which stability is asked.
        target: Flip rate that `votes_needed` must reach.

    Raises:
        StatisticsError: `scores` is not a matrix, or a panel size is below 1.
    """
    matrix = rating_matrix(scores)
    if any(k < 1 for k in votes):
        raise StatisticsError(f"Panels of {list(votes)!r} votes: at least one vote each.")
    items = tuple(item_wobble(row) for row in matrix)
    kept = np.asarray([entry is not None for entry in items], dtype=bool)
    cluster = cluster_codes(groups, len(matrix))[kept].tolist()
    rates = [entry.flip_rate for entry in items if entry is not None]
    some = matrix[kept]
    domain = np.unique(some[~np.isnan(some)]).tolist()
    if not rates:
        because = "no item has two scores"
        nothing = undefined(because, n=0, clusters=0, confidence=confidence)
        flip = correlation = alpha = nothing
    else:
        flip = share(rates, groups=cluster, rng=rng, confidence=confidence)
        correlation = icc(some, form="1,1", groups=cluster, rng=rng, confidence=confidence)
        alpha = (
            undefined(f"{len(domain)} distinct scores: use the ICC", n=len(rates), confidence=confidence)
            if len(domain) > 100
            else krippendorff_alpha(
                some.T.tolist(),
                level="nominal" if len(domain) <= 2 else "interval",
                domain=domain,
                groups=cluster,
                rng=rng,
                confidence=confidence,
            )
        )
    return Wobble(
        flip_rate=flip,
        icc=correlation,
        alpha=alpha,
        items=items,
        votes=tuple(vote_stability(some, k) for k in votes),
        votes_needed=None if target is None or not rates else _votes_needed(some, target),
        repeats=matrix.shape[1],
        left_out=int((~kept).sum()),
    )


def vote_stability(scores: Floats, votes: int) -> VoteStability:
    """Share of items whose majority (binary) or median (other scores) of `votes` changes on new draws.

    With 2 · votes repeats or more of every item it is counted over disjoint pairs of panels; else, for two distinct
    scores, a beta-binomial is fitted to the items' counts; else it is null.
    """
    there = ~np.isnan(scores)
    if not len(scores):
        return VoteStability(votes=votes, changes=None, method="none", reason="no item has two scores")
    if votes % 2 == 0:
        return VoteStability(votes=votes, changes=None, method="none", reason="an even panel may tie: take an odd one")
    fewest = int(there.sum(1).min())
    if fewest >= 2 * votes:
        rows = [row[~np.isnan(row)] for row in scores]
        return VoteStability(
            votes=votes,
            changes=float(np.mean([_disjoint_changes(row, votes) for row in rows])),
            method="disjoint repeats",
        )
    levels = np.unique(scores[there])
    if len(levels) > 2:
        return VoteStability(
            votes=votes,
            changes=None,
            method="none",
            reason=f"{fewest} repeats, {2 * votes} needed for panels of {votes}",
        )
    if len(levels) < 2:
        return VoteStability(votes=votes, changes=None, method="none", reason="all scores are equal: nothing to model")
    ones = np.where(there, scores == levels[1], False).sum(1).astype(np.float64)
    return VoteStability(
        votes=votes, changes=_modelled_changes(ones, there.sum(1).astype(np.float64), votes), method="beta-binomial"
    )


def stability_interval(
    scores: Floats,
    votes: int,
    *,
    groups: Sequence[Hashable],
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> tuple[float, float] | None:
    """Two-sided interval in [0, 1] of `vote_stability`, clustered by `groups`; None where tasks cannot give one.

    Counted changes have that of a share. Modelled ones have a jackknife: the model is fitted without each task in turn,
    on the scale of log odds, with Student's t. It knows nothing of how far the model is from the truth. Where no two
    repeats of any item differ, the fit stands at its edge and its spread over tasks says nothing: None.
    """
    from scipy.special import expit, logit
    from scipy.stats import t

    found = vote_stability(scores, votes)
    if found.changes is None:
        return None
    cluster = cluster_codes(groups, len(scores))
    tasks = np.unique(cluster)
    if found.method == "disjoint repeats":
        each = [_disjoint_changes(row[~np.isnan(row)], votes) for row in scores]
        counted = share(each, groups=cluster.tolist(), rng=rng, confidence=confidence)
        return None if counted.low is None or counted.high is None else (counted.low, counted.high)
    if len(tasks) < 3 or bool((np.nanmax(scores, axis=1) == np.nanmin(scores, axis=1)).all()):
        return None
    without = [vote_stability(scores[cluster != task], votes).changes or 0.0 for task in tasks]
    odds = logit(np.clip([found.changes, *without], RARE, 1 - RARE))
    error = float(np.sqrt((len(tasks) - 1) * np.var(odds[1:])))
    reach = float(t.ppf((1 + confidence) / 2, len(tasks) - 1)) * error
    return (float(expit(odds[0] - reach)), float(expit(odds[0] + reach))) if error > LEAST_ERROR else None


def _disjoint_changes(row: Floats, votes: int) -> float:
    """Chance that two disjoint panels of one item's repeats, drawn at random, differ in their median. Exact."""
    counts = np.unique(row, return_counts=True)[1]
    same, below = 0.0, 0
    for count in counts.tolist():
        same += _both_medians(below, count, len(row) - below - count, votes)
        below += count
    return 1 - same


@cache
def _both_medians(below: int, equal: int, above: int, votes: int) -> float:
    """Chance that two disjoint panels of an odd number of votes both have a given value as median.

    A panel has it when at most half of its votes lie below and at most half above.
    """
    half = votes // 2

    def panels(low: int, level: int, high: int) -> Iterator[tuple[int, int, int, float]]:
        total = comb(low + level + high, votes)
        for taken_low in range(min(low, half) + 1):
            for taken_high in range(min(high, half) + 1):
                taken = votes - taken_low - taken_high
                if taken <= level:
                    ways = comb(low, taken_low) * comb(level, taken) * comb(high, taken_high)
                    yield taken_low, taken, taken_high, ways / total

    return sum(
        chance * sum(other[3] for other in panels(below - low, equal - level, above - high))
        for low, level, high, chance in panels(below, equal, above)
    )


@cache
def _nodes() -> tuple[Floats, Floats]:
    from scipy.special import roots_legendre

    nodes, weights = roots_legendre(400)
    return nodes, weights


def _modelled_changes(ones: Floats, repeats: Floats, votes: int) -> float:
    """Expected 2 q (1 - q), q the chance of a majority of `votes`, under a beta-binomial fitted by likelihood."""
    from scipy.optimize import minimize
    from scipy.special import betaln, expit
    from scipy.stats import beta, binom

    def loss(point: Floats) -> float:
        mean, size = expit(point[0]), np.exp(np.clip(point[1], -7, 7))
        a, b = mean * size, (1 - mean) * size
        return -float((betaln(ones + a, repeats - ones + b) - betaln(a, b)).sum())

    start = np.asarray([np.log((ones.sum() + 0.5) / (repeats.sum() - ones.sum() + 0.5)), 0.0])
    found = minimize(loss, start, method="Nelder-Mead")
    mean, size = float(expit(found.x[0])), float(np.exp(np.clip(found.x[1], -7, 7)))
    nodes, weights = _nodes()
    quantiles = beta.ppf((nodes + 1) / 2, max(mean * size, 1e-6), max((1 - mean) * size, 1e-6))
    q = binom.sf(votes // 2, votes, quantiles)
    return float((weights / 2 * 2 * q * (1 - q)).sum())


def _votes_needed(scores: Floats, target: float) -> int | None:
    """The fewest that hold the target, with the next odd number after them, which may be known by another method."""
    for votes in range(1, MOST_VOTES + 1, 2):
        changes = vote_stability(scores, votes).changes
        if changes is None:
            return None
        more = vote_stability(scores, votes + 2).changes if changes <= target else None
        if changes <= target and (more is None or more <= target):
            return votes
    return None
