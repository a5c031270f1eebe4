"""Are stated probabilities honest? Brier score with its decomposition, calibration error, reliability curve."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.proportions import share
from judge.calibration.ratings import cluster_codes, numbers
from judge.calibration.resampling import Floats
from judge.errors import StatisticsError
from judge.types.estimate import Statistic
from judge.types.record import Record

Binning: TypeAlias = Literal["equal_mass", "equal_width"]
ENOUGH_FOR_ECE = 500


class Brier(Record):
    """Mean squared error of probabilities, and its parts over groups of equal forecasts.

    score = reliability - resolution + uncertainty exactly.

    Attributes:
        reliability: Squared gap between forecast and observed share; 0 is honest.
        resolution: How far observed shares differ between forecasts; more is better.
        uncertainty: Base rate times its complement.
        skill: 1 - score / uncertainty; None where all labels are of one class.
    """

    omit_none: ClassVar[bool] = False

    score: float | None
    reliability: float | None = None
    resolution: float | None = None
    uncertainty: float | None = None
    skill: float | None = None
    n: int
    reason: str | None = None


class CalibrationError(Record):
    """Expected calibration error over bins.

    Attributes:
        l1, l2, largest: Weighted mean absolute gap, root mean square gap, largest gap.
        null_l1: Mean of `l1` if these very probabilities were perfectly honest: what chance alone gives.
        warning: Set with fewer than 500 items: the error is biased upward there.
    """

    omit_none: ClassVar[bool] = False

    l1: float | None
    l2: float | None = None
    largest: float | None = None
    null_l1: float | None = None
    bins: int
    binning: Binning
    n: int
    warning: str | None = None
    reason: str | None = None


class ReliabilityBin(Record):
    """One point of the reliability curve: mean forecast against the observed share with its interval."""

    forecast: float
    observed: Statistic


def _pairs(passed: ArrayLike, probability: ArrayLike) -> tuple[Floats, Floats, np.ndarray]:
    y, p = numbers(passed, what="passed"), numbers(probability, what="probability")
    if len(y) != len(p):
        raise StatisticsError(f"{len(y)} labels against {len(p)} probabilities.", hint="Join them first.")
    both = ~np.isnan(y) & ~np.isnan(p)
    if not np.isin(y[both], (0, 1)).all() or ((p[both] < 0) | (p[both] > 1)).any():
        raise StatisticsError("Labels must be 0 or 1 and probabilities in [0, 1].", hint="Calibrate the score first.")
    return y[both], p[both], both


def brier(passed: ArrayLike, probability: ArrayLike) -> Brier:
    """Brier score with Murphy's decomposition over equal forecasts. Null without data.

    Source: Brier 1950; Murphy 1973, doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2.
    """
    y, p, _ = _pairs(passed, probability)
    n = len(y)
    if n == 0:
        return Brier(score=None, n=0, reason="no labelled probabilities")
    values, place = np.unique(p, return_inverse=True)
    counts = np.bincount(place).astype(np.float64)
    observed = np.bincount(place, weights=y) / counts
    base = float(y.mean())
    score = float(((p - y) ** 2).mean())
    uncertainty = base * (1 - base)
    return Brier(
        score=score,
        reliability=float((counts * (values - observed) ** 2).sum()) / n,
        resolution=float((counts * (observed - base) ** 2).sum()) / n,
        uncertainty=uncertainty,
        skill=None if uncertainty == 0 else 1 - score / uncertainty,
        n=n,
    )


def bin_places(probability: Floats, bins: int, binning: Binning) -> np.ndarray:
    """Bin number of each probability; equal probabilities never part. Empty bins keep their number unused."""
    if binning == "equal_width":
        return np.minimum((probability * bins).astype(np.int64), bins - 1)
    edges = np.quantile(probability, np.linspace(0, 1, bins + 1)[1:-1])
    return np.searchsorted(edges, probability, side="right")


def _gaps(y: Floats, p: Floats, place: np.ndarray) -> tuple[Floats, Floats]:
    counts = np.bincount(place).astype(np.float64)
    some = counts > 0
    gap = np.abs(np.bincount(place, weights=p) - np.bincount(place, weights=y))[some] / counts[some]
    return gap, counts[some] / len(y)


def calibration_error(
    passed: ArrayLike,
    probability: ArrayLike,
    *,
    bins: int = 10,
    binning: Binning = "equal_mass",
    rng: np.random.Generator,
    simulations: int = 200,
) -> CalibrationError:
    """Expected calibration error, beside the value that honest probabilities would show by chance.

    When not to use: below 500 items, or to compare judges; the Brier score is the number for that.
    Source: Naeini et al. 2015; equal-mass bins as in Roelofs et al. 2022.

    Raises:
        StatisticsError: `bins` below 1, labels other than 0 and 1, probabilities outside [0, 1].
    """
    if bins < 1:
        raise StatisticsError(f"{bins} bins, at least one needed.")
    y, p, _ = _pairs(passed, probability)
    n = len(y)
    if n == 0:
        return CalibrationError(l1=None, bins=bins, binning=binning, n=0, reason="no labelled probabilities")
    place = bin_places(p, bins, binning)
    gap, weight = _gaps(y, p, place)
    null = []
    for _ in range(simulations):
        honest_gap, _ = _gaps((rng.random(n) < p).astype(np.float64), p, place)
        null.append(float((honest_gap * weight).sum()))
    return CalibrationError(
        l1=float((gap * weight).sum()),
        l2=float(np.sqrt((gap**2 * weight).sum())),
        largest=float(gap.max()),
        null_l1=float(np.mean(null)) if null else None,
        bins=bins,
        binning=binning,
        n=n,
        warning=f"{n} items: biased upward below {ENOUGH_FOR_ECE}" if n < ENOUGH_FOR_ECE else None,
    )


def reliability_curve(
    passed: ArrayLike,
    probability: ArrayLike,
    *,
    bins: int = 10,
    binning: Binning = "equal_mass",
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> tuple[ReliabilityBin, ...]:
    """Observed share of passed runs against the mean forecast, bin by bin; empty bins are left out."""
    y, p, kept = _pairs(passed, probability)
    if not len(y):
        return ()
    cluster = cluster_codes(groups, len(kept))[kept]
    place = bin_places(p, bins, binning)
    return tuple(
        ReliabilityBin(
            forecast=float(p[place == here].mean()),
            observed=share(y[place == here], groups=cluster[place == here].tolist(), rng=rng, confidence=confidence),
        )
        for here in np.unique(place)
    )
