"""Split-conformal sets: the levels that people's label lies in with stated coverage, whatever the judge is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.proportions import clopper_pearson_lower
from judge.calibration.ratings import Floats, numbers
from judge.errors import StatisticsError
from judge.types.record import Record


class ConformalSets(Record):
    """Sets of the form: every level within `reach` of the judge's score.

    Attributes:
        reach: On the scale of the score; None where labels are too few for a guarantee (every level is in the set).
        coverage: Stated coverage, marginal over runs of the same population; not within a class or slice.
        n: Calibration labels used.
        needed: Fewest labels for this coverage.
    """

    omit_none: ClassVar[bool] = False

    reach: float | None
    coverage: float
    n: int
    needed: int
    reason: str | None = None

    def levels(self, score: float, scale: Sequence[float]) -> tuple[float, ...]:
        """The levels of `scale` in the set of this score; the nearest one if none is within reach."""
        if self.reach is None:
            return tuple(scale)
        near = tuple(level for level in scale if abs(level - score) <= self.reach + 1e-9)
        return near or (min(scale, key=lambda level: abs(level - score)),)


class ConformalReport(Record):
    """Sets held against test labels.

    Attributes:
        covered: Share of test labels inside their set; None without a label.
        lower: One-sided 95 % Clopper-Pearson bound of it.
        size: Mean number of levels in a set; None without a label.
    """

    omit_none: ClassVar[bool] = False

    covered: float | None
    lower: float | None
    size: float | None
    n: int


def _pairs(human: ArrayLike, judge: ArrayLike) -> tuple[Floats, Floats]:
    x, y = numbers(human, what="human"), numbers(judge, what="judge")
    if len(x) != len(y) or np.isnan(np.concatenate([x, y])).any():
        raise StatisticsError("Labels and scores must be complete and of one length.")
    return x, y


def fit_conformal(human: ArrayLike, judge: ArrayLike, *, coverage: float = 0.9) -> ConformalSets:
    """The reach with which sets cover people's labels: the ⌈(n + 1) · coverage⌉-th smallest |human - judge|.

    Args:
        human, judge: Dev labels and scores on one scale, shape (n,), exchangeable with the runs to come.

    Raises:
        StatisticsError: Lengths differ, a value is missing, or coverage outside (0, 1).

    When not to use: within a class or slice (fit one for each), or where tasks repeat (take one run per task).
    Source: Vovk et al. 2005; Lei et al. 2018, doi:10.1080/01621459.2017.1307116.
    """
    if not 0 < coverage < 1:
        raise StatisticsError(f"coverage is {coverage!r}, needed (0, 1).")
    x, y = _pairs(human, judge)
    n = len(x)
    needed = int(np.ceil(coverage / (1 - coverage) - 1e-9))
    place = int(np.ceil((n + 1) * coverage - 1e-9))
    if place > n:
        return ConformalSets(
            reach=None, coverage=coverage, n=n, needed=needed, reason=f"{n} labels, {needed} needed for {coverage:.0%}"
        )
    return ConformalSets(reach=float(np.sort(np.abs(x - y))[place - 1]), coverage=coverage, n=n, needed=needed)


def conformal_on_test(
    sets: ConformalSets, human: ArrayLike, judge: ArrayLike, *, scale: Sequence[float]
) -> ConformalReport:
    """How often fitted sets hold labels that they have not seen, and how large they are."""
    x, y = _pairs(human, judge)
    if not len(x):
        return ConformalReport(covered=None, lower=None, size=None, n=0)
    chosen = [sets.levels(float(score), scale) for score in y]
    inside = sum(any(abs(level - label) <= 1e-9 for level in levels) for levels, label in zip(chosen, x, strict=True))
    return ConformalReport(
        covered=inside / len(x),
        lower=clopper_pearson_lower(inside, len(x)),
        size=float(np.mean([len(levels) for levels in chosen])),
        n=len(x),
    )
