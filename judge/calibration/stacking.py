"""Logistic stacking: a jury whose weights are learnt from labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.resampling import Floats
from judge.errors import StatisticsError, TooFewLabels

FEWEST = 100
"""Dev labels below which a stack learns noise."""
RIDGE = 1.0
ROUNDS = 100


def fit_stack(votes: ArrayLike, passed: ArrayLike, *, ridge: float = RIDGE, fewest: int = FEWEST) -> Floats:
    """Weights of a logistic regression of labels on votes, with an L2 penalty on all but the intercept.

    Args:
        votes: Shape (n, members): 1 passed, 0 failed, NaN missing (it then counts as neither).
        passed: Labels, 1 or 0, shape (n,).
        ridge: Penalty, 0 or more; 0 has no finite weights where votes separate the labels.

    Returns:
        Shape (members + 1,): intercept, then one weight a member, for votes coded 1, -1 and 0.

    Raises:
        TooFewLabels: Fewer than `fewest` labels.
        StatisticsError: One class alone.

    Source: Wolpert 1992, doi:10.1016/S0893-6080(05)80023-1; Newton steps.
    """
    design, y = _design(votes), np.asarray(passed, dtype=np.float64)
    if len(y) < fewest:
        raise TooFewLabels(
            f"Stacking: {len(y)} dev labels, need {fewest}.", hint="Label more dev runs, or take rule majority."
        )
    if y.min() == y.max():
        raise StatisticsError("Stacking: all dev labels are equal, so there is nothing to learn.")
    penalty = np.full(design.shape[1], ridge)
    penalty[0] = 0.0
    weights = np.zeros(design.shape[1])
    for _ in range(ROUNDS):
        chance = _sigmoid(design @ weights)
        slope = design.T @ (y - chance) - penalty * weights
        curve = (design * (chance * (1 - chance))[:, None]).T @ design + np.diag(penalty + 1e-9)
        step = np.linalg.solve(curve, slope)
        weights = weights + step
        if float(np.abs(step).max()) < 1e-10:
            break
    return weights


def stacked_chance(weights: Floats, votes: ArrayLike) -> Floats:
    """Chance in (0, 1) that people pass each run; votes as for `fit_stack`."""
    return _sigmoid(_design(votes) @ weights)


def _design(votes: ArrayLike) -> Floats:
    array = np.asarray(votes, dtype=np.float64)
    coded = np.where(np.isnan(array), 0.0, 2 * array - 1)
    return np.concatenate([np.ones((len(coded), 1)), coded], axis=1)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -35, 35))))
