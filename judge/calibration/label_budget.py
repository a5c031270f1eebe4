"""How many labels? Exact for shares, Cantor's formula for kappa, both times the design effect."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from judge.calibration.proportions import clopper_pearson_lower, wilson
from judge.errors import StatisticsError
from judge.types.record import Record

MOST_LABELS = 20_000


class LabelBudget(Record):
    """Labels for one claim.

    Attributes:
        needed: Labels of this class, design effect included; None where no number up to 20,000 does it.
        more: `needed` minus what is there, at least 0; None with `needed`.
        reason: Why `needed` is None.
    """

    omit_none: ClassVar[bool] = False

    needed: int | None
    more: int | None
    have: int
    design_effect: float
    reason: str | None = None


def passing_count(n: int, bar: float, confidence: float = 0.95) -> int | None:
    """Fewest successes of `n` whose Clopper-Pearson lower bound clears `bar`; None where even n of n does not."""
    from scipy.stats import binom

    # lower bound >= bar exactly when P(X >= k | bar) <= 1 - confidence
    k = int(binom.isf(1 - confidence, n, bar)) + 1
    return k if k <= n else None


def power_of_share(n: int, bar: float, truth: float, confidence: float = 0.95) -> float:
    """Chance that `n` independent labels show the share above `bar` when it is `truth`."""
    from scipy.stats import binom

    k = passing_count(n, bar, confidence)
    return 0.0 if k is None else float(binom.sf(k - 1, n, truth))


def labels_for_share(
    bar: float, truth: float, *, confidence: float = 0.95, power: float = 0.8, design_effect: float = 1.0, have: int = 0
) -> LabelBudget:
    """Labels of one class for the lower bound of a share to clear `bar` with chance `power` if the share is `truth`.

    The power of an exact test goes up and down with n; the answer is the smallest n that reaches it.

    Raises:
        StatisticsError: A rate or level outside (0, 1), or a design effect below 1.
    """
    _levels(bar, truth, confidence, power)
    if design_effect < 1:
        raise StatisticsError(f"The design effect is {design_effect!r}, at least 1 needed.")
    if truth <= bar:
        return LabelBudget(
            needed=None,
            more=None,
            have=have,
            design_effect=design_effect,
            reason=f"a share of {truth:.3g} does not exceed {bar:.3g}: no number of labels shows that it does",
        )
    from scipy.stats import binom

    n = np.arange(1, MOST_LABELS + 1)
    k = binom.isf(1 - confidence, n, bar) + 1
    reached = np.flatnonzero(np.where(k <= n, binom.sf(k - 1, n, truth), 0.0) >= power)
    return _budget(int(n[reached[0]]) if len(reached) else None, have, design_effect)


def labels_for_perfect(bar: float, *, confidence: float = 0.95) -> int:
    """Labels needed if not one is wrong: the smallest n with bar^n <= 1 - confidence (59 for .95 at 95 %)."""
    _levels(bar, confidence)
    return int(np.ceil(np.log(1 - confidence) / np.log(bar) - 1e-12))


def labels_for_width(
    truth: float, half_width: float, *, confidence: float = 0.95, design_effect: float = 1.0, have: int = 0
) -> LabelBudget:
    """Labels for a Wilson interval of at most ± `half_width` at a share of `truth`.

    Raises:
        StatisticsError: `half_width` outside (0, 1).
    """
    _levels(half_width, confidence)
    low, high = 1, 2
    while _half(truth, high, confidence) > half_width and high < MOST_LABELS * 8:
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _half(truth, middle, confidence) <= half_width else (middle + 1, high)
    return _budget(low, have, design_effect)


def _half(truth: float, n: int, confidence: float) -> float:
    low, high = wilson(truth * n, n, confidence)
    return (high - low) / 2


def labels_for_kappa(
    null: float,
    truth: float,
    *,
    rate: float = 0.5,
    confidence: float = 0.95,
    power: float = 0.8,
    sides: Literal[1, 2] = 1,
    design_effect: float = 1.0,
    have: int = 0,
) -> LabelBudget:
    """Labels to show kappa above `null` if it is `truth`, both raters passing a share `rate`.

    Source: Cantor 1996, doi:10.1037/1082-989X.1.2.150. A large-sample formula: our bound is stricter on few labels.

    Raises:
        StatisticsError: `null` equals `truth`, or a level outside (0, 1).
    """
    from scipy.stats import norm

    _levels(rate, confidence, power)
    if null == truth:
        raise StatisticsError("The two kappas are equal: no number of labels tells them apart.")
    q_null, q_truth = _cantor_variance(null, rate), _cantor_variance(truth, rate)
    z = float(norm.ppf(1 - (1 - confidence) / sides))
    size = (z * np.sqrt(q_null) + float(norm.ppf(power)) * np.sqrt(q_truth)) ** 2 / (truth - null) ** 2
    return _budget(int(np.ceil(size)), have, design_effect)


def _cantor_variance(kappa: float, rate: float) -> float:
    """Variance of kappa times n for two raters who both pass a share `rate` (Fleiss, Cohen & Everitt 1969)."""
    margins = np.asarray([1 - rate, rate])
    chance = float((margins**2).sum())
    agree = kappa * (1 - chance) + chance
    off = (1 - agree) / 2
    cells = np.asarray([[margins[0] - off, off], [off, margins[1] - off]])
    diagonal = float((np.diag(cells) * ((1 - chance) - 2 * margins * (1 - agree)) ** 2).sum())
    outer = (1 - agree) ** 2 * 2 * off * float((margins[0] + margins[1]) ** 2)
    return float((diagonal + outer - (agree * chance - 2 * chance + agree) ** 2) / (1 - chance) ** 4)


def more_labels_for_share(
    successes: float, n: int, bar: float, *, confidence: float = 0.95, power: float = 0.8, design_effect: float = 1.0
) -> LabelBudget:
    """How many more labels of this class until the bound clears `bar`, if the share stays as observed.

    Args:
        successes, n: So far; a weighted share times n is a fraction of labels. With no label, or a share at or below
            the bar, there is no such number. A perfect record is taken at (n + ½) / (n + 1): it will not last;
            where that is not above the bar, the record is too short to look ahead from.

    Raises:
        StatisticsError: Counts that are not a share.
    """
    if n <= 0:
        return LabelBudget(needed=None, more=None, have=0, design_effect=design_effect, reason="no label of this class")
    if not 0 <= successes <= n:
        raise StatisticsError(f"{successes} of {n} is not a share.")
    effective = n / design_effect
    if clopper_pearson_lower(successes / design_effect, effective, confidence) >= bar:
        return LabelBudget(needed=n, more=0, have=n, design_effect=design_effect)
    observed = (n + 0.5) / (n + 1) if successes == n else successes / n
    if observed <= bar < successes / n:
        short = f"too early to say how many more, from a perfect {n} of {n}"
        return LabelBudget(needed=None, more=None, have=n, design_effect=design_effect, reason=short)
    return labels_for_share(
        bar, max(observed, 1e-9), confidence=confidence, power=power, design_effect=design_effect, have=n
    )


def _budget(independent: int | None, have: int, design_effect: float) -> LabelBudget:
    if independent is None:
        return LabelBudget(
            needed=None,
            more=None,
            have=have,
            design_effect=design_effect,
            reason=f"more than {MOST_LABELS:,} independent labels: too close to the bar to be shown",
        )
    needed = int(np.ceil(independent * design_effect - 1e-9))
    return LabelBudget(needed=needed, more=max(0, needed - have), have=have, design_effect=design_effect)


def _levels(*levels: float) -> None:
    if not all(0 < level < 1 for level in levels):
        raise StatisticsError(f"Rates and levels {levels!r} must lie in (0, 1).")
