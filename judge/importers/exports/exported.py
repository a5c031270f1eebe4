"""A trajectory in another format, and what was lost on the way."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from judge.types.trajectory import (
    Event,
    Final,
    Json,
    Media,
    Message,
    Part,
    Reasoning,
    Refusal,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
)

STATED = "statuses of results"


class Exported(NamedTuple):
    """A trajectory in another format.

    Attributes:
        lost: What the format has no place for, in words, to how often.
    """

    value: dict[str, Any]
    lost: dict[str, int]


class Block(NamedTuple):
    """Steps that other formats write as one message: what one model call said and asked for, or one other step."""

    steps: tuple[Step, ...]

    @property
    def agent(self) -> bool:
        """Whether an agent's model made it."""
        return not isinstance(self.steps[0], ToolResult) and _by_model(self.steps[0])


def blocks(trajectory: Trajectory) -> Iterator[Block]:
    """The steps grouped by model call; results and all else stand alone."""
    held: list[Step] = []
    for step in trajectory.steps:
        joins = _by_model(step) and held and _same_call(held, step)
        if held and not joins:
            yield Block(tuple(held))
            held = []
        held.append(step)
        if not _by_model(step):
            yield Block(tuple(held))
            held = []
    if held:
        yield Block(tuple(held))


def _by_model(step: Step) -> bool:
    if isinstance(step, Message):
        return step.role == "assistant"
    return isinstance(step, Reasoning | ToolCall | Final)


def _same_call(held: list[Step], step: Step) -> bool:
    last = held[-1]
    if (last.turn, last.agent, last.provenance) != (step.turn, step.agent, step.provenance):
        return False
    if step.turn is None and isinstance(last, ToolCall) and not isinstance(step, ToolCall):
        return False
    return not isinstance(step, Message | Final) or not any(isinstance(each, Message | Final) for each in held)


def text_of(parts: Sequence[Part], lost: Counter[str]) -> str:
    """The text of content parts, joined by newlines; media are named and counted."""
    out: list[str] = []
    for part in parts:
        if isinstance(part, Text | Refusal):
            out.append(part.text)
        elif isinstance(part, Json):
            out.append(json.dumps(part.value, ensure_ascii=False))
        else:
            kind = part.type if isinstance(part, Media) else part.original_type
            lost["content parts that are not text"] += 1
            out.append(f"[{kind}]")
    return "\n".join(out)


def result_text(step: ToolResult, lost: Counter[str]) -> str:
    """A result as text: its parts, else its structured value, else its error."""
    if step.status not in ("unknown", "ok"):
        lost[STATED] += 1
    text = text_of(step.content, lost)
    if not text and step.structured is not None:
        return json.dumps(step.structured, ensure_ascii=False)
    if not text and step.error is not None:
        return step.error.message or step.error.type or ""
    return text


def count_unwritten(step: Step, lost: Counter[str]) -> None:
    """Counts a step that a format has no place for."""
    name = f"event {step.name!r}" if isinstance(step, Event) else step.kind
    lost[f"{name} steps"] += 1
