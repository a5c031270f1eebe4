"""Calls: what the metrics of one trajectory share, looked up once and passed along.

History that a fork or a continuation repeats (`copied_context`) is not this run's doing and is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from judge.types.json_equality import call_key
from judge.types.reference import ExpectedCall, Reference
from judge.types.trajectory import Final, Message, Step, ToolCall, ToolResult, Trajectory

Work = TypeVar("Work")
CALL_EVENT = "tool_call:"
FINAL_EVENT = "final"


@dataclass(frozen=True, slots=True)
class Calls:
    """A trajectory with its own steps sorted out.

    Attributes:
        steps: The steps of this run, without copied context.
        calls: The tool calls among them, in order.
        results: The last result of each call, by the call's `index`.
        finals: The steps of kind "final".
        redundancy_threshold: Least Jaccard similarity in (0, 1] at which two calls overlap.
    """

    trajectory: Trajectory
    reference: Reference | None
    redundancy_threshold: float
    steps: tuple[Step, ...]
    calls: tuple[ToolCall, ...]
    results: dict[int, ToolResult]
    finals: tuple[Final, ...]
    _done: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, work: Callable[[Calls], Work]) -> Work:
        """`work(self)`, computed the first time and kept for the other metrics of this trajectory."""
        if work not in self._done:
            self._done[work] = work(self)
        found: Work = self._done[work]
        return found

    @property
    def answer(self) -> str | None:
        """Text of the final answer; None where there is none or it is blank."""
        text = self.trajectory.final
        if text is None and self.finals:
            text = self.finals[-1].text
        return text if text is not None and text.strip() else None

    @property
    def answer_steps(self) -> tuple[int, ...]:
        """The final step; in formats without one, the last message of the assistant."""
        if self.finals:
            return (self.finals[-1].index,)
        for step in reversed(self.steps):
            if isinstance(step, Message) and step.role == "assistant":
                return (step.index,)
        return ()


def index(trajectory: Trajectory, reference: Reference | None = None, *, redundancy_threshold: float = 0.5) -> Calls:
    """The shared view of `trajectory`, in one pass over its steps."""
    steps = trajectory.steps
    if any(step.provenance == "copied_context" for step in steps):
        steps = tuple(step for step in steps if step.provenance != "copied_context")
    calls: list[ToolCall] = []
    results: dict[int, ToolResult] = {}
    finals: list[Final] = []
    for step in steps:
        if step.kind == "tool_call":
            calls.append(step)
        elif step.kind == "tool_result":
            if step.call_index is not None:
                results[step.call_index] = step
        elif step.kind == "final":
            finals.append(step)
    return Calls(trajectory, reference, redundancy_threshold, steps, tuple(calls), results, tuple(finals))


def keys(calls: Calls) -> list[Any]:
    """One hashable key a call: equal keys mean the same tool and JSON-equal arguments."""
    return [call_key(call) for call in calls.calls]


def turns(calls: Calls) -> list[list[int]]:
    """Positions in `calls.calls`, grouped by assistant turn; a call without a turn stands alone."""
    groups: list[list[int]] = []
    last: tuple[str | None, str] | None = None
    for position, call in enumerate(calls.calls):
        turn = None if call.turn is None else (call.agent, call.turn)
        if turn is not None and turn == last:
            groups[-1].append(position)
        else:
            groups.append([position])
        last = turn
    return groups


def expected_calls(reference: Reference | None) -> tuple[ExpectedCall, ...] | None:
    """The calls that `reference` expects: its `calls`, else the calls named in its `sequence`, else None."""
    if reference is None:
        return None
    if reference.calls is not None:
        return reference.calls
    if reference.sequence is None:
        return None
    named = (event.removeprefix(CALL_EVENT) for event in reference.sequence if event.startswith(CALL_EVENT))
    return tuple(ExpectedCall(name=name) for name in named)
