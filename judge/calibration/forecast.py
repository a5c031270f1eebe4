"""Forecast: how often will this gate go red with nothing changed, and what is the least change that it can see?"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from judge.errors import StatisticsError
from judge.types.record import Record


class GateForecast(Record):
    """A gate "at least `bar` of `n` runs pass" on a suite with a known record.

    Attributes:
        red: Chance that the next suite is red although nothing changed, uncertainty of the rate included.
        red_if_exact: The same if the true rate were the observed one.
        least_drop: Smallest fall of the pass rate that turns the gate red with chance `power`; None where even a rate
            of 0 does not.
        runs: Passing runs needed.
    """

    omit_none: ClassVar[bool] = False

    red: float
    red_if_exact: float
    least_drop: float | None
    observed: float
    bar: float
    runs: int
    n: int
    power: float
    design_effect: float


def forecast_gate(
    passed: int, total: int, *, bar: float, n: int, design_effect: float = 1.0, power: float = 0.8
) -> GateForecast:
    """Chance of a red gate and least detectable drop.

    The number of passing runs is binomial for independent runs, and beta-binomial with the variance that the design
    effect gives for runs that share tasks; the rate itself is Beta(passed + ½, failed + ½) on the effective counts.

    Args:
        passed, total: The record so far.
        bar: Share of passing runs that the gate asks for, in [0, 1].
        n: Runs of the next suite.

    Raises:
        StatisticsError: Counts or rates that cannot be, or a design effect below 1.
    """
    if not 0 <= passed <= total or total < 1 or n < 1:
        raise StatisticsError(f"{passed} of {total} runs, next suite {n}: needed counts with at least one run each.")
    if not 0 <= bar <= 1 or not 0 < power < 1 or design_effect < 1:
        raise StatisticsError(f"bar {bar!r}, power {power!r} or design effect {design_effect!r} out of range.")
    from scipy.optimize import brentq
    from scipy.special import roots_legendre
    from scipy.stats import beta

    runs = int(np.ceil(bar * n - 1e-9))

    def red(rate: float) -> float:
        return _chance_below(runs, n, rate, design_effect)

    nodes, weights = roots_legendre(200)
    rates = beta.ppf((nodes + 1) / 2, passed / design_effect + 0.5, (total - passed) / design_effect + 0.5)
    observed = passed / total
    if runs == 0:
        drop = None
    elif red(observed) >= power:
        drop = 0.0
    else:
        drop = observed - float(brentq(lambda rate: red(rate) - power, 0.0, max(observed, 1e-9)))
    return GateForecast(
        red=float(sum(w / 2 * red(float(rate)) for rate, w in zip(rates, weights, strict=True))),
        red_if_exact=red(observed),
        least_drop=drop,
        observed=observed,
        bar=bar,
        runs=runs,
        n=n,
        power=power,
        design_effect=design_effect,
    )


def _chance_below(runs: int, n: int, rate: float, design_effect: float) -> float:
    from scipy.stats import betabinom, binom

    rate = min(1.0, max(0.0, rate))
    if design_effect <= 1 + 1e-9 or n == 1 or rate in (0.0, 1.0):
        return float(binom.cdf(runs - 1, n, rate))
    alike = min(0.999, (design_effect - 1) / (n - 1))  # correlation that inflates the variance by the design effect
    size = 1 / alike - 1
    return float(betabinom.cdf(runs - 1, n, max(rate * size, 1e-9), max((1 - rate) * size, 1e-9)))
