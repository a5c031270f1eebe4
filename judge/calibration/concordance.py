"""Agreement of two continuous scores in level and not only in order: Lin's CCC, correlation, and leniency."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.ratings import Codes, cluster_codes, numbers
from judge.calibration.resampling import Floats, bounded, linear, ratio, sum_by_cluster
from judge.errors import StatisticsError
from judge.types.estimate import Statistic, undefined


def _pairs(human: ArrayLike, judge: ArrayLike, groups: Sequence[Hashable] | None) -> tuple[Floats, Floats, Codes]:
    x, y = numbers(human, what="human"), numbers(judge, what="judge")
    if len(x) != len(y):
        raise StatisticsError(f"{len(x)} labels against {len(y)} scores.", hint="Join them first.")
    both = ~np.isnan(x) & ~np.isnan(y)
    cluster = cluster_codes(groups, len(x))[both]
    return x[both], y[both], np.unique(cluster, return_inverse=True)[1].astype(np.int64)


def _moments(sums: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    n = sums[:, 0]
    mean_x, mean_y = ratio(sums[:, 1], n), ratio(sums[:, 2], n)
    return (
        mean_x,
        mean_y,
        ratio(sums[:, 3], n) - mean_x**2,
        ratio(sums[:, 4], n) - mean_y**2,
        ratio(sums[:, 5], n) - mean_x * mean_y,
    )


def concordance_correlation(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Statistic:
    """Lin's concordance correlation 2 s_xy / (s_x² + s_y² + (x̄ - ȳ)²), variances over n, clustered by `groups`.

    Returns:
        In [-1, 1]; null with fewer than two pairs or where both sides are constant and equal.

    Source: Lin 1989, doi:10.2307/2532051.
    """
    x, y, cluster = _pairs(human, judge, groups)
    if len(x) < 2:
        return undefined(f"{len(x)} pairs, two needed", n=len(x), confidence=confidence)
    centre, scale = float(x.mean()), float(max(x.std(), y.std(), abs(x.mean() - y.mean())))
    if scale == 0.0:
        return undefined("both sides are constant and equal", n=len(x), confidence=confidence)
    a, b = (x - centre) / scale, (y - centre) / scale
    rows = sum_by_cluster(np.column_stack([np.ones(len(a)), a, b, a * a, b * b, a * b]), cluster)

    def ccc(sums: Floats) -> Floats:
        mean_x, mean_y, var_x, var_y, both = _moments(sums)
        return ratio(2 * both, var_x + var_y + (mean_x - mean_y) ** 2)

    return bounded(
        linear(rows, ccc, None, 0.0),
        n=len(x),
        rng=rng,
        confidence=confidence,
        undefined_because="both sides are constant and equal",
    )


def pearson(human: ArrayLike, judge: ArrayLike) -> float | None:
    """Pearson's correlation, for comparison only: it is blind to leniency. None where a side is constant."""
    x, y, _ = _pairs(human, judge, None)
    if len(x) < 2 or float(np.ptp(x)) == 0.0 or float(np.ptp(y)) == 0.0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


def leniency(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    scale: tuple[float, float],
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Statistic:
    """Mean of judge minus human as a share of the scale: above 0 is lenient. In [-1, 1], clustered by `groups`.

    Args:
        scale: Lowest and highest value that the scale allows. A prior of half an item at each of the extreme
            differences keeps the bounds apart where no difference was seen.

    Raises:
        StatisticsError: The scale is empty, or a value lies outside it.
    """
    low, high = scale
    x, y, cluster = _pairs(human, judge, groups)
    if not high > low:
        raise StatisticsError(f"The scale {scale!r} is empty.")
    both = np.concatenate([x, y])
    if len(both) and (both.min() < low or both.max() > high):
        raise StatisticsError(f"Values from {both.min()} to {both.max()} on a scale {scale!r}.")
    if not len(x):
        return undefined("no pairs", n=0, confidence=confidence)
    difference = (y - x) / (high - low)
    rows = sum_by_cluster(np.column_stack([difference, np.ones(len(x))]), cluster)
    pseudo = np.asarray([[1.0, 1.0], [-1.0, 1.0]]) * (len(x) / len(rows))
    found = bounded(
        linear(rows, lambda sums: ratio(sums[:, 0], sums[:, 1]), pseudo, 0.5),
        n=len(x),
        rng=rng,
        confidence=confidence,
        transform="none",
    )
    ends = {name: getattr(found, name) for name in ("low", "high", "lower", "upper")}  # Student's t knows no scale
    return found.model_copy(update={k: min(1.0, max(-1.0, end)) for k, end in ends.items() if end is not None})
