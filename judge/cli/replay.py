"""`judge replay`: play recorded traces again in an environment of your own code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from judge.cli import options
from judge.cli.output import emit, note, say
from judge.errors import UsageError

if TYPE_CHECKING:
    from judge.types import Trajectory

SHIPPED = "judge.policy.returns_desk:ReturnsDesk"


def replay(
    traces: options.Traces,
    environment: Annotated[
        str,
        typer.Option("--environment", "-e", help=f"module:Class, your code, which is run; e.g. {SHIPPED}."),
    ],
    state: Annotated[
        str | None,
        typer.Option("--state", help='First state as a JSON file; {"groups": {GROUP: STATE}} for one a task.'),
    ] = None,
    format: options.Format = None,
    mapping: options.Mapping = None,
    limit: options.Limit = None,
    as_json: options.AsJson = False,
) -> None:
    """Play traces again: unknown tools, wrong ids, edited results, unproved claims fail with their step (exit 1)."""
    from judge.cli import reading
    from judge.engine.user_code import find_attribute, see_working_folder
    from judge.policy.replay import begun
    from judge.policy.replay import replay as play
    from judge.report.suite import replay_text

    see_working_folder()
    made = find_attribute(environment, what="environment")
    if environment != SHIPPED:
        note(f"Running your code: {environment}.")
    first = _states(state)
    results, failed = [], False
    for trajectory in reading.trajectories(traces, format=format, mapping=mapping, limit=limit):
        given = _state_of(first, trajectory)
        result = play(trajectory, begun(made, given))
        failed = failed or not result.passed
        if as_json:
            results.append(result.to_json())
        else:
            say(replay_text(result))
    if as_json:
        emit({"results": results})
    if failed:
        raise typer.Exit(1)


def _states(path: str | None) -> dict[str, Any] | None:
    import json

    from judge.cli import reading

    text = reading.text_file(path, "state")
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"The state file {path!r} is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise UsageError(f"The state file {path!r} holds {type(value).__name__}, an object was needed.")
    return value


def _state_of(first: dict[str, Any] | None, trajectory: Trajectory) -> Any:
    if first is None or set(first) != {"groups"}:
        return first
    groups = first["groups"]
    name = trajectory.group if trajectory.group in groups else trajectory.id
    if name not in groups:
        raise UsageError(
            f"The state file has no state for {trajectory.id!r} (group {trajectory.group!r}).",
            hint=f"Known: {', '.join(list(groups)[:10])}.",
        )
    return groups[name]
