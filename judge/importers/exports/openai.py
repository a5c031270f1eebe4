"""A trajectory as messages of the OpenAI chat API."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from judge.importers.exports.exported import Block, Exported, blocks, count_unwritten, result_text, text_of
from judge.types.trajectory import Final, Message, Reasoning, Step, ToolCall, ToolResult, Trajectory


def to_openai(trajectory: Trajectory) -> Exported:
    """`{"id", "messages", "tools"}`. A call without an id gets one, so that its result can name it.

    The chat API has no place for reasoning, approvals, retries, errors, transfers, context edits, statuses of
    results, times, agents and labels: steps of these kinds, and statuses, are counted in `lost`.
    """
    lost: Counter[str] = Counter()
    messages: list[dict[str, Any]] = []
    names: dict[int, str] = {}
    for block in blocks(trajectory):
        first = block.steps[0]
        if isinstance(first, ToolResult):
            name = names.get(first.call_index or 0) or first.call_id
            name = name or f"orphan-{first.index}"
            messages.append({"role": "tool", "tool_call_id": name, "content": result_text(first, lost)})
        elif block.agent:
            message = _assistant(block, names, lost)
            if message is not None:
                messages.append(message)
        else:
            _other(first, messages, lost)
    if trajectory.labels:
        lost["labels"] += len(trajectory.labels)
    value: dict[str, Any] = {"id": trajectory.id, "messages": messages}
    if trajectory.tools:
        value["tools"] = [
            {"type": "function", "function": {k: v for k, v in tool.to_json().items() if v is not None}}
            for tool in trajectory.tools
        ]
    return Exported(value, dict(sorted(lost.items())))


def _assistant(block: Block, names: dict[int, str], lost: Counter[str]) -> dict[str, Any] | None:
    content: str | None = None
    calls: list[dict[str, Any]] = []
    for step in block.steps:
        if isinstance(step, Reasoning):
            lost["reasoning steps"] += 1
        elif isinstance(step, Message):
            content = text_of(step.content, lost)
        elif isinstance(step, Final):
            content = step.text
        elif isinstance(step, ToolCall):
            names[step.index] = step.call_id or f"call-{step.index}"
            raw = step.arguments_raw
            text = raw if raw is not None else json.dumps(step.arguments, ensure_ascii=False)
            function = {"name": step.name, "arguments": text}
            calls.append({"id": names[step.index], "type": "function", "function": function})
    if content is None and not calls:
        return None
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


def _other(step: Step, messages: list[dict[str, Any]], lost: Counter[str]) -> None:
    if not isinstance(step, Message):
        count_unwritten(step, lost)
        return
    role = step.role if step.role in ("system", "developer", "user") else "user"
    if role != step.role:
        lost[f"role {step.role!r}"] += 1
    messages.append({"role": role, "content": text_of(step.content, lost)})
