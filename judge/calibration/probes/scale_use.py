"""Biases that need labels, not pairs: length beyond quality, a pull to the middle, the use of the scale."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.concordance import leniency
from judge.calibration.ratings import Codes, cluster_codes, numbers
from judge.calibration.resampling import Floats, bounded, linear, ratio, sum_by_cluster
from judge.errors import StatisticsError
from judge.types.estimate import Statistic, undefined

LENGTH_BAND = 0.30
"""Innocent partial rank correlation of score and length at equal quality, in either direction."""
MIDDLE_BAND = 0.20
"""Innocent difference of the distance from the middle, in shares of half the scale, in either direction."""
USE_BAND = 0.20
"""Innocent difference of the spread of scores and labels, in shares of half the scale, in either direction."""


def length_given_quality(
    scores: ArrayLike,
    lengths: ArrayLike,
    quality: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Statistic:
    """Partial correlation in [-1, 1] of the ranks of score and length, the ranks of quality held fixed.

    Ranks are taken once and kept through the resampling. Null where a rank has no variation left beside quality.

    Args:
        scores, lengths, quality: Shape (n,); a NaN leaves the run out.

    Raises:
        StatisticsError: Shapes differ.

    When not to use: where long runs are better in a way that the labels do not record.
    """
    from scipy.stats import rankdata

    table, cluster = _complete(groups, scores=scores, lengths=lengths, quality=quality)
    n = len(table)
    if n < 4:
        return undefined(f"{n} runs with score, length and label; 4 needed", n=n, confidence=confidence)
    ranks = np.column_stack([rankdata(column) for column in table.T])
    ranks = (ranks - ranks.mean(0)) / n
    products = [ranks[:, i] * ranks[:, j] for i in range(3) for j in range(i, 3)]
    rows = sum_by_cluster(np.column_stack([np.ones(n), ranks, *products]), cluster)
    return bounded(
        linear(rows, _partial, None, 0.0),
        n=n,
        rng=rng,
        confidence=confidence,
        undefined_because="score, length or quality does not vary beside the others",
    )


def _partial(sums: Floats) -> Floats:
    n = sums[:, 0]
    mean = sums[:, 1:4] / n[:, None]
    moments = sums[:, 4:] / n[:, None]
    pairs = [(i, j) for i in range(3) for j in range(i, 3)]
    cov = {p: moments[:, k] - mean[:, p[0]] * mean[:, p[1]] for k, p in enumerate(pairs)}
    residual = cov[0, 1] - ratio(cov[0, 2] * cov[1, 2], cov[2, 2])
    left_x = cov[0, 0] - ratio(cov[0, 2] ** 2, cov[2, 2])
    left_y = cov[1, 1] - ratio(cov[1, 2] ** 2, cov[2, 2])
    return ratio(residual, np.sqrt(np.maximum(left_x * left_y, 0.0)))


def pull_to_middle(
    scores: ArrayLike,
    quality: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Statistic:
    """How much nearer to the middle of the scale scores lie than labels: in [-1, 1], below 0 for a timid judge.

    Args:
        scores, quality: Shape (n,), in [0, 1], both on the same scale; a NaN leaves the run out.

    Raises:
        StatisticsError: Shapes differ or a value lies outside [0, 1].
    """
    distance = [2 * np.abs(numbers(values, what="values") - 0.5) for values in (quality, scores)]
    return leniency(*distance, scale=(0.0, 1.0), groups=groups, rng=rng, confidence=confidence)


def use_of_scale(
    scores: ArrayLike,
    quality: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Statistic:
    """Standard deviation of scores minus that of labels, in shares of half the scale: in [-1, 1].

    Below 0 for a judge that uses a part of the scale only, wherever that part lies; above 0 for one that goes to its
    ends where people do not. Null where labels do not vary, so that no use of the scale is called for.

    Args:
        scores, quality: Shape (n,), in [0, 1], both on the same scale; a NaN leaves the run out.

    Raises:
        StatisticsError: Shapes differ.
    """
    table, cluster = _complete(groups, scores=scores, labels=quality)
    n = len(table)
    if n < 2:
        return undefined(f"{n} runs with score and label; 2 needed", n=n, confidence=confidence)
    score, label = table.T
    rows = sum_by_cluster(np.column_stack([np.ones(n), score, label, score**2, label**2]), cluster)
    return bounded(
        linear(rows, _difference_of_spread, None, 0.0),
        n=n,
        rng=rng,
        confidence=confidence,
        undefined_because="the labels do not vary",
    )


def _difference_of_spread(sums: Floats) -> Floats:
    means = sums[:, 1:] / sums[:, :1]
    score, label = (np.sqrt(np.maximum(means[:, 2 + k] - means[:, k] ** 2, 0.0)) for k in (0, 1))
    return np.where(label > 1e-9, 2 * (score - label), np.nan)


def _complete(groups: Sequence[Hashable] | None, **columns: ArrayLike) -> tuple[Floats, Codes]:
    """The rows in which no column is NaN, shape (n, columns), and the cluster of each.

    Raises:
        StatisticsError: Lengths differ.
    """
    given = [numbers(values, what=what) for what, values in columns.items()]
    if len({len(column) for column in given}) > 1:
        raise StatisticsError(f"Lengths differ: {[len(column) for column in given]}.")
    table = np.column_stack(given)
    kept = ~np.isnan(table).any(axis=1)
    return table[kept], np.unique(cluster_codes(groups, len(table))[kept], return_inverse=True)[1].astype(np.int64)
