"""`judge metrics`: numbers about trajectories, without a model."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, say


def metrics(
    traces: options.Traces,
    reference: options.Reference = None,
    only: Annotated[str | None, typer.Option("--only", help="Metric names, separated by commas.")] = None,
    threshold: Annotated[
        float, typer.Option("--redundancy-threshold", min=0.0, max=1.0, help="Word overlap that is redundant.")
    ] = 0.5,
    format: options.Format = None,
    mapping: options.Mapping = None,
    limit: options.Limit = None,
    as_json: options.AsJson = False,
) -> None:
    """Deterministic metrics of each trajectory; no model is called."""
    from judge.cli import reading
    from judge.metrics import measure
    from judge.report.metrics import metrics_text

    names = [name.strip() for name in only.split(",") if name.strip()] if only else None
    expected = reading.references(reference)
    results = []
    for trajectory in reading.trajectories(traces, format=format, mapping=mapping, limit=limit):
        own = None if isinstance(expected, dict) else expected
        if isinstance(expected, dict):
            own = expected.get(trajectory.id) or expected.get(trajectory.group or "")
        measured = measure(trajectory, own, only=names, redundancy_threshold=threshold)
        if as_json:
            results.append(
                {"trajectory_id": trajectory.id, "metrics": {name: m.to_json() for name, m in measured.items()}}
            )
        else:
            say(metrics_text(trajectory.id, measured))
    if as_json:
        emit({"results": results})
