"""Intraclass correlation: the six forms of Shrout & Fleiss, by the names of McGraw & Wong.

| form | also | model and question |
|---|---|---|
| 1,1 | ICC(1) | one-way: raters (or repeats) are exchangeable, e.g. the wobble of one judge |
| A,1 | S&F (2,1) | two-way, absolute agreement: leniency counts as error. Use this one for judge and people |
| C,1 | S&F (3,1) | two-way, consistency: blind to leniency (.71 against .29 on Shrout & Fleiss' data) |
| .,k | | the same for the mean of k raters |

Source: Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420; McGraw & Wong 1996, doi:10.1037/1082-989X.1.1.30.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.ratings import cluster_codes
from judge.calibration.resampling import Floats, Weighted, bounded, linear, ratio, sum_by_cluster
from judge.errors import StatisticsError
from judge.types.estimate import Statistic, undefined

Form: TypeAlias = Literal["1,1", "1,k", "A,1", "A,k", "C,1", "C,k"]


def rating_matrix(ratings: ArrayLike) -> Floats:
    """Scores of shape (items, raters), NaN where missing.

    Raises:
        StatisticsError: Not two-dimensional, or an infinity is in it.
    """
    array = np.asarray(ratings, dtype=np.float64)
    if array.ndim != 2:
        raise StatisticsError(f"Ratings have shape {array.shape}, needed (items, raters).")
    if np.isinf(array).any():
        raise StatisticsError("Ratings hold an infinity.", hint="Mark a missing rating as NaN.")
    return array


def icc_from_sums(sums: Floats, raters: int, form: Form) -> Floats:
    """ICC from sums over items of 1, each rater's score, and every product of two: (b, 1 + k + k²) to (b,)."""
    k = raters
    n, first = sums[:, 0], sums[:, 1 : 1 + k]
    second = sums[:, 1 + k :].reshape(-1, k, k)
    grand = ratio(first.sum(1), n * k)
    total = second[:, np.arange(k), np.arange(k)].sum(1) - n * k * grand**2
    between = second.sum((1, 2)) / k - n * k * grand**2
    columns = n * (ratio(first, n[:, None]) ** 2).sum(1) - n * k * grand**2
    items = ratio(between, n - 1)
    within = ratio(total - between, n * (k - 1))
    column = columns / max(1, k - 1)
    error = ratio(total - between - columns, (n - 1) * (k - 1))
    none = np.abs(total) <= 1e-9 * (np.abs(second).sum((1, 2)) + 1e-300)
    if form == "1,1":
        out = ratio(items - within, items + (k - 1) * within)
    elif form == "1,k":
        out = ratio(items - within, items)
    elif form == "A,1":
        out = ratio(items - error, items + (k - 1) * error + ratio(k * (column - error), n))
    elif form == "A,k":
        out = ratio(items - error, items + ratio(column - error, n))
    elif form == "C,1":
        out = ratio(items - error, items + (k - 1) * error)
    else:
        out = ratio(items - error, items)
    return np.where(none, np.nan, out)


def icc_statistic(scores: Floats, cluster: np.ndarray, form: Form) -> Weighted:
    """The ICC of complete scores (items, raters) as a function of weights on clusters."""
    centred = scores - scores.mean()
    k = scores.shape[1]
    rows = np.column_stack(
        [np.ones(len(scores)), centred, (centred[:, :, None] * centred[:, None, :]).reshape(-1, k * k)]
    )
    return linear(sum_by_cluster(rows, cluster), lambda sums: icc_from_sums(sums, k, form), None, 0.0)


def icc(
    ratings: ArrayLike,
    *,
    form: Form = "A,1",
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Statistic:
    """One form of the ICC, with cluster-jackknife bounds on the atanh scale.

    Args:
        ratings: Shape (items, raters). An item with a missing rating is left out and counted in `detail`.
        groups: Task of each item.

    Returns:
        At most 1; negative where raters differ more within items than items differ. Null with fewer than two items
        or raters, or without any variation; bounds null where no disagreement is seen.
    """
    scores = rating_matrix(ratings)
    whole = ~np.isnan(scores).any(1)
    left_out = int((~whole).sum())
    cluster = cluster_codes(groups, len(scores))[whole]
    dense = np.unique(cluster, return_inverse=True)[1].astype(np.int64)
    scores = scores[whole]
    detail = {"form": form, "items_with_a_gap": left_out}
    if len(scores) < 2 or scores.shape[1] < 2:
        return undefined(
            f"{len(scores)} complete items by {scores.shape[1]} raters, two of each needed",
            n=len(scores),
            confidence=confidence,
            detail=detail,
        )
    if float(np.ptp(scores)) == 0.0:
        return undefined("all ratings are equal", n=len(scores), confidence=confidence, detail=detail)
    return bounded(
        icc_statistic(scores, dense, form),
        n=len(scores),
        rng=rng,
        confidence=confidence,
        undefined_because="items do not vary",
        detail=detail,
    )


def cronbach_alpha(ratings: ArrayLike, *, confidence: float = 0.95) -> Statistic:
    """Cronbach's alpha of raters or repeats as parts of one scale, with Feldt's interval.

    Across repeats of one judge it is an upper bound of trust and not a proof: a judge may repeat the same error.

    Args:
        ratings: Shape (items, raters); covariances use the pairs that are there.

    Returns:
        At most 1; null with fewer than two items or raters, or no variation in the sum.

    Source: Cronbach 1951, doi:10.1007/BF02310555; Feldt 1965, doi:10.1007/BF02289499 (independent items).
    """
    from scipy.stats import f

    scores = rating_matrix(ratings)
    n, k = scores.shape
    if n < 2 or k < 2:
        return undefined(f"{n} items by {k} raters, two of each needed", n=n, confidence=confidence)
    covariance = np.zeros((k, k))
    for i in range(k):
        for j in range(k):
            both = ~np.isnan(scores[:, i]) & ~np.isnan(scores[:, j])
            if both.sum() < 2:
                return undefined("two raters share fewer than two items", n=n, confidence=confidence)
            x, y = scores[both, i], scores[both, j]
            covariance[i, j] = float(((x - x.mean()) * (y - y.mean())).sum()) / (int(both.sum()) - 1)
    total = float(covariance.sum())
    if total <= 1e-12:
        return undefined("the sum of the ratings does not vary", n=n, confidence=confidence)
    value = k / (k - 1) * (1 - float(np.trace(covariance)) / total)
    tail = (1 - confidence) / 2
    first, second = n - 1, (n - 1) * (k - 1)

    def limit(level: float) -> float:
        return float(1 - (1 - value) * f.ppf(level, first, second))

    return Statistic(
        value=value,
        low=limit(1 - tail),
        high=limit(tail),
        lower=limit(confidence),
        upper=limit(1 - confidence),
        confidence=confidence,
        n=n,
        clusters=n,
        method="feldt",
    )


def mcdonald_omega(loadings: ArrayLike) -> float:
    """Omega of standardised one-factor loadings: (Σ l)² / ((Σ l)² + Σ (1 - l²)); equals alpha for equal loadings.

    Raises:
        StatisticsError: Fewer than two loadings, or one outside [-1, 1].
    """
    array = np.asarray(loadings, dtype=np.float64)
    if array.ndim != 1 or len(array) < 2 or (np.abs(array) > 1).any():
        raise StatisticsError("Omega needs two loadings or more, each in [-1, 1].")
    common = float(array.sum()) ** 2
    return float(common / (common + float((1 - array**2).sum())))
