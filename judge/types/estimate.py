"""Statistic: a number with its interval, or the reason why there is none."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from judge.types.record import Record


class Statistic(Record):
    """A point estimate with a two-sided interval and two one-sided bounds; or null with a reason.

    A gate compares `lower` (or `upper`) with its threshold, whichever is unfavourable to the judge. Absence
    is null plus `reason`; no field is ever NaN or infinite.

    Attributes:
        value: In the unit of the statistic; None where it is undefined on this data.
        low, high: Ends of the two-sided interval; None where it cannot be given.
        lower, upper: One-sided bounds, each at `confidence`; None where they cannot be given.
        confidence: Nominal coverage in (0, 1): of the pair (low, high), and of `lower` and `upper` each.
        n: Items used (trajectories or pairs, not votes).
        clusters: Groups that the items fall into; None where no interval was asked for.
        method: How interval and bounds were made, e.g. "wilson"; "point" where there are none by design.
        reason: Why `value`, or the interval, is None.
        detail: Counts that explain the number, JSON-ready.
    """

    omit_none: ClassVar[bool] = False

    value: float | None
    low: float | None = None
    high: float | None = None
    lower: float | None = None
    upper: float | None = None
    confidence: float = Field(default=0.95, gt=0, lt=1)
    n: int = Field(ge=0)
    clusters: int | None = Field(default=None, ge=0)
    method: str = "point"
    reason: str | None = None
    detail: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _absence_has_a_reason(self) -> Self:
        numbers = (self.value, self.low, self.high, self.lower, self.upper)
        if any(number is not None and not math.isfinite(number) for number in numbers):
            raise ValueError(f"a statistic holds NaN or an infinity: {numbers}; undefined is null with a reason")
        if self.value is None:
            if not self.reason:
                raise ValueError("a statistic without a value needs a reason")
            if any(number is not None for number in numbers):
                raise ValueError("a statistic without a value has no interval")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"the interval is upside down: {self.low!r} > {self.high!r}")
        return self

    @property
    def defined(self) -> bool:
        """Whether there is a value."""
        return self.value is not None


def undefined(
    reason: str,
    *,
    n: int,
    clusters: int | None = None,
    confidence: float = 0.95,
    method: str = "point",
    detail: dict[str, Any] | None = None,
) -> Statistic:
    """A statistic that this data does not define, and why."""
    return Statistic(
        value=None, n=n, clusters=clusters, confidence=confidence, method=method, reason=reason, detail=detail
    )
