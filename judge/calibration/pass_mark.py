"""Where to cut a score, and which runs to send to a person: chosen on dev labels by the user's costs, held on test."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from judge.calibration.proportions import share
from judge.calibration.ratings import cluster_codes, numbers
from judge.calibration.resampling import Floats
from judge.errors import StatisticsError, TooFewLabels
from judge.types.estimate import Statistic
from judge.types.record import Record


class Costs(Record):
    """What each outcome costs, in any unit. A right automatic decision costs nothing.

    Attributes:
        false_pass: The judge passes a run that people fail.
        false_fail: The judge fails a run that people pass.
        review: A person looks at the run.
    """

    false_pass: float = Field(ge=0)
    false_fail: float = Field(ge=0)
    review: float = Field(ge=0)


class ReviewBand(Record):
    """Scores below `fail_below` fail, from `pass_from` on pass, between go to a person.

    Attributes:
        fail_below, pass_from: None where no score is failed, or passed, automatically.
        cost: Mean cost of a run on the dev labels that chose the band: optimistic.
    """

    omit_none: ClassVar[bool] = False

    fail_below: float | None
    pass_from: float | None
    costs: Costs
    cost: float
    n: int

    def decide(self, score: float) -> str:
        """ "pass", "fail" or "review"."""
        if self.pass_from is not None and score >= self.pass_from:
            return "pass"
        if self.fail_below is not None and score < self.fail_below:
            return "fail"
        return "review"


class BandReport(Record):
    """A band held against test labels.

    Attributes:
        coverage: Share of runs decided without a person.
        agreement: Agreement with people among those; null where there is none.
        passed_right, failed_right: The same among runs passed, and failed, automatically.
        cost: Mean cost of a run; None without a label.
    """

    omit_none: ClassVar[bool] = False

    coverage: Statistic
    agreement: Statistic
    passed_right: Statistic
    failed_right: Statistic
    cost: float | None


def _labelled(scores: ArrayLike, passed: ArrayLike) -> tuple[Floats, Floats]:
    s, y = numbers(scores, what="scores"), numbers(passed, what="passed")
    if len(s) != len(y) or np.isnan(s).any() or not np.isin(y, (0, 1)).all():
        raise StatisticsError("Scores and labels must be complete, of one length, and labels 0 or 1.")
    return s, y


def choose_band(scores: ArrayLike, passed: ArrayLike, *, costs: Costs) -> ReviewBand:
    """The cheapest band on dev labels; ties go to more review. With review dearer than any error it is one pass mark.

    Args:
        scores: Higher is better, shape (n,).
        passed: 1 or 0, shape (n,).

    Raises:
        TooFewLabels: One class is absent.
    """
    s, y = _labelled(scores, passed)
    if len(np.unique(y)) < 2:
        raise TooFewLabels("Dev labels of both classes are needed to choose a pass mark.")
    marks = np.unique(s)
    place = np.searchsorted(marks, s)
    good = np.bincount(place, weights=y, minlength=len(marks))
    bad = np.bincount(place, weights=1 - y, minlength=len(marks))
    # failing the first i levels costs fails[i], passing from level j on costs passes[j], review costs the middle
    fails = np.concatenate([[0.0], np.cumsum(good)]) * costs.false_fail
    passes = np.concatenate([np.cumsum(bad[::-1])[::-1], [0.0]]) * costs.false_pass
    below = np.concatenate([[0.0], np.cumsum(good + bad)])
    total = fails[:, None] + passes[None, :] + costs.review * (below[None, :] - below[:, None])
    count = len(marks) + 1
    allowed = np.arange(count)[:, None] <= np.arange(count)[None, :]
    total = np.where(allowed, total, np.inf)
    cheapest = total.min()
    choices = np.argwhere(total <= cheapest + 1e-9 * (1 + cheapest))
    low, high = max(choices.tolist(), key=lambda pair: (below[pair[1]] - below[pair[0]], pair[1]))
    return ReviewBand(
        fail_below=None
        if low == 0
        else float(marks[low])
        if low < len(marks)
        else float(np.nextafter(marks[-1], np.inf)),
        pass_from=None if high == len(marks) else float(marks[high]),
        costs=costs,
        cost=float(cheapest) / len(y),
        n=len(y),
    )


def band_on_test(
    band: ReviewBand,
    scores: ArrayLike,
    passed: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> BandReport:
    """Coverage, agreement among what was automated, and cost on labels that did not choose the band."""
    s, y = _labelled(scores, passed)
    cluster = cluster_codes(groups, len(s))
    decisions = np.asarray([band.decide(float(score)) for score in s], dtype=object)
    said_pass, said_fail = decisions == "pass", decisions == "fail"
    automatic = said_pass | said_fail
    right = np.where(said_pass, y, 1 - y)

    def rate(values: Floats, where: np.ndarray) -> Statistic:
        return share(values[where], groups=cluster[where].tolist(), rng=rng, confidence=confidence)

    cost = None
    if len(s):
        wrong_pass, wrong_fail = said_pass & (y == 0), said_fail & (y == 1)
        spent = (
            band.costs.false_pass * wrong_pass.sum()
            + band.costs.false_fail * wrong_fail.sum()
            + band.costs.review * (~automatic).sum()
        )
        cost = float(spent) / len(s)
    return BandReport(
        coverage=rate(automatic.astype(np.float64), np.ones(len(s), dtype=bool)),
        agreement=rate(right, automatic),
        passed_right=rate(right, said_pass),
        failed_right=rate(right, said_fail),
        cost=cost,
    )
