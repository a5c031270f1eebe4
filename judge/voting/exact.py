"""Sums and means of decimals as people wrote them, so that .1 + .7 is .8 and decisions come before rounding."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache


@lru_cache(maxsize=4096)
def exact(value: float) -> Fraction:
    """The decimal that `value` is written as: exact(0.1) is 1/10, not the nearest binary fraction.

    Raises:
        ValueError: `value` is NaN or infinite.
    """
    return Fraction(repr(float(value)))


def exact_mean(values: Sequence[float]) -> float:
    """Mean of the decimals in `values`, rounded once at the end.

    Raises:
        ValueError: `values` is empty. No data has no mean.
    """
    if not values:
        raise ValueError("the mean of no values is undefined")
    return float(sum(map(exact, values), Fraction(0)) / len(values))
