"""`judge show`: a trajectory as numbered steps, as a judge sees it."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, say


def show(
    traces: options.Traces,
    reasoning: Annotated[bool, typer.Option("--reasoning", help="Show private reasoning too.")] = False,
    format: options.Format = None,
    mapping: options.Mapping = None,
    limit: options.Limit = None,
    as_json: options.AsJson = False,
) -> None:
    """Print trajectories as numbered steps, the way a judge sees them."""
    from judge.cli import reading
    from judge.prompt import view
    from judge.types import ViewSettings

    read = reading.trajectories(traces, format=format, mapping=mapping, limit=limit)
    if as_json:
        emit({"results": [trajectory.to_json() for trajectory in read]})
        return
    for trajectory in read:
        say(f"== {trajectory.id}")
        if trajectory.task:
            say(f"task: {trajectory.task}")
        say(view(trajectory, ViewSettings(reasoning=reasoning)).text)
        for diagnostic in trajectory.diagnostics:
            where = f" [S{diagnostic.step}]" if diagnostic.step else ""
            say(f"{diagnostic.severity}{where} {diagnostic.code}: {diagnostic.message}")
        say()
