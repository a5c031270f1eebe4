"""Prediction-powered mean: labels where there are some, the judge everywhere, never trusting the judge's level."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.ratings import cluster_codes, numbers
from judge.calibration.resampling import Floats, sum_by_cluster
from judge.errors import StatisticsError
from judge.types.estimate import Statistic, undefined
from judge.types.record import Record

Reference: TypeAlias = Literal["t", "normal"]


class PredictionPowered(Record):
    """A prediction-powered mean beside the mean of the labels.

    Attributes:
        power: Tuning weight in [0, 1] of the judge: 0 leaves the labels alone.
        wider_than_labels: Whether the interval is wider than that of the labels alone; None where either is missing.
        recommended: The narrower of the two.
    """

    omit_none: ClassVar[bool] = False

    estimate: Statistic
    labels_only: Statistic
    power: float | None
    wider_than_labels: bool | None
    recommended: Literal["prediction_powered", "labels_only"] | None


def _variance_of_mean(values: Floats, groups: Sequence[Hashable] | None) -> tuple[float, int]:
    """Variance of the mean (over n, as the reference implementation) and degrees of freedom."""
    n = len(values)
    cluster = cluster_codes(groups, n)
    count = int(cluster.max()) + 1
    if count == n:
        return float(values.var()) / n, n - 1
    left = sum_by_cluster((values - values.mean())[:, None], cluster)[:, 0]
    return count / max(1, count - 1) * float((left**2).sum()) / n**2, count - 1


def prediction_powered_mean(
    labels: ArrayLike,
    judged: ArrayLike,
    judged_unlabelled: ArrayLike,
    *,
    power: float | None = None,
    groups: Sequence[Hashable] | None = None,
    groups_unlabelled: Sequence[Hashable] | None = None,
    reference: Reference = "t",
    confidence: float = 0.95,
) -> PredictionPowered:
    """PPI++ mean λ·mean(f_unlabelled) + mean(y - λ·f_labelled), clustered by the groups.

    Args:
        labels, judged: Human and judge's score of the labelled runs, shape (n,). They must be a random sample of the
            same population as the rest: otherwise the estimate is biased without a sign of it.
        judged_unlabelled: The judge's score of the rest, shape (N,).
        power: λ; None for the value that minimises the variance, clipped to [0, 1]; 1 is plain PPI.
        reference: Quantiles of t (fewer labels, wider) or of the normal distribution as published.

    Returns:
        Null with fewer than two labelled or no unlabelled run.

    When not to use: for shares near 0 or 1 (coverage .88-.91 in simulation; post-stratify there), for labels not drawn
    at random, with a judge whose correlation with people is below 1/√(n - 2).
    Source: Angelopoulos, Duchi & Zrnic 2023, arXiv 2311.01453.

    Raises:
        StatisticsError: Lengths differ, a score is missing, or `power` outside [0, 1].
    """
    from scipy.stats import norm, t

    y, f, u = numbers(labels, what="labels"), numbers(judged, what="judged"), numbers(judged_unlabelled, what="rest")
    if len(y) != len(f):
        raise StatisticsError(f"{len(y)} labels against {len(f)} scores.")
    if np.isnan(np.concatenate([y, f, u])).any():
        raise StatisticsError("A score is missing.", hint="Leave such runs out, and count them.")
    if power is not None and not 0 <= power <= 1:
        raise StatisticsError(f"power is {power!r}, needed [0, 1].")
    n, rest = len(y), len(u)
    if n < 2 or rest < 1:
        nothing = undefined(f"{n} labelled and {rest} unlabelled runs", n=n + rest, confidence=confidence)
        return PredictionPowered(
            estimate=nothing, labels_only=nothing, power=None, wider_than_labels=None, recommended=None
        )

    def statistic(value: float, error: float, free: int, method: str, size: int) -> Statistic:
        if free < 1 or error <= 1e-12:
            return Statistic(
                value=value,
                confidence=confidence,
                n=size,
                clusters=free + 1,
                method="none",
                reason="no variation is seen, so no interval can be given",
            )
        two, one = (
            float(t.ppf(level, free)) if reference == "t" else float(norm.ppf(level))
            for level in ((1 + confidence) / 2, confidence)
        )
        return Statistic(
            value=value,
            low=value - two * error,
            high=value + two * error,
            lower=value - one * error,
            upper=value + one * error,
            confidence=confidence,
            n=size,
            clusters=free + 1,
            method=method,
        )

    own_variance, free = _variance_of_mean(y, groups)
    only = statistic(float(y.mean()), float(np.sqrt(own_variance)), free, "mean", n)
    if power is None:
        covariance = float(((y - y.mean()) * (f - f.mean())).mean())
        spread = float(np.concatenate([f, u]).var(ddof=1))
        power = 0.0 if spread <= 1e-15 else min(1.0, max(0.0, covariance / ((1 + n / rest) * spread)))
    value = power * float(u.mean()) + float((y - power * f).mean())
    rectifier, _ = _variance_of_mean(y - power * f, groups)
    imputed, _ = _variance_of_mean(power * u, groups_unlabelled)
    estimate = statistic(value, float(np.sqrt(rectifier + imputed)), free, "ppi++", n + rest)
    wider: bool | None = None
    if None not in (only.low, only.high, estimate.low, estimate.high):
        wider = (estimate.high or 0.0) - (estimate.low or 0.0) > (only.high or 0.0) - (only.low or 0.0) + 1e-12
    return PredictionPowered(
        estimate=estimate,
        labels_only=only,
        power=power,
        wider_than_labels=wider,
        recommended=None if wider is None else "labels_only" if wider else "prediction_powered",
    )
