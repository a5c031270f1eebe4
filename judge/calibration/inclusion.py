"""Items that were drawn by unequal chances: each weighs the inverse of its chance, and a statistic then speaks of all.

A weighted statistic is a ratio of weighted sums (Hájek). What unequal weights cost is counted by Kish's effective
number, (sum of w)² / (sum of w²): an error that hides among items of a high weight is seen less often than one
among as many equal items, so bounds take no more evidence than that.

Source: Särndal, Swensson & Wretman 1992, 5.7; Kish 1965.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.ratings import Codes, numbers
from judge.calibration.resampling import Floats
from judge.errors import StatisticsError

EQUAL = 1e-9
"""Relative difference up to which weights count as equal."""


def relative(weights: ArrayLike | None, kept: np.ndarray) -> Floats | None:
    """Weights of the items that are kept, scaled to a mean of 1; None where they are all equal.

    Args:
        weights: Shape (n,), above 0; None for equal ones.
        kept: Shape (n,), flags.

    Raises:
        StatisticsError: A weight is not above 0, or their number is not that of the items.
    """
    if weights is None:
        return None
    given = numbers(weights, what="weights")
    if len(given) != len(kept):
        raise StatisticsError(f"{len(given)} weights for {len(kept)} items.")
    if not (given > 0).all():
        raise StatisticsError(
            f"A weight of {given[~(given > 0)][0]!r}.", hint="The inverse of a chance in (0, 1] is at least 1."
        )
    some: Floats = given[kept]
    if not len(some) or some.max() <= some.min() * (1 + EQUAL):
        return None
    return some / float(some.mean())


def effective(weights: Floats) -> float:
    """Kish's effective number of items: n where all weights are equal, less where they differ."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def unevenness(weights: Floats, cluster: Codes) -> float:
    """By how much unequal weights lower the effective number of clusters: at least 1.

    Args:
        weights, cluster: Shape (n,); clusters numbered from 0 without gaps.
    """
    sizes: Floats = np.bincount(cluster).astype(np.float64)
    weighing: Floats = np.bincount(cluster, weights=weights).astype(np.float64)
    return max(1.0, effective(sizes) / effective(weighing))
