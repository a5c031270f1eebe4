"""Steps taken out, put in or replaced, so that the run stays coherent: numbers, links and the final answer follow.

A mutator works on a list of steps that keep the numbers of their run; a step that it adds gets a number of its own from
`fresh`. `rebuild` numbers everything anew and rewrites what refers to a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge.types.trajectory import (
    Approval,
    Final,
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
    """A tool call with everything that belongs to it, by index: its results, approvals, retries, and what came of them.

    Attributes:
        members: With the steps of an agent that was called, and calls that a call made.
        acting: Whether the tool's name says that it changes something; a name that says nothing counts as reading.
        reading: Whether neither it nor a call within it acts.
        after: Number of the last step of all calls that were made side by side with it: what comes next stands there.
        until: Time of that step; that of the call where it has none.
        goes_on: Whether the model call that made it goes on behind that step, as where a provider runs the tool.
    """

    call: ToolCall
    members: tuple[int, ...]
    result: ToolResult | None
    acting: bool
    reading: bool
    after: int
    until: str | None
    goes_on: bool

    @property
    def worked(self) -> bool:
        """Whether nothing says that it failed."""
        return self.result is None or self.result.status in ("ok", "unknown")


def acting(tool: str) -> bool:
    """Whether a tool's name begins with a verb that changes something ("issue_refund"), not one that reads."""
    for word in words_of(tool):
        if word in _READING:
            return False
        if word in _ACTING:
            return True
    return False


def words_of(name: str) -> list[str]:
    """The words of an identifier in lower case: "getInvoice" and "get_invoice" have the same two."""
    return "".join(f" {c.lower()}" if c.isupper() else c if c.isalnum() else " " for c in name).split()


def units(trajectory: Trajectory) -> tuple[Unit, ...]:
    """The run's own calls in order; copied history is left out."""
    by_index = {step.index: step for step in trajectory.steps}
    followers: dict[int, list[int]] = {}
    for step in trajectory.steps:
        owners = {step.parent, step.call_index if isinstance(step, ToolResult | Approval | Retry) else None}
        for owner in owners - {None, step.index}:
            followers.setdefault(owner, []).append(step.index)  # type: ignore[arg-type]  # None was taken out
    calls = [s for s in trajectory.steps if isinstance(s, ToolCall) and s.provenance != "copied_context"]
    members = {call.index: tuple(sorted(_reached(call.index, followers))) for call in calls}
    last_of_turn = {step.turn: step.index for step in trajectory.steps if step.turn is not None}
    out = []
    for call in calls:
        steps = [by_index[member] for member in members[call.index]]
        results = [s for s in steps if isinstance(s, ToolResult) and s.call_index == call.index]
        after = _end_of_all(call, calls, members)
        out.append(
            Unit(
                call=call,
                members=members[call.index],
                result=results[-1] if results else None,
                acting=acting(call.name),
                reading=not any(isinstance(s, ToolCall) and acting(s.name) for s in steps),
                after=after,
                until=by_index[after].ts or call.ts,
                goes_on=call.turn is not None and last_of_turn[call.turn] > after,
            )
        )
    return tuple(out)


def _end_of_all(call: ToolCall, calls: Sequence[ToolCall], members: Mapping[int, tuple[int, ...]]) -> int:
    """Last step of the call and of those under way at once; a call within which it was made is none of them."""
    end = members[call.index][-1]
    for other in calls:
        within = call.index in members[other.index] or other.index in members[call.index]
        same = call.turn is not None and other.turn == call.turn
        if not within and (same or other.index < end):
            end = max(end, members[other.index][-1])
    return end


def _reached(start: int, followers: dict[int, list[int]]) -> set[int]:
    found, open_ = {start}, [start]
    while open_:
        for step in followers.get(open_.pop(), ()):
            if step not in found:
                found.add(step)
                open_.append(step)
    return found


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
    """The answer in other words; pictures and data in it stay."""
    if isinstance(step, Final):
        return step.model_copy(update={"text": text})
    others = tuple(part for part in step.content if not isinstance(part, Text))
    return step.model_copy(update={"content": (Text(text=text), *others)})


def answered(steps: Sequence[Step], answer: Final | Message, text: str) -> list[Step]:
    """The steps with the answer in other words, also where a message has said the same before a final step."""
    out = replaced(steps, with_answer(answer, text))
    for step in steps:
        if not isinstance(step, Message) or step.role != "assistant" or not isinstance(answer, Final):
            continue
        if text_of(step) and text_of(step).strip() == answer.text.strip():
            out = replaced(out, with_answer(step, text))
    return out


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


def said(text: str, *, agent: str | None, position: int, ts: str | None = None, near: ToolCall | None = None) -> Step:
    """A message of the agent, to be put in; `near` a call, of the agent that made it."""
    who = near.agent if near is not None and near.agent else agent
    parent = near.parent if near is not None else None
    message = Message(index=1, role="assistant", content=(Text(text=text),), agent=who, ts=ts, parent=parent)
    return fresh(message, position)


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
