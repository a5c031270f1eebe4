"""Deterministic metrics as text."""

from __future__ import annotations

from collections.abc import Mapping

from judge.report.numbers import number, steps
from judge.types import MetricResult


def metrics_text(trajectory_id: str, measured: Mapping[str, MetricResult]) -> str:
    """A heading, then one aligned line a metric: name, value, unit, the steps that caused it."""
    width = max((len(name) for name in measured), default=0)
    lines = [f"== {trajectory_id}"]
    for name, result in measured.items():
        if result.value is None:
            lines.append(f"  {name.ljust(width)}  {result.reason or 'not applicable'}")
            continue
        unit = "" if result.unit in ("boolean", "label") else f" {result.unit}"
        where = f"  {steps(result.steps[:12])}" if result.steps else ""
        more = f" and {len(result.steps) - 12} more" if len(result.steps) > 12 else ""
        lines.append(f"  {name.ljust(width)}  {number(result.value)}{unit}{where}{more}")
    return "\n".join(lines)
