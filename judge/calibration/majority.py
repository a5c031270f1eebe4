"""When a vote is settled, and the score that a distribution of votes expects."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from judge.errors import StatisticsError
from judge.types.record import Record


def chance_majority_holds(leading: int, second: int) -> float:
    """Chance that the leading answer is the judge's more frequent one: P(p > ½), p ~ Beta(leading + 1, second + 1).

    3-0 gives .9375, 4-0 .96875: at .95 three equal votes do not settle it and four do. When not to use: to estimate
    wobble, since stopping early biases it.

    Raises:
        StatisticsError: A negative count, or `second` above `leading`.

    Source: Aggarwal et al. 2023, arXiv 2305.11860.
    """
    from scipy.stats import beta

    if not 0 <= second <= leading:
        raise StatisticsError(f"{leading} votes against {second}: give the larger first.")
    return float(beta.sf(0.5, leading + 1, second + 1))


class ScoreDistribution(Record):
    """Summary of a distribution over the levels of a scale.

    Attributes:
        mean: Expected score after scaling the legal mass to 1; None where no mass is legal.
        mode, median: Levels, with `mean`.
        illegal: Mass that fell on no level.
    """

    omit_none: ClassVar[bool] = False

    mean: float | None
    mode: float | None
    median: float | None
    illegal: float


def expected_score(levels: ArrayLike, mass: ArrayLike, *, illegal: float = 0.0) -> ScoreDistribution:
    """Expected score Σ p_i i over legal levels.

    Args:
        levels: Ascending values, shape (k,).
        mass: Probability of each, shape (k,), before scaling.
        illegal: Probability of everything else.

    Raises:
        StatisticsError: Shapes differ, negative mass, or levels out of order.

    Source: Liu et al. 2023 (G-Eval), arXiv 2303.16634.
    """
    values, weight = np.asarray(levels, dtype=np.float64), np.asarray(mass, dtype=np.float64)
    if values.ndim != 1 or values.shape != weight.shape or not len(values) or (np.diff(values) <= 0).any():
        raise StatisticsError("Levels must ascend, with one mass each.")
    if not np.isfinite(weight).all() or (weight < 0).any() or illegal < 0:
        raise StatisticsError("Mass must be finite and not negative.")
    total = float(weight.sum())
    if total <= 0:
        return ScoreDistribution(mean=None, mode=None, median=None, illegal=illegal)
    share = weight / total
    return ScoreDistribution(
        mean=float(share @ values),
        mode=float(values[int(share.argmax())]),
        median=float(values[int(np.searchsorted(share.cumsum(), 0.5 - 1e-12))]),
        illegal=illegal,
    )
