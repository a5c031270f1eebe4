"""Steps taken out, put in or replaced, so that the run stays coherent: numbers, links and the final answer follow.

A mutator works on a list of steps that keep the numbers of their run; a step that it adds gets a number of its own from
`fresh`. `rebuild` numbers everything anew and rewrites what refers to a step.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from judge.types.trajectory import (
    Approval,
    Final,
    Json,
    Message,
    Reasoning,
    Retry,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
)

_FRESH = 10_000_000
_ACTING = (
    *("create", "issue", "refund", "cancel", "send", "update", "delete", "remove", "book", "transfer", "pay", "modify"),
    *("exchange", "return", "write", "post", "put", "set", "add", "submit", "order", "buy", "approve", "escalate"),
    *("close", "open", "insert", "edit", "move", "deploy", "run", "execute", "grant", "revoke", "purchase", "reset"),
)
_READING = (
    *(
        "get",
        "read",
        "lookup",
        "look",
        "search",
        "find",
        "list",
        "check",
        "query",
        "fetch",
        "view",
        "show",
        "calculate",
    ),
    *("verify", "describe", "count", "browse"),
)


@dataclass(frozen=True)
class Unit:
    """A tool call with everything that belongs to it: its results, approvals and retries, by index.

    Attributes:
        acting: Whether the tool's name says that it changes something; a name that says nothing counts as reading.
    """

    call: ToolCall
    members: tuple[int, ...]
    result: ToolResult | None
    acting: bool


def acting(tool: str) -> bool:
    """Whether a tool's name begins with a verb that changes something ("issue_refund"), not one that reads."""
    words = "".join(f" {c.lower()}" if c.isupper() else c if c.isalnum() else " " for c in tool).split()
    for word in words:
        if word in _READING:
            return False
        if word in _ACTING:
            return True
    return False


def units(trajectory: Trajectory) -> tuple[Unit, ...]:
    """The run's own calls in order; copied history is left out."""
    out = []
    for step in trajectory.steps:
        if not isinstance(step, ToolCall) or step.provenance == "copied_context":
            continue
        belongs = [
            other
            for other in trajectory.steps
            if isinstance(other, ToolResult | Approval | Retry) and other.call_index == step.index
        ]
        results = [other for other in belongs if isinstance(other, ToolResult)]
        members = (step.index, *(other.index for other in belongs))
        out.append(Unit(step, tuple(sorted(members)), results[-1] if results else None, acting(step.name)))
    return tuple(out)


def fresh(step: Step, position: int) -> Step:
    """`step` as an addition: with a number that no step of a run has, and usage not known."""
    return step.model_copy(update={"index": _FRESH + position, "usage": None})


def rebuild(trajectory: Trajectory, steps: Sequence[Step]) -> tuple[Trajectory, dict[int, int]]:
    """The run with these steps in this order, and old (or fresh) number to new.

    A link to a step that is gone becomes None and its pairing "none". `final` follows the step that gives the answer;
    where that is gone, the outcome's status becomes "incomplete".
    """
    place = {step.index: position for position, step in enumerate(steps, start=1)}
    new = tuple(_renumbered(step, place) for step in steps)
    update: dict[str, Any] = {
        "steps": new,
        "final": _final(trajectory, new),
        "diagnostics": tuple(
            d.model_copy(update={"step": place.get(d.step) if d.step is not None else None})
            for d in trajectory.diagnostics
            if d.step is None or d.step in place
        ),
    }
    if trajectory.outcome is not None and answer_step(trajectory.steps) and not answer_step(new):
        update["outcome"] = trajectory.outcome.model_copy(update={"status": "incomplete"})
    return trajectory.model_copy(update=update), place


def _final(trajectory: Trajectory, new: Sequence[Step]) -> str | None:
    before, after = answer_step(trajectory.steps), answer_step(new)
    if isinstance(after, Final):
        return after.text
    if before is not None and (isinstance(before, Final) or trajectory.final == text_of(before)):
        return text_of(after) if after is not None else None
    return trajectory.final


def answer_step(steps: Sequence[Step]) -> Final | Message | None:
    """The step that gives the answer: of kind "final", else what the agent said after its last call; None without."""
    for step in reversed(steps):
        if isinstance(step, Final):
            return step
    for step in reversed(steps):
        if isinstance(step, Message) and step.role == "assistant":
            return step
        if isinstance(step, ToolCall | ToolResult):
            return None
    return None


def with_answer(step: Final | Message, text: str) -> Step:
    """The answer in other words."""
    if isinstance(step, Final):
        return step.model_copy(update={"text": text})
    return step.model_copy(update={"content": (Text(text=text),)})


def _renumbered(step: Step, place: dict[int, int]) -> Step:
    update: dict[str, Any] = {"index": place[step.index]}
    if step.parent is not None:
        update["parent"] = place.get(step.parent)
    if isinstance(step, ToolResult | Approval | Retry) and step.call_index is not None:
        update["call_index"] = place.get(step.call_index)
        if isinstance(step, ToolResult) and update["call_index"] is None:
            update["pairing"] = "none"
    return step.model_copy(update=update)


def without(trajectory: Trajectory, gone: Iterable[int]) -> list[Step]:
    """All steps but these."""
    dropped = set(gone)
    return [step for step in trajectory.steps if step.index not in dropped]


def replaced(steps: Sequence[Step], new: Step) -> list[Step]:
    """The steps with the one of the same number replaced."""
    return [new if step.index == new.index else step for step in steps]


def inserted(steps: Sequence[Step], after: int, new: Sequence[Step]) -> list[Step]:
    """The steps with `new` behind the one of number `after`; 0 puts them first."""
    out: list[Step] = list(new) if after == 0 else []
    for step in steps:
        out.append(step)
        if step.index == after:
            out += new
    return out


def said(text: str, *, agent: str | None, position: int, ts: str | None = None) -> Step:
    """A message of the agent, to be put in."""
    return fresh(Message(index=1, role="assistant", content=(Text(text=text),), agent=agent, ts=ts), position)


def with_arguments(call: ToolCall, arguments: Any) -> ToolCall:
    """The call with other arguments, its raw text kept in step."""
    raw = json.dumps(arguments, ensure_ascii=False) if call.arguments_raw is not None else None
    return call.model_copy(update={"arguments": arguments, "arguments_raw": raw})


def with_values(result: ToolResult, old: Any, new: Any) -> ToolResult:
    """The result with every value equal to `old` changed to `new`, as data and in its JSON text.

    Text that is no JSON keeps its form; the words of `old` are exchanged in it.
    """
    return result.model_copy(
        update={
            "structured": _exchanged(result.structured, old, new),
            "content": tuple(
                part.model_copy(update={"text": _in_text(part.text, old, new)})
                if isinstance(part, Text)
                else part.model_copy(update={"value": _exchanged(part.value, old, new)})
                if isinstance(part, Json)
                else part
                for part in result.content
            ),
        }
    )


def _in_text(text: str, old: Any, new: Any) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return text.replace(str(old), str(new))
    return json.dumps(_exchanged(value, old, new), ensure_ascii=False)


def _exchanged(value: Any, old: Any, new: Any) -> Any:
    if isinstance(value, dict):
        return {key: _exchanged(inner, old, new) for key, inner in value.items()}
    if isinstance(value, list):
        return [_exchanged(inner, old, new) for inner in value]
    return new if type(value) is type(old) and value == old else value


def text_of(step: Step) -> str:
    """The words of a message, a result or a final answer; "" for any other step."""
    if isinstance(step, Final):
        return step.text
    if isinstance(step, Message | Reasoning | ToolResult):
        return "\n".join(part.text for part in step.content if isinstance(part, Text))
    return ""


def agent_of(trajectory: Trajectory) -> str | None:
    """Name of the agent that acted first."""
    return next((step.agent for step in trajectory.steps if step.agent), None)
