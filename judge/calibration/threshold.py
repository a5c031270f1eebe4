"""A confidence threshold with a guarantee: trust the verdicts above it, send the rest on."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.proportions import clopper_pearson_upper
from judge.calibration.ratings import numbers
from judge.errors import StatisticsError
from judge.types.record import Record


class GuardedThreshold(Record):
    """Attributes:
    threshold: Verdicts with this confidence or more are trusted; None means abstain on all.
    coverage: Share of the labelled runs above it.
    disagreement: Observed share of wrong verdicts above it; None with `threshold`.
    upper: Exact bound of it, at most `allowed`.
    allowed, delta: With chance 1 - delta, at most `allowed` of trusted verdicts are wrong.
    """

    omit_none: ClassVar[bool] = False

    threshold: float | None
    coverage: float
    disagreement: float | None
    upper: float | None
    allowed: float
    delta: float
    n: int
    reason: str | None = None


def guarded_threshold(
    confidence: ArrayLike, agrees: ArrayLike, *, allowed: float = 0.1, delta: float = 0.05
) -> GuardedThreshold:
    """The lowest threshold by fixed-sequence testing: from strict to lax, stop at the first that is not shown safe.

    Thresholds with too few labels above them to pass even without an error are stepped over before the sequence
    starts: that number depends on `allowed` and `delta` alone and so spends nothing.

    Args:
        confidence: Of each verdict, shape (n,).
        agrees: 1 where people agree with the verdict, else 0; shape (n,).

    Raises:
        StatisticsError: Lengths differ, a value is missing, or a level outside (0, 1).

    When not to use: on runs that are not exchangeable with those to come; with several runs of a task, take one each.
    Source: Jung, Brahman & Choi 2024, arXiv 2407.18370; fixed-sequence testing: Maurer, Hothorn & Lehmacher 1995.
    """
    c, good = numbers(confidence, what="confidence"), numbers(agrees, what="agrees")
    if len(c) != len(good) or np.isnan(c).any() or not np.isin(good, (0, 1)).all():
        raise StatisticsError("Confidences and agreement must be complete, of one length, agreement 0 or 1.")
    if not 0 < allowed < 1 or not 0 < delta < 1:
        raise StatisticsError(f"allowed {allowed!r} and delta {delta!r} must lie in (0, 1).")
    fewest = int(np.ceil(np.log(delta) / np.log(1 - allowed) - 1e-12))
    n = len(c)
    best: tuple[float, int, float, float] | None = None
    reason = f"{n} labels, {fewest} needed without an error" if n < fewest else "the strictest threshold is not safe"
    for mark in np.unique(c)[::-1]:
        above = c >= mark
        count = int(above.sum())
        if count < fewest:
            continue
        wrong = count - int(good[above].sum())
        upper = clopper_pearson_upper(wrong, count, 1 - delta)
        if upper > allowed:
            break
        best = (float(mark), count, wrong / count, upper)
    if best is None:
        return GuardedThreshold(
            threshold=None,
            coverage=0.0,
            disagreement=None,
            upper=None,
            allowed=allowed,
            delta=delta,
            n=n,
            reason=reason,
        )
    return GuardedThreshold(
        threshold=best[0], coverage=best[1] / n, disagreement=best[2], upper=best[3], allowed=allowed, delta=delta, n=n
    )
