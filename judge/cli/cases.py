"""`judge cases`: turn production traces into cases of a suite."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli import options
from judge.cli.output import emit, say

app = typer.Typer(help="Cases of a suite: add one from a trace.", no_args_is_help=True)


@app.command("add")
def add(
    traces: options.Traces,
    suite: Annotated[str, typer.Option("--suite", help="Suite file that the case is added to; begun if absent.")],
    id: Annotated[str | None, typer.Option("--id", help="Id of the case; by default the trajectory's.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Tag of the case. Repeatable.")] = None,
    format: options.Format = None,
    mapping: options.Mapping = None,
    limit: options.Limit = None,
    as_json: options.AsJson = False,
) -> None:
    """Add a case for each trace, with what the trace shows; review it before it decides anything."""
    from pathlib import Path

    from judge.cli import reading
    from judge.engine.new_case import add_case, case_id, case_text
    from judge.errors import UsageError

    path = Path(suite)
    added: list[str] = []
    for trajectory in reading.trajectories(traces, format=format, mapping=mapping, limit=limit):
        if id is not None and added:
            raise UsageError("--id names one case, and there are several traces.", hint="Add --limit 1.")
        name = id or case_id(trajectory)
        add_case(path, case_text(trajectory, id=name, tags=tag or ()), suite=path.stem)
        added.append(name)
    if as_json:
        emit({"suite": suite, "added": added})
        return
    for name in added:
        say(f"Added the case {name} to {suite}. Its limits describe one run: review them.")
