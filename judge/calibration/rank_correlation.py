"""Rank agreement: Kendall's tau-b, Somers' D, Spearman with mid-ranks, Kendall's W.

Few distinct values make a table, and then a prior on its cells keeps bounds off the boundary. Many distinct values
are compared pair by pair; a perfect ranking then has no bound at all. Ranks are blind to a judge's leniency.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.icc import rating_matrix
from judge.calibration.kappa import pair_statistic
from judge.calibration.ratings import Codes, cluster_codes, numbers
from judge.calibration.resampling import Floats, Weighted, bounded, ratio
from judge.errors import StatisticsError
from judge.types.estimate import Statistic, undefined
from judge.types.record import Record

RankStatistic: TypeAlias = Literal["tau_b", "somers_d", "spearman"]
TABLE_SIDE = 12
LARGEST_PAIRWISE = 4_000


def concordance_score(tables: Floats) -> Floats:
    """Twice the concordant minus discordant pairs of ordered tables (b, r, c): one matrix product for all of them."""
    _, height, width = tables.shape
    rows, columns = np.arange(height), np.arange(width)
    signs = np.kron(np.sign(rows[:, None] - rows[None, :]), np.sign(columns[:, None] - columns[None, :]))
    flat = tables.reshape(-1, height * width)
    score: Floats = ((flat @ signs.astype(np.float64)) * flat).sum(1)
    return score


def table_rank_statistic(tables: Floats, kind: RankStatistic) -> Floats:
    """tau-b, Somers' D (columns given rows) or Spearman's rho of ordered tables (b, r, c); NaN where undefined."""
    rows, columns = tables.sum(2), tables.sum(1)
    n = rows.sum(1)
    if kind == "spearman":
        x = rows.cumsum(1) - rows / 2 - n[:, None] / 2
        y = columns.cumsum(1) - columns / 2 - n[:, None] / 2
        cross = (np.matmul(tables, y[:, :, None])[:, :, 0] * x).sum(1)
        return ratio(cross, np.sqrt((rows * x**2).sum(1) * (columns * y**2).sum(1)))
    score = concordance_score(tables)  # twice the pairs, and so is what follows: weights need not be whole
    untied_rows = n**2 - (rows**2).sum(1)
    if kind == "somers_d":
        return ratio(score, untied_rows)
    untied_columns = n**2 - (columns**2).sum(1)
    return ratio(score, np.sqrt(np.maximum(untied_rows * untied_columns, 0.0)))


def _pairwise(x: Floats, y: Floats, cluster: Codes, kind: RankStatistic) -> Weighted:
    groups = int(cluster.max()) + 1
    if groups == len(x):
        order = np.argsort(cluster)
        x, y = x[order], y[order]

    def summed(pairs: Floats) -> Floats:
        if groups == len(x):
            return pairs
        half = np.zeros((groups, len(x)))
        np.add.at(half, cluster, pairs)
        out = np.zeros((groups, groups))
        np.add.at(out, cluster, half.T)
        return out

    side_x, side_y = np.sign(x[:, None] - x[None, :]), np.sign(y[:, None] - y[None, :])
    score, untied_x, untied_y = summed(side_x * side_y), summed(np.abs(side_x)), summed(np.abs(side_y))

    def quadratic(weights: Floats, pairs: Floats) -> Floats:
        return np.asarray(((weights @ pairs) * weights).sum(1), dtype=np.float64)

    def evaluate(weights: Floats) -> Floats:
        over, under = quadratic(weights, score), quadratic(weights, untied_x)
        if kind == "somers_d":
            return ratio(over, under)
        return ratio(over, np.sqrt(under * quadratic(weights, untied_y)))

    return Weighted(evaluate=evaluate, counts=np.ones(groups), prior=np.zeros(groups))


def _ranked(x: Floats, y: Floats, cluster: Codes) -> Weighted:
    places_x = np.unique(x, return_inverse=True)[1]
    places_y = np.unique(y, return_inverse=True)[1]

    def middle(weights: Floats, places: np.ndarray) -> Floats:
        size = int(places.max()) + 1
        order = np.argsort(places, kind="stable")
        starts = np.searchsorted(places[order], np.arange(size))
        counts = np.add.reduceat(weights[:, order], starts, axis=1)
        rank = counts.cumsum(1) - counts / 2 - weights.sum(1, keepdims=True) / 2
        return np.asarray(rank[:, places], dtype=np.float64)

    def evaluate(weights: Floats) -> Floats:
        item = weights[:, cluster]
        a, b = middle(item, places_x), middle(item, places_y)
        return ratio((item * a * b).sum(1), np.sqrt((item * a**2).sum(1) * (item * b**2).sum(1)))

    groups = int(cluster.max()) + 1
    return Weighted(evaluate=evaluate, counts=np.ones(groups), prior=np.zeros(groups))


def rank_statistic(x: Floats, y: Floats, cluster: Codes, kind: RankStatistic) -> Weighted:
    """The rank statistic of complete pairs as a function of weights on clusters."""
    levels_x, place_x = np.unique(x, return_inverse=True)
    levels_y, place_y = np.unique(y, return_inverse=True)
    if max(len(levels_x), len(levels_y)) <= TABLE_SIDE:
        of_table: Callable[[Floats], Floats] = lambda tables: table_rank_statistic(tables, kind)  # noqa: E731
        return pair_statistic(
            place_x.astype(np.int64), place_y.astype(np.int64), cluster, len(levels_x), len(levels_y), of_table
        )
    return _ranked(x, y, cluster) if kind == "spearman" else _pairwise(x, y, cluster, kind)


def rank_agreement(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    kind: RankStatistic = "tau_b",
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Statistic:
    """tau-b, Somers' D of the judge given people, or Spearman's rho, clustered by `groups`.

    Args:
        human, judge: Shape (n,), NaN where missing; such pairs are left out.

    Returns:
        In [-1, 1]. Null with fewer than two pairs or a constant side.

    Raises:
        StatisticsError: Lengths differ; or more than 4,000 items with many distinct values (tau-b, Somers' D).

    Source: Kendall 1945, doi:10.1093/biomet/33.3.239; Somers 1962, doi:10.2307/2090408.
    """
    x, y = numbers(human, what="human"), numbers(judge, what="judge")
    if len(x) != len(y):
        raise StatisticsError(f"{len(x)} labels against {len(y)} scores.", hint="Join them first.")
    both = ~np.isnan(x) & ~np.isnan(y)
    cluster = cluster_codes(groups, len(x))[both]
    dense = np.unique(cluster, return_inverse=True)[1].astype(np.int64)
    x, y = x[both], y[both]
    n = len(x)
    if n < 2:
        return undefined(f"{n} pairs, two needed", n=n, confidence=confidence)
    if float(np.ptp(x)) == 0.0 or float(np.ptp(y)) == 0.0:
        side = "labels" if float(np.ptp(x)) == 0.0 else "scores"
        return undefined(f"all {side} are equal: nothing is ranked", n=n, confidence=confidence)
    distinct = max(len(np.unique(x)), len(np.unique(y)))
    if kind != "spearman" and distinct > TABLE_SIDE and n > LARGEST_PAIRWISE:
        raise StatisticsError(
            f"{n} items with {distinct} distinct values, at most {LARGEST_PAIRWISE} are compared pair by pair.",
            hint="Round the scores to a few levels, or use spearman.",
        )
    return bounded(
        rank_statistic(x, y, dense, kind),
        n=n,
        rng=rng,
        confidence=confidence,
        undefined_because="nothing is ranked",
    )


class Concordance(Record):
    """Kendall's W over several rankings of the same items.

    Attributes:
        w: In [0, 1]; null where it is undefined.
        chi2, p: Friedman's statistic R (n - 1) W and its large-sample p; None with `w`.
        mean_spearman: Mean rank correlation of two rankings, (R W - 1) / (R - 1).
    """

    omit_none: ClassVar[bool] = False

    w: float | None
    chi2: float | None = None
    p: float | None = None
    mean_spearman: float | None = None
    raters: int
    items: int
    reason: str | None = None


def kendall_w(ratings: ArrayLike) -> Concordance:
    """Kendall's coefficient of concordance, corrected for ties.

    Args:
        ratings: Shape (items, raters); an item with a gap is left out.

    Source: Kendall & Babington Smith 1939, doi:10.1214/aoms/1177732186.
    """
    from scipy.stats import chi2 as chi2_distribution
    from scipy.stats import rankdata

    scores = rating_matrix(ratings)
    scores = scores[~np.isnan(scores).any(1)]
    n, raters = scores.shape
    if n < 2 or raters < 2:
        return Concordance(w=None, raters=raters, items=n, reason="two items and two rankings are needed")
    ranks = np.column_stack([rankdata(scores[:, j]) for j in range(raters)])
    ties = 0.0
    for j in range(raters):
        counts = np.unique(ranks[:, j], return_counts=True)[1].astype(np.float64)
        ties += float((counts**3 - counts).sum())
    spread = float(((ranks.sum(1) - raters * (n + 1) / 2) ** 2).sum())
    under = raters**2 * (n**3 - n) - raters * ties
    if under <= 1e-9:
        return Concordance(w=None, raters=raters, items=n, reason="every ranking is one tie")
    w = 12 * spread / under
    chi2 = raters * (n - 1) * w
    return Concordance(
        w=w,
        chi2=chi2,
        p=float(chi2_distribution.sf(chi2, n - 1)),
        mean_spearman=(raters * w - 1) / (raters - 1),
        raters=raters,
        items=n,
    )
