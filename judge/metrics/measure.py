"""All metrics of one trajectory in one call."""

from __future__ import annotations

from collections.abc import Sequence

from judge.errors import UsageError
from judge.metrics.calls import index
from judge.metrics.metric import CallMetric
from judge.protocols import Metric
from judge.registry import find, names
from judge.types.metric import MetricResult
from judge.types.reference import Reference
from judge.types.trajectory import Trajectory


def measure(
    trajectory: Trajectory,
    reference: Reference | None = None,
    *,
    only: Sequence[str] | None = None,
    redundancy_threshold: float = 0.5,
) -> dict[str, MetricResult]:
    """Deterministic metrics of a trajectory by name: equal input gives equal bytes.

    Args:
        reference: What the run is compared with; without it the metrics that need one are not applicable.
        only: Names to compute, in this order; None for all that are registered, plugins included.
        redundancy_threshold: Least Jaccard similarity in (0, 1] at which two calls overlap.

    Raises:
        UnknownName: `only` names no metric.
        UsageError: The threshold is outside (0, 1].
    """
    if not 0 < redundancy_threshold <= 1:
        raise UsageError(
            f"The redundancy threshold is {redundancy_threshold!r}; needed a number above 0 and up to 1.",
            hint="1 counts only calls with the same words; 0.5 is the default.",
        )
    calls = index(trajectory, reference, redundancy_threshold=redundancy_threshold)
    results: dict[str, MetricResult] = {}
    for name in names("metrics") if only is None else only:
        found: Metric = find("metrics", name)
        results[name] = found.of(calls) if isinstance(found, CallMetric) else found.measure(trajectory, reference)
    return results
