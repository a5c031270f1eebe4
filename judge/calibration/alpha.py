"""Krippendorff's alpha: any number of raters, missing ratings, four levels of measurement.

Each unit with m >= 2 ratings adds its pairs to the coincidence matrix o with weight 1 / (m - 1);
alpha = 1 - D_o / D_e with D_o = Σ o_ck δ_ck / n and D_e = Σ n_c n_k δ_ck / (n (n - 1)).

| level | δ between c and k |
|---|---|
| nominal | 1 if they differ |
| ordinal | (m_c - m_k)², m the middle rank of the category under the margins at hand (again in every resample) |
| interval | (c - k)² |
| ratio | ((c - k) / (c + k))² |

Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability; Hayes & Krippendorff 2007,
doi:10.1080/19312450709336664.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from judge.calibration.ratings import MISSING, Codes, LabelValue, cluster_codes, encode, normalise_label
from judge.calibration.resampling import DRAWS, Floats, Weighted, bounded, linear, ratio, sum_by_cluster
from judge.errors import LabelError, StatisticsError
from judge.types.estimate import Statistic

Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
LARGEST_DOMAIN = 100
PRIOR_DOMAIN = 20


def code_matrix(ratings: Sequence[Sequence[LabelValue]], domain: Sequence[LabelValue]) -> Codes:
    """Codes of shape (raters, units), -1 where missing.

    Raises:
        StatisticsError: Rows of different length.
        LabelError: A label outside the domain.
    """
    if len({len(row) for row in ratings}) > 1:
        raise StatisticsError(
            f"Raters have {sorted({len(row) for row in ratings})} ratings.", hint="Give every rater one for each unit."
        )
    if not len(ratings):
        return np.zeros((0, 0), dtype=np.int64)
    return np.stack([encode(row, domain, what=f"ratings of rater {i + 1}") for i, row in enumerate(ratings)])


def value_counts(codes: Codes, categories: int) -> Floats:
    """How often each unit got each category: (raters, units) to (units, K)."""
    counts: Floats = np.stack([(codes == place).sum(0) for place in range(categories)], axis=1).astype(np.float64)
    return counts


def coincidence_rows(counts: Floats) -> Floats:
    """What each unit adds to the coincidence matrix, flattened: (units, K) to (units, K²); zero for m < 2."""
    units, categories = counts.shape
    m = counts.sum(1)
    pairs = counts[:, :, None] * counts[:, None, :]
    places = np.arange(categories)
    pairs[:, places, places] -= counts
    rows: Floats = (pairs / np.maximum(m - 1, 1)[:, None, None]).reshape(units, categories**2)
    return rows


def alpha_from_coincidences(coincidences: Floats, level: Level, values: Floats | None = None) -> Floats:
    """Alpha of coincidence matrices (b, K, K); NaN where all pairable ratings are of one category.

    Args:
        values: Number of each category, shape (K,); needed for interval and ratio.
    """
    margins = coincidences.sum(-1)
    n = margins.sum(-1)
    if level == "ordinal":
        middle = margins.cumsum(-1) - margins / 2
        middle = middle - ratio((margins * middle).sum(-1), n)[:, None]  # centred: no cancellation below
        square = (margins * middle**2).sum(-1)
        cross = (np.matmul(coincidences, middle[:, :, None])[:, :, 0] * middle).sum(-1)
        ordinal: Floats = 1 - ratio(square - cross, square * n) * (n - 1)
        return ordinal
    size = coincidences.shape[-1]
    if level == "nominal":
        delta = 1 - np.eye(size)
    else:
        if values is None:
            raise StatisticsError(f"Level {level!r} needs the number of each category.")
        apart = values[:, None] - values[None, :]
        if level == "ratio":
            both = values[:, None] + values[None, :]
            apart = np.divide(apart, both, out=np.zeros_like(apart), where=both != 0)
        delta = apart**2
    observed = coincidences.reshape(-1, size * size) @ delta.ravel()
    expected = ((margins @ delta) * margins).sum(-1)
    alpha: Floats = 1 - ratio(observed, expected) * (n - 1)
    return alpha


def alpha_statistic(codes: Codes, cluster: Codes, categories: int, level: Level, values: Floats | None) -> Weighted:
    """Alpha as a function of weights on clusters of units, with a prior of mass 1 on pseudo-units rated twice."""
    rows = sum_by_cluster(coincidence_rows(value_counts(codes, categories)), cluster)
    pseudo = None
    if categories <= PRIOR_DOMAIN:
        pairs = np.eye(categories)[:, None, :] + np.eye(categories)[None, :, :]
        pseudo = coincidence_rows(pairs.reshape(-1, categories)) * (rows.sum() / 2 / max(1, len(rows)))
    return linear(
        rows,
        lambda sums: alpha_from_coincidences(sums.reshape(-1, categories, categories), level, values),
        pseudo,
        1.0 / categories**2,
    )


def krippendorff_alpha(
    ratings: Sequence[Sequence[LabelValue]],
    *,
    level: Level,
    domain: Sequence[LabelValue],
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
    draws: int = DRAWS,
) -> Statistic:
    """Krippendorff's alpha with fail-closed bounds, clustered by `groups`.

    Args:
        ratings: One row a rater, one entry a unit; None or NaN where missing. Units with fewer than two ratings
            cannot be paired: they are left out and counted in `detail`.
        domain: The declared scale, worst to best; numbers for interval and ratio.
        groups: Task of each unit.

    Returns:
        In (-inf, 1]; null where no unit can be paired or all pairable ratings are equal.

    Raises:
        LabelError: A label outside the domain; words where numbers are needed; a negative number at level ratio.
        StatisticsError: More than 100 labels: bin them, or use an ICC.

    When not to use: on humans and a judge pooled, it mixes agreement among people with agreement with the judge.
    """
    categories = len(domain)
    if categories > LARGEST_DOMAIN:
        raise StatisticsError(
            f"Alpha over {categories} labels, at most {LARGEST_DOMAIN}.", hint="Bin the scores, or use an ICC."
        )
    values: Floats | None = None
    if level in ("interval", "ratio"):
        keys = [normalise_label(label) for label in domain]
        if any(not isinstance(key, float) for key in keys):
            raise LabelError(f"Level {level!r} needs numbers, the domain is {list(domain)!r}.")
        values = np.asarray(keys, dtype=np.float64)
        if level == "ratio" and (values < 0).any():
            raise LabelError(f"Level 'ratio' needs a scale from zero up, the domain is {list(domain)!r}.")
    codes = code_matrix(ratings, domain)
    paired = (codes != MISSING).sum(0) >= 2
    cluster = cluster_codes(groups, codes.shape[1])[paired]
    dense = np.unique(cluster, return_inverse=True)[1].astype(np.int64)
    kept = codes[:, paired]
    seen = np.unique(kept[kept != MISSING])
    because = (
        "no unit has two ratings"
        if not kept.shape[1]
        else "only one class observed: expected disagreement is 0"
        if len(seen) == 1
        else "expected disagreement is 0"
    )
    return bounded(
        alpha_statistic(kept, dense, categories, level, values),
        n=int(paired.sum()),
        rng=rng,
        confidence=confidence,
        draws=draws,
        undefined_because=because,
        detail={"units_without_a_pair": int((~paired).sum())},
    )
