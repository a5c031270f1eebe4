"""Fleiss' kappa, Conger's kappa, AC1/AC2 and the uniform coefficient for many raters, with gaps.

With r_ik ratings of unit i in category k, r_i in all, agreement weights w: observed agreement is the mean over units
with r_i >= 2 of Σ_k r_ik (Σ_l w_kl r_il - 1) / (r_i (r_i - 1)); π_k is the mean over units of r_ik / r_i. Chance:

| name | p_e |
|---|---|
| fleiss | Σ w_kl π_k π_l (Fleiss 1971 for equal r_i; pooled margins, so it extends Scott and not Cohen) |
| conger | Σ w_kl (mean_k mean_l - cov_kl / R) over the margins of the R raters (extends Cohen; Conger 1980) |
| gwet | T_w / (K (K - 1)) Σ π_k (1 - π_k) (Gwet 2008, 2014) |
| uniform | T_w / K² (Brennan & Prediger 1981; Randolph 2005) |
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from judge.calibration.alpha import code_matrix, value_counts
from judge.calibration.ratings import MISSING, LabelValue, cluster_codes
from judge.calibration.resampling import Floats, bounded, linear, ratio, sum_by_cluster
from judge.calibration.table import Weighting, disagreement_weights
from judge.types.estimate import Statistic

ManyRaters: TypeAlias = Literal["fleiss", "conger", "gwet", "uniform"]


def unit_rows(counts: Floats, weights: Weighting) -> Floats:
    """What each unit adds: agreement, whether it has a pair, whether it has a rating, and shares of K categories."""
    agree = 1 - disagreement_weights(counts.shape[1], weights)
    m = counts.sum(1)
    pairs = m >= 2
    observed = (counts * (counts @ agree - 1)).sum(1)
    within = np.where(pairs, observed / np.maximum(m * (m - 1), 1), 0.0)
    shares = counts / np.maximum(m, 1)[:, None]
    return np.column_stack([within, pairs, m >= 1, shares])


def chance_corrected(sums: Floats, kind: ManyRaters, weights: Weighting, categories: int) -> Floats:
    """The coefficient from summed `unit_rows`; NaN where chance agreement is certain."""
    agree = 1 - disagreement_weights(categories, weights)
    observed = ratio(sums[:, 0], sums[:, 1])
    shares = ratio(sums[:, 3 : 3 + categories], sums[:, 2:3])
    if kind == "gwet":
        spread = (shares * (1 - shares)).sum(1) / max(1, categories * (categories - 1))
        expected = np.where(spread > 1e-12, agree.sum() * spread, np.nan)
    elif kind == "uniform":
        expected = np.full(len(sums), agree.sum() / categories**2)
    elif kind == "fleiss":
        expected = ((shares @ agree) * shares).sum(1)
    else:
        by_rater = sums[:, 3 + categories :].reshape(len(sums), -1, categories)
        margins = ratio(by_rater, by_rater.sum(2, keepdims=True))
        raters = margins.shape[1]
        mean = margins.mean(1)
        left = margins - mean[:, None, :]
        spread = np.einsum("brk,brl->bkl", left, left) / max(1, raters - 1)
        expected = ((mean @ agree) * mean).sum(1) - (agree[None] * spread).sum((1, 2)) / raters
    return ratio(observed - expected, 1 - expected)


def agreement_of_many(
    ratings: Sequence[Sequence[LabelValue]],
    *,
    domain: Sequence[LabelValue],
    kind: ManyRaters = "fleiss",
    weights: Weighting = "unweighted",
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Statistic:
    """Chance-corrected agreement of two raters or more, clustered by `groups`.

    Args:
        ratings: One row a rater, one entry a unit, None where missing.
        domain: The full declared scale, worst to best.

    Returns:
        Null where no unit has two ratings, or all ratings are of one class.

    Raises:
        LabelError: A label outside the domain.
    """
    codes = code_matrix(ratings, domain)
    categories = len(domain)
    rated = (codes != MISSING).any(0)
    codes = codes[:, rated]
    counts = value_counts(codes, categories)
    cluster = cluster_codes(groups, len(rated))[rated]
    dense = np.unique(cluster, return_inverse=True)[1].astype(np.int64)
    rows = unit_rows(counts, weights)
    if kind == "conger":
        marks = [
            (codes[rater] == place).astype(np.float64) for rater in range(len(codes)) for place in range(categories)
        ]
        rows = np.column_stack([rows, *marks])
    rows = sum_by_cluster(rows, dense)
    pseudo: Floats | None = None
    if kind != "conger" and categories <= 20:
        pairs = np.eye(categories)[:, None, :] + np.eye(categories)[None, :, :]
        pseudo = unit_rows(pairs.reshape(-1, categories), weights) * (len(counts) / max(1, len(rows)))
    statistic = linear(
        rows, lambda sums: chance_corrected(sums, kind, weights, categories), pseudo, 1.0 / categories**2
    )
    seen = np.unique(codes[codes != MISSING])
    because = (
        "only one class observed: agreement by chance is certain"
        if len(seen) == 1
        else "no unit has two ratings, or agreement by chance is certain"
    )
    return bounded(statistic, n=int(rated.sum()), rng=rng, confidence=confidence, undefined_because=because)


def gwet_error(counts: Floats, weights: Weighting = "unweighted") -> float:
    """Gwet's large-sample standard error of AC1/AC2 for sampled units, from counts (units, K).

    For comparison with other software; bounds come from `agreement_of_many`. Source: Gwet 2008,
    doi:10.1348/000711006X126600.
    """
    categories = counts.shape[1]
    agree = 1 - disagreement_weights(categories, weights)
    rows = unit_rows(counts, weights)
    n = len(counts)
    sums = rows.sum(0, keepdims=True)
    value = float(chance_corrected(sums, "gwet", weights, categories)[0])
    shares = sums[0, 3:] / sums[0, 2]
    factor = agree.sum() / (categories * (categories - 1))
    chance = factor * float((shares * (1 - shares)).sum())
    unit_chance = factor * (rows[:, 3:] * (1 - shares)).sum(1)
    unit = n / sums[0, 1] * np.where(rows[:, 1] > 0, rows[:, 0] - chance, 0.0) / (1 - chance)
    unit = unit - 2 * (1 - value) * (unit_chance - chance) / (1 - chance)
    return float(np.sqrt(((unit - value) ** 2).sum() / (n * (n - 1))))
