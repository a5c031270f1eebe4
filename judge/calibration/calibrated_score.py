"""A probability for a score: how likely people are to pass a run that the judge scored so.

Fit on dev labels and report on test labels: a curve that is judged on the labels that made it is calibrated by
construction and proves nothing.
"""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.probability_scores import Brier, brier
from judge.calibration.proportions import wilson
from judge.calibration.ratings import numbers
from judge.calibration.resampling import Floats
from judge.errors import StatisticsError, TooFewLabels
from judge.types.record import Record
from judge.types.verdict import Calibrated

Curve: TypeAlias = Literal["isotonic", "platt"]
ENOUGH_FOR_ISOTONIC = 200


class ScoreCurve(Record):
    """Scores to probabilities.

    Attributes:
        knots: Isotonic: for each step its lowest and highest score, the probability, passed and all labels in it.
        slope, intercept: Platt: probability = 1 / (1 + exp(-(slope · score + intercept))).
        covariance: Platt: of (slope, intercept), row by row.
        n: Dev labels used.
    """

    omit_none: ClassVar[bool] = False

    method: Curve
    knots: tuple[tuple[float, float, float, float, float], ...] = ()
    slope: float | None = None
    intercept: float | None = None
    covariance: tuple[float, float, float, float] | None = None
    confidence: float = 0.95
    n: int

    def probability(self, score: float) -> Calibrated:
        """Probability that people pass a run with this score, with its interval (independent labels)."""
        if self.method == "isotonic":
            below = [knot for knot in self.knots if knot[0] <= score]
            knot = below[-1] if below else self.knots[0]
            if below and score > knot[1] and len(below) < len(self.knots):
                above = self.knots[len(below)]
                share = (score - knot[1]) / (above[0] - knot[1])
                left, right = self._step(knot), self._step(above)
                return Calibrated(
                    probability=left.probability + share * (right.probability - left.probability),
                    low=min(left.low, right.low),
                    high=max(left.high, right.high),
                )
            return self._step(knot)
        from scipy.special import expit
        from scipy.stats import norm

        slope, intercept = self.slope or 0.0, self.intercept or 0.0
        a, b, _, d = self.covariance or (0.0, 0.0, 0.0, 0.0)
        centre = slope * score + intercept
        reach = float(norm.ppf((1 + self.confidence) / 2)) * float(np.sqrt(max(0.0, a * score**2 + 2 * b * score + d)))
        return Calibrated(
            probability=float(expit(centre)), low=float(expit(centre - reach)), high=float(expit(centre + reach))
        )

    def _step(self, knot: tuple[float, float, float, float, float]) -> Calibrated:
        low, high = wilson(knot[3], knot[4], self.confidence)
        return Calibrated(probability=knot[2], low=min(low, knot[2]), high=max(high, knot[2]))


def isotonic(values: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """Least-squares non-decreasing fit by pooling adjacent violators; values in the order of the predictor.

    Raises:
        StatisticsError: A value is missing, or lengths differ.

    Source: Barlow et al. 1972; Zadrozny & Elkan 2002.
    """
    y = numbers(values, what="values")
    w = np.ones(len(y)) if weights is None else numbers(weights, what="weights")
    if len(w) != len(y) or np.isnan(y).any():
        raise StatisticsError("Values and weights must be complete and of one length.")
    means: list[float] = []
    mass: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(y.tolist(), w.tolist(), strict=True):
        means.append(value)
        mass.append(weight)
        sizes.append(1)
        while len(means) > 1 and means[-2] >= means[-1]:
            total = mass[-2] + mass[-1]
            means[-2] = (means[-2] * mass[-2] + means[-1] * mass[-1]) / total
            mass[-2] = total
            sizes[-2] += sizes[-1]
            del means[-1], mass[-1], sizes[-1]
    return np.repeat(np.asarray(means, dtype=np.float64), sizes)


def fit_score_curve(
    scores: ArrayLike, passed: ArrayLike, *, method: Curve | None = None, confidence: float = 0.95
) -> ScoreCurve:
    """Fit a curve on dev labels: isotonic from 200 labels on, Platt below.

    Args:
        scores: The judge's score, shape (n,).
        passed: 1 or 0, shape (n,).

    Raises:
        TooFewLabels: Fewer than two labels of either class: no curve can be fitted.
        StatisticsError: Lengths differ, a value is missing, or a label is not 0 or 1.

    Source: Platt 1999 (targets (n₊ + 1) / (n₊ + 2) and 1 / (n₋ + 2)); Niculescu-Mizil & Caruana 2005 for the 200.
    """
    s, y = numbers(scores, what="scores"), numbers(passed, what="passed")
    if len(s) != len(y) or np.isnan(s).any() or not np.isin(y, (0, 1)).all():
        raise StatisticsError("Scores and labels must be complete, of one length, and labels 0 or 1.")
    good, bad = int((y == 1).sum()), int((y == 0).sum())
    if min(good, bad) < 2:
        raise TooFewLabels(f"{good} passed and {bad} failed dev labels, two of each needed to fit a curve.")
    chosen = method or ("isotonic" if len(y) >= ENOUGH_FOR_ISOTONIC else "platt")
    if chosen == "isotonic":
        values, place = np.unique(s, return_inverse=True)
        counts = np.bincount(place).astype(np.float64)
        wins = np.bincount(place, weights=y)
        fit = isotonic(wins / counts, counts)
        starts = np.flatnonzero(np.concatenate([[True], np.diff(fit) > 0]))
        ends = np.concatenate([starts[1:], [len(fit)]])
        return ScoreCurve(
            method="isotonic",
            knots=tuple(
                (
                    float(values[start]),
                    float(values[end - 1]),
                    float(np.clip(fit[start], 0, 1)),
                    float(wins[start:end].sum()),
                    float(counts[start:end].sum()),
                )
                for start, end in zip(starts, ends, strict=True)
            ),
            confidence=confidence,
            n=len(y),
        )
    return _platt(s, y, good, bad, confidence)


def _platt(s: Floats, y: Floats, good: int, bad: int, confidence: float) -> ScoreCurve:
    from scipy.special import expit

    target = np.where(y == 1, (good + 1) / (good + 2), 1 / (bad + 2))
    centre, scale = float(s.mean()), float(s.std()) or 1.0
    x = np.column_stack([(s - centre) / scale, np.ones(len(s))])
    point = np.asarray([0.0, float(np.log((good + 1) / (bad + 1)))])
    ridge = np.diag([1e-6, 0.0]) if float(s.std()) > 0 else np.diag([1.0, 0.0])
    hessian = np.eye(2)
    for _ in range(100):
        p = expit(x @ point)
        hessian = (x * (p * (1 - p))[:, None]).T @ x + ridge
        step = np.linalg.solve(hessian, x.T @ (target - p) - ridge @ point)
        point = point + step * min(1.0, 5.0 / (float(np.abs(step).max()) + 1e-12))
        if float(np.abs(step).max()) < 1e-10:
            break
    back = np.asarray([[1 / scale, 0.0], [-centre / scale, 1.0]])
    slope, intercept = (float(v) for v in back @ point)
    covariance = back @ np.linalg.inv(hessian) @ back.T
    return ScoreCurve(
        method="platt",
        slope=slope,
        intercept=intercept,
        covariance=tuple(float(v) for v in covariance.ravel()),
        confidence=confidence,
        n=len(s),
    )


def curve_on_test(curve: ScoreCurve, scores: ArrayLike, passed: ArrayLike) -> Brier:
    """Brier score of a fitted curve on labels that it has not seen; null without any."""
    s = numbers(scores, what="scores")
    return brier(passed, [curve.probability(float(score)).probability for score in s])
