"""A number about a trajectory that needs no model, and a check that it passes or fails."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from judge.types.record import Record


class MetricResult(Record):
    """One metric of one trajectory.

    Attributes:
        value: The number, flag or label; None where there is nothing to measure.
        unit: E.g. "calls", "seconds", "ratio", "boolean".
        steps: Indices of the steps that caused the value.
        reason: Why `value` is None; None otherwise.
        detail: What a person or another program may want to know, JSON-ready.
    """

    value: bool | int | float | str | None = None
    unit: str
    steps: tuple[int, ...] = ()
    reason: str | None = None
    detail: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """As `Record.to_json`, with an absent value written as null."""
        out = super().to_json()
        return {"value": None, **out}


class Check(Record):
    """One policy check of one trajectory."""

    omit_none: ClassVar[bool] = False

    id: str
    severity: Literal["rule", "preference"]
    status: Literal["passed", "failed", "not_applicable"]
    detail: str = ""
    steps: tuple[int, ...] = ()
