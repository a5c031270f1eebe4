"""Shares: Wilson to show, Clopper–Pearson to gate, both honest about clusters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.inclusion import effective, relative, unevenness
from judge.calibration.ratings import Codes, cluster_codes, numbers
from judge.calibration.resampling import (
    DRAWS,
    WEIGHTED,
    Floats,
    linear,
    posterior_values,
    ratio,
    sum_by_cluster,
)
from judge.errors import StatisticsError
from judge.types.estimate import Statistic, undefined


def _check(successes: float, n: float) -> None:
    if n <= 0 or not 0 <= successes <= n:
        raise StatisticsError(f"{successes!r} of {n!r} is not a share.", hint="Give 0 <= successes <= n and n > 0.")


def wilson(successes: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share, two-sided, in [0, 1]. Counts may be fractional (effective sizes).

    Raises:
        StatisticsError: `n` is 0 or `successes` outside [0, n].

    Source: Wilson 1927, doi:10.1080/01621459.1927.10502953.
    """
    from scipy.stats import norm

    _check(successes, n)
    z = float(norm.ppf((1 + confidence) / 2))
    share = successes / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * float(np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return low, high


def clopper_pearson_lower(successes: float, n: float, confidence: float = 0.95) -> float:
    """Exact one-sided lower bound of a share: the p for which `successes` or more has chance 1 - confidence.

    Raises:
        StatisticsError: As `wilson`.

    Source: Clopper & Pearson 1934, doi:10.1093/biomet/26.4.404.
    """
    from scipy.stats import beta

    _check(successes, n)
    return 0.0 if successes == 0 else float(beta.ppf(1 - confidence, successes, n - successes + 1))


def clopper_pearson_upper(successes: float, n: float, confidence: float = 0.95) -> float:
    """Exact one-sided upper bound of a share; 0 of 59 gives .0495 at .95. See `clopper_pearson_lower`."""
    from scipy.stats import beta

    _check(successes, n)
    return 1.0 if successes == n else float(beta.ppf(confidence, successes + 1, n - successes))


def clopper_pearson(successes: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Exact two-sided interval: two one-sided bounds at (1 + confidence) / 2."""
    level = (1 + confidence) / 2
    return clopper_pearson_lower(successes, n, level), clopper_pearson_upper(successes, n, level)


def design_effect(values: Floats, cluster: Codes, weights: Floats | None = None) -> float | None:
    """How many times larger the variance of the mean of `values` is for clusters than for independent items.

    At least 1, and at least what unequal `weights` (mean 1) cost; None with fewer than two clusters or without any
    variation, where it cannot be seen.
    """
    n = len(values)
    each = np.ones(n) if weights is None else weights
    sums = sum_by_cluster(np.stack([values * each, each], axis=1), cluster)
    clusters = len(sums)
    if clusters < 2:
        return None
    mean = float((values * each).sum() / n)
    independent = float((each * (values - mean) ** 2).sum()) / max(1, n - 1) / n
    if independent <= 1e-15:
        return None
    left = sums[:, 0] - mean * sums[:, 1]
    clustered = clusters / (clusters - 1) * float((left**2).sum()) / n**2
    return max(1.0, clustered / independent, n / effective(each))


def share(
    values: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
    draws: int = DRAWS,
) -> Statistic:
    """Mean of values in [0, 1] (a flag for each item, or a share), clustered by `groups`.

    Interval: Wilson. Bounds: Clopper–Pearson, one-sided. Over clusters both use the effective size
    n / deff · (z / t)² with G - 1 degrees of freedom, and the worse of that and the cluster posterior (Beta(1/2, 1/2)
    prior, gamma weights on clusters) is taken: 100 of 100 in ten tasks is evidence of ten tasks.

    Args:
        values: Shape (n,), in [0, 1]; NaN is left out.
        groups: Task of each item.
        weights: Inverse chance of each item to be drawn; see `judge.calibration.inclusion`. Where they differ, items
            count as clusters of one, and the effective size is Kish's or lower.

    Returns:
        Null where nothing is left; bounds null where all items are of one task.

    Raises:
        StatisticsError: A value lies outside [0, 1].

    Source: Korn & Graubard 1998 for the effective size; `judge.calibration.resampling` for the posterior.
    """
    from scipy.stats import norm, t

    raw = numbers(values, what="values")
    kept = ~np.isnan(raw)
    cluster = cluster_codes(groups, len(raw))[kept]
    cluster = np.unique(cluster, return_inverse=True)[1].astype(np.int64)
    flags = raw[kept]
    n = len(flags)
    if n == 0:
        return undefined("no item to take the share of", n=0, clusters=0, confidence=confidence)
    if flags.min() < 0 or flags.max() > 1:
        raise StatisticsError(f"A share of values outside [0, 1]: {flags.min()!r} to {flags.max()!r}.")
    each = relative(weights, kept)
    total = float(flags.sum()) if each is None else float((flags * each).sum())
    clusters = int(cluster.max()) + 1
    value = min(1.0, total / n)
    if clusters == n and each is None:
        low, high = wilson(total, n, confidence)
        return Statistic(
            value=value,
            low=low,
            high=high,
            lower=clopper_pearson_lower(total, n, confidence),
            upper=clopper_pearson_upper(total, n, confidence),
            confidence=confidence,
            n=n,
            clusters=clusters,
            method="wilson; bounds clopper-pearson",
        )
    if clusters < 2:
        return Statistic(
            value=value,
            confidence=confidence,
            n=n,
            clusters=clusters,
            method="none",
            reason="all runs are of one cluster (task): how clusters differ cannot be seen, so there is no interval",
        )
    deff = design_effect(flags, cluster, each)
    spread = float((t.ppf(confidence, clusters - 1) / norm.ppf(confidence)) ** 2)
    uneven = 1.0 if each is None else unevenness(each, cluster)
    size = n / ((n / clusters * uneven if deff is None else deff) * spread)
    low, high = wilson(value * size, size, confidence)
    rows = np.stack([flags, 1 - flags], axis=1)
    rows = sum_by_cluster(rows if each is None else rows * each[:, None], cluster)
    statistic = linear(rows, lambda sums: ratio(sums[:, 0], sums.sum(1)), np.eye(2) * (n / clusters), 0.5)
    drawn = posterior_values(statistic, draws=draws, spread=spread * uneven, rng=rng)
    tail = 1 - confidence
    quantiles = [float(x) for x in np.quantile(drawn, [tail / 2, 1 - tail / 2, tail, confidence])]
    return Statistic(
        value=value,
        low=min(low, quantiles[0], value),
        high=max(high, quantiles[1], value),
        lower=min(clopper_pearson_lower(value * size, size, confidence), quantiles[2]),
        upper=max(clopper_pearson_upper(value * size, size, confidence), quantiles[3]),
        confidence=confidence,
        n=n,
        clusters=clusters,
        method="wilson on the effective size; bounds worse of clopper-pearson and cluster-dirichlet"
        + ("" if each is None else WEIGHTED),
        detail={"design_effect": deff, "effective_n": size},
    )
