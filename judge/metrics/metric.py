"""What a built-in metric is: a function of the shared view, with a name, a unit and a docstring that is its page.

The docstring of such a function has a first paragraph (what, and the formula) and the lines ``Range:``,
``Not applicable:`` and ``Steps:``; docs/metrics.md is made from them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from judge.metrics.calls import Calls, index
from judge.types.metric import MetricResult
from judge.types.reference import Reference
from judge.types.trajectory import Trajectory


class Measured(NamedTuple):
    """What a metric found. `value` None goes with a reason, and only then."""

    value: bool | int | float | str | None
    steps: tuple[int, ...] = ()
    detail: dict[str, Any] | None = None
    reason: str | None = None


def absent(why: str, detail: dict[str, Any] | None = None, steps: tuple[int, ...] = ()) -> Measured:
    """No value, because there is nothing to measure."""
    return Measured(None, steps, detail, f"not applicable: {why}")


class CallMetric:
    """A `Metric` that can also work on a view which other metrics share.

    Attributes:
        page: The docstring of the function: what, formula, range, when not applicable, steps.
    """

    def __init__(self, name: str, unit: str, compute: Callable[[Calls], Measured], page: str = "") -> None:
        self.name = name
        self.unit = unit
        self.compute = compute
        self.page = page

    def of(self, calls: Calls) -> MetricResult:
        """The result for a view built by `judge.metrics.calls.index`."""
        value, steps, detail, reason = self.compute(calls)
        if not steps and detail is None:
            return _plain(value, self.unit, reason)
        return MetricResult(value=value, unit=self.unit, steps=steps, reason=reason, detail=detail)

    def measure(self, trajectory: Trajectory, reference: Reference | None) -> MetricResult:
        """The result for one trajectory alone."""
        return self.of(index(trajectory, reference))


@lru_cache(maxsize=256, typed=True)  # typed: 1 and true are equal, and are not the same value
def _plain(value: bool | float | str | None, unit: str, reason: str | None) -> MetricResult:
    """A result that names no step: a frozen value that many trajectories have in common."""
    return MetricResult(value=value, unit=unit, reason=reason)


def metric(unit: str) -> Callable[[Callable[[Calls], Measured]], CallMetric]:
    """Turns a function of the shared view into the metric of the same name."""

    def build(compute: Callable[[Calls], Measured]) -> CallMetric:
        return CallMetric(compute.__name__, unit, compute, compute.__doc__ or "")

    return build
