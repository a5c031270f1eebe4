"""Kappa and its kin for two raters, with bounds that do not fail open."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.inclusion import relative, unevenness
from judge.calibration.ratings import Codes, LabelValue, paired_codes
from judge.calibration.resampling import DRAWS, Floats, Weighted, bounded, linear, sum_by_cluster
from judge.calibration.table import Coefficient, Weighting, coefficient
from judge.types.estimate import Statistic

ONE_CLASS = "only one class observed: agreement by chance is certain, so the coefficient is 0/0"


def cell_rows(a: Codes, b: Codes, height: int, width: int) -> Floats:
    """One row an item with a 1 in the cell (a, b) of the flattened table; shape (n, height · width)."""
    rows = np.zeros((len(a), height * width))
    rows[np.arange(len(a)), a * width + b] = 1.0
    return rows


def pair_statistic(
    a: Codes,
    b: Codes,
    cluster: Codes,
    height: int,
    width: int,
    statistic: Callable[[Floats], Floats],
    weights: Floats | None = None,
) -> Weighted:
    """Any statistic of a table as a function of weights on clusters, with a prior of total mass 1 over its cells.

    Args:
        a, b: Row and column of each item, shape (n,).
        statistic: Tables (b, height, width) to values (b,).
        weights: Of each item, mean 1; None for equal ones.
    """
    cells = height * width
    each = cell_rows(a, b, height, width)
    rows = sum_by_cluster(each if weights is None else each * weights[:, None], cluster)
    size = len(a) / max(1, len(rows))
    return linear(
        rows,
        lambda sums: statistic(sums.reshape(-1, height, width)),
        np.eye(cells) * size,
        1.0 / cells,
        uneven=None if weights is None else unevenness(weights, cluster),
    )


def agreement_coefficient(
    human: Sequence[LabelValue],
    judge: Sequence[LabelValue],
    *,
    domain: Sequence[LabelValue],
    groups: Sequence[Hashable] | None = None,
    kind: Coefficient = "cohen",
    weights: Weighting = "unweighted",
    item_weights: ArrayLike | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
    draws: int = DRAWS,
) -> Statistic:
    """Kappa, pi, AC1/AC2 or the uniform coefficient of two raters, clustered by `groups`.

    Args:
        human, judge: Labels of the same items in the same order; a missing one drops the pair.
        domain: The full declared scale, worst to best. Not the labels that happened to be seen: weighted kappa
            depends on it.
        groups: Task of each item, or None for independent items.
        item_weights: Inverse chance of each item to be drawn; see `judge.calibration.inclusion`. `weights` are of the
            distances on the scale.

    Returns:
        In (-inf, 1]. Null with a reason where both raters used one and the same class.

    Raises:
        LabelError: A label lies outside the domain.

    When not to use: kappa falls with skewed classes although the raters agree (look at AC1 beside it), and rises
    with the spread of the labels, so values from two label sets are not comparable. AC1 can be high for a judge
    that always passes: it never replaces the true negative rate.

    Source: `judge.calibration.table`; bounds `judge.calibration.resampling`.
    """
    a, b, cluster = paired_codes(human, judge, groups, domain)
    both = np.asarray([x is not None and y is not None for x, y in zip(human, judge, strict=True)], dtype=bool)
    statistic = pair_statistic(
        a,
        b,
        cluster,
        len(domain),
        len(domain),
        lambda tables: coefficient(tables, kind, weights),
        relative(item_weights, both),
    )
    return bounded(statistic, n=len(a), rng=rng, confidence=confidence, draws=draws, undefined_because=_why(a, b))


def cohen_kappa(
    human: Sequence[LabelValue],
    judge: Sequence[LabelValue],
    *,
    domain: Sequence[LabelValue],
    groups: Sequence[Hashable] | None = None,
    weights: Weighting = "unweighted",
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Statistic:
    """Cohen's kappa; see `agreement_coefficient`."""
    return agreement_coefficient(
        human, judge, domain=domain, groups=groups, weights=weights, rng=rng, confidence=confidence
    )


def _why(a: Codes, b: Codes) -> str:
    if not len(a):
        return "no item was rated by both"
    return ONE_CLASS if len(np.unique(np.concatenate([a, b]))) == 1 else "agreement by chance is certain"
