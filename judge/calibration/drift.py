"""Drift: has the judge changed since it was certified? A frozen anchor set scored again, item by item.

Two tests, because accuracy may stay flat while verdicts churn:

* exact McNemar on right and wrong against the labels, for a change in accuracy;
* an exact binomial test of flips above the upper bound of the measured wobble, for a change in verdicts.

The false-alarm rate is stated for all looks together: each look gets alpha / looks, half for each test. That holds
under any dependence between looks, at the price of power.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.paired import McNemar, mcnemar
from judge.calibration.ratings import cluster_codes, numbers
from judge.errors import StatisticsError
from judge.types.record import Record

ENOUGH_ANCHORS = 50


class Drift(Record):
    """One look at the anchors.

    Attributes:
        accuracy: McNemar on right and wrong; null where no anchor has a label.
        flips: Anchors whose verdict changed.
        flips_allowed: Wobble's upper bound: chance of a flip with nothing changed.
        flips_p: Chance of so many flips or more from wobble alone.
        level: Each test alarms at p at most this.
        false_alarms: Bound on the chance of any alarm over all planned looks if nothing changed.
        alarm: Whether either test alarms; an alarm voids the certificate.
        warning: Set with fewer than 50 anchors.
    """

    omit_none: ClassVar[bool] = False

    accuracy: McNemar | None
    flips: int
    n: int
    flips_allowed: float
    flips_p: float
    level: float
    false_alarms: float
    look: int
    looks: int
    alarm: bool
    causes: tuple[str, ...]
    warning: str | None = None


def anchor_drift(
    before: ArrayLike,
    after: ArrayLike,
    *,
    wobble_upper: float,
    labels: ArrayLike | None = None,
    groups: Sequence[Hashable] | None = None,
    alpha: float = 0.05,
    looks: int = 1,
    look: int = 1,
) -> Drift:
    """Compare an old and a new scoring of the same anchors.

    Args:
        before, after: Binary verdicts, shape (n,). An anchor that could not be scored is not a verdict: leave it out,
            and report it, for a judge that fails on anchors has changed.
        wobble_upper: Upper bound of the flip rate of the same judge on frozen input, from repeats.
        labels: 1 or 0 where people labelled the anchor, NaN elsewhere.
        groups: Task of each anchor. Anchors of one task are not independent: one of each is taken, the first.
        alpha: False-alarm rate over all `looks`.
        look: Which look this is, from 1.

    Raises:
        StatisticsError: Lengths differ, verdicts are not 0 or 1, there is no anchor, more looks than planned, or a
            rate outside its range.
    """
    from scipy.stats import binom

    old, new = numbers(before, what="before"), numbers(after, what="after")
    if len(old) != len(new) or not len(old):
        raise StatisticsError(f"{len(old)} verdicts before and {len(new)} after, needed as many, and one at least.")
    if not np.isin(old, (0, 1)).all() or not np.isin(new, (0, 1)).all():
        raise StatisticsError("Verdicts are 1 (passed) or 0 (failed).", hint="Cut the score at the pass mark.")
    if not 0 <= wobble_upper <= 1 or not 0 < alpha < 1:
        raise StatisticsError(f"wobble_upper {wobble_upper!r} and alpha {alpha!r} are rates.")
    if not 1 <= look <= looks:
        raise StatisticsError(f"Look {look} of {looks} planned.", hint="Plan more looks, or certify again.")
    first = np.unique(cluster_codes(groups, len(old)), return_index=True)[1]
    old, new = old[first], new[first]
    n = len(old)
    flips = int((old != new).sum())
    flips_p = float(binom.sf(flips - 1, n, wobble_upper))
    accuracy = None
    if labels is not None:
        truth = numbers(labels, what="labels")
        if len(truth) != len(cluster_codes(groups, len(truth))) or len(truth) <= int(first.max()):
            raise StatisticsError(f"{len(truth)} labels for the anchors.")
        truth = truth[first]
        known = ~np.isnan(truth)
        if known.any():
            right_before, right_after = (old == truth)[known], (new == truth)[known]
            table = np.zeros((2, 2))
            np.add.at(table, (right_before.astype(int), right_after.astype(int)), 1)
            accuracy = mcnemar(table)
    level = alpha / looks / 2
    causes = []
    if accuracy is not None and accuracy.p <= level:
        causes.append("accuracy on the anchors changed")
    if flips_p <= level:
        causes.append("more verdicts changed than wobble explains")
    return Drift(
        accuracy=accuracy,
        flips=flips,
        n=n,
        flips_allowed=wobble_upper,
        flips_p=flips_p,
        level=level,
        false_alarms=alpha,
        look=look,
        looks=looks,
        alarm=bool(causes),
        causes=tuple(causes),
        warning=f"{n} anchors, {ENOUGH_ANCHORS} advised" if n < ENOUGH_ANCHORS else None,
    )
