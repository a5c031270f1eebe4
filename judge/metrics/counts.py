"""How much the agent did: tool calls, steps, turns."""

from __future__ import annotations

from judge.metrics.calls import Calls
from judge.metrics.metric import Measured, absent, metric


@metric(unit="calls")
def num_tool_calls(calls: Calls) -> Measured:
    """Number of tool calls that the agent made. A result or the ids it returned is no call.

    Range: 0 and up.
    Not applicable: never; a run without calls made 0.
    Steps: the calls.
    """
    return Measured(len(calls.calls), tuple([call.index for call in calls.calls]))


@metric(unit="steps")
def num_steps(calls: Calls) -> Measured:
    """Number of steps of every kind, without history copied from another run.

    Range: 0 and up.
    Not applicable: never.
    Steps: none; all of them count.
    """
    copied = len(calls.trajectory.steps) - len(calls.steps)
    return Measured(len(calls.steps), (), {"copied": copied} if copied else None)


@metric(unit="turns")
def num_turns(calls: Calls) -> Measured:
    """Number of model calls: distinct turn ids; parallel tool calls of one turn count once.

    Range: 1 and up.
    Not applicable: some step that a model made does not say which turn it came from.
    Steps: the first step of each turn.
    """
    first: dict[tuple[str | None, str], int] = {}
    unmarked = made = 0
    for step in calls.steps:
        if step.kind in ("tool_call", "reasoning") or (step.kind == "message" and step.role == "assistant"):
            made += 1
            unmarked += step.turn is None
        if step.turn is not None:
            first.setdefault((step.agent, step.turn), step.index)
    if unmarked:
        detail = {"known_turns": len(first), "steps_without_turn": unmarked} if first else None
        return absent(f"{unmarked} of {made} steps made by a model name no turn", detail)
    if not first:
        return absent("no step names a turn")
    return Measured(len(first), tuple(first.values()))
