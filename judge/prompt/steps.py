"""What each kind of step says: a heading of ours and blocks of the run's own text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from judge.prompt.marks import disarm, inline, json_text
from judge.types.trajectory import (
    AgentTransfer,
    Approval,
    ContextEdit,
    ErrorStep,
    Event,
    Final,
    Json,
    Media,
    Message,
    Part,
    Reasoning,
    Refusal,
    Retry,
    Step,
    Text,
    ToolCall,
    ToolResult,
)


class Block(NamedTuple):
    """Text of the run, with a note of ours above it or "" (a note without text is a placeholder)."""

    text: str
    note: str = ""


def heading(step: Step, named: bool, letter: str = "S") -> tuple[str, list[Block]]:
    """The heading of a step after its number, and the blocks below it.

    Args:
        step: Any step.
        named: Whether to name the agent, which helps only where there are several.
        letter: Stands before the number of a step.
    """
    refers = _REFERRING.get(type(step))
    head, blocks = refers(step, letter) if refers is not None else _WRITERS[type(step)](step)
    if named and step.agent:
        head += f" @{inline(step.agent)}"
    if step.parent is not None:
        head += f" (within {letter}{step.parent})"
    if step.provenance != "recorded":
        head += " (copied from an earlier context)" if step.provenance == "copied_context" else " (synthetic)"
    return head, blocks


def parts(content: tuple[Part, ...]) -> list[Block]:
    """Every part of a content: text as it is, JSON as JSON, anything else as a placeholder that names its type."""
    return [_part(part) for part in content]


def _part(part: Part) -> Block:
    if isinstance(part, Text):
        return Block(part.text)
    if isinstance(part, Json):
        return Block(json_text(part.value))
    if isinstance(part, Refusal):
        return Block(part.text, "refusal")
    if isinstance(part, Media):
        about = [inline(part.media_type)] if part.media_type else []
        if part.size_bytes is not None:
            about.append(f"{part.size_bytes:,} bytes")
        if part.uri and not part.uri.startswith("data:"):
            about.append(f"at {inline(part.uri[:200])}")
        return Block("", f"{part.type} not shown{': ' if about else ''}{', '.join(about)}")
    original = inline(part.original_type) if part.original_type else "no type"
    return Block(json_text(part.raw), f"part of a type that is not known here: {original}")


def _message(step: Message) -> tuple[str, list[Block]]:
    blocks = parts(step.content)
    return (f"say {step.role}", blocks) if blocks else (f"say {step.role} (no text)", [])


def _reasoning(step: Reasoning) -> tuple[str, list[Block]]:
    head = "private reasoning (unverified claim)"
    return (f"{head} (redacted)" if step.redacted else head), parts(step.content)


def _tool_call(step: ToolCall) -> tuple[str, list[Block]]:
    head = f"call {inline(step.name)}"
    if step.attempt > 1:
        head += f" (attempt {step.attempt})"
    if step.arguments_error is not None:
        raw = [Block(step.arguments_raw)] if step.arguments_raw is not None else []
        return f"{head} (arguments are not valid JSON, shown as sent)", raw
    if step.arguments is not None:
        return f"{head} {disarm(json_text(step.arguments))}", []
    if step.arguments_raw is not None:
        return f"{head} (arguments as sent)", [Block(step.arguments_raw)]
    return f"{head} (no arguments)", []


def _tool_result(step: ToolResult, letter: str) -> tuple[str, list[Block]]:
    head = f"result of {letter}{step.call_index}" if step.call_index is not None else "result of no recorded call"
    if step.status != "unknown":
        head += f" ({step.status})"
    blocks = parts(step.content)
    if step.structured is not None and not _says(blocks, step.structured):
        blocks.append(Block(json_text(step.structured), "as data" if blocks else ""))
    if step.error is not None:
        said = [word for word in (step.error.type, step.error.message) if word]
        if said and not any(said[-1] in block.text for block in blocks):
            blocks.append(Block(": ".join(said), "error"))
    return (head, blocks) if blocks else (f"{head} (nothing returned)", [])


def _says(blocks: list[Block], value: Any) -> bool:
    """Whether the text already is `value`, so that showing both would only repeat it."""
    if len(blocks) != 1:
        return False
    if blocks[0].text == value:
        return True
    try:
        return bool(json.loads(blocks[0].text) == value)
    except (ValueError, RecursionError):
        return False


def _approval(step: Approval, letter: str) -> tuple[str, list[Block]]:
    head = f"approval {step.state}"
    if step.call_index is not None:
        head += f" for {letter}{step.call_index}"
    if step.tool:
        head += f" {inline(step.tool)}"
    if step.approver:
        head += f" by {inline(step.approver)}"
    return head, [Block(step.reason)] if step.reason else []


def _retry(step: Retry, letter: str) -> tuple[str, list[Block]]:
    head = "retry"
    if step.call_index is not None:
        head += f" of {letter}{step.call_index}"
    if step.tool:
        head += f" {inline(step.tool)}"
    head += f", attempt {step.attempt}"
    if step.backoff_s is not None:
        head += f", after {step.backoff_s:g} s"
    return head, []


def _transfer(step: AgentTransfer) -> tuple[str, list[Block]]:
    head = "handover"
    if step.from_agent:
        head += f" from {inline(step.from_agent)}"
    if step.to_agent:
        head += f" to {inline(step.to_agent)}"
    return head, [Block(step.task)] if step.task else []


def _context_edit(step: ContextEdit) -> tuple[str, list[Block]]:
    return f"context edit {inline(step.op)}", [Block(step.summary)] if step.summary else []


def _error(step: ErrorStep) -> tuple[str, list[Block]]:
    head = "failure outside any tool"
    if step.type:
        head += f" {inline(step.type)}"
    return head, [Block(step.message)] if step.message else []


def _final(step: Final) -> tuple[str, list[Block]]:
    return f"final ({inline(step.status)})" if step.status else "final", [Block(step.text)]


def _event(step: Event) -> tuple[str, list[Block]]:
    return f"event {inline(step.name)}", [Block(json_text(step.data))] if step.data is not None else []


_WRITERS: dict[type, Callable[[Any], tuple[str, list[Block]]]] = {
    Message: _message,
    Reasoning: _reasoning,
    ToolCall: _tool_call,
    AgentTransfer: _transfer,
    ContextEdit: _context_edit,
    ErrorStep: _error,
    Final: _final,
    Event: _event,
}
_REFERRING: dict[type, Callable[[Any, str], tuple[str, list[Block]]]] = {
    ToolResult: _tool_result,
    Approval: _approval,
    Retry: _retry,
}
"""Writers of the steps that name another step."""
