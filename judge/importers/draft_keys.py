"""What makes a step in one model call's input the same as a step that was written before."""

from __future__ import annotations

import json
from typing import Any

from judge.importers.builder import Draft
from judge.types.trajectory import Message, Reasoning, Text, ToolCall, ToolResult

Key = tuple[str, ...]


def key_of(draft: Draft) -> Key:
    """What makes a step of one span's input the same as one that was written."""
    fields = draft.fields
    if draft.kind is Message:
        return ("message", str(fields.get("role")), _words(fields.get("content", ())))
    if draft.kind is Reasoning:
        return ("reasoning", _words(fields.get("content", ())))
    if draft.kind is ToolCall:
        arguments = fields.get("arguments", fields.get("arguments_raw"))
        return ("call", fields.get("call_id") or "", fields["name"], canonical(arguments))
    if draft.kind is ToolResult:
        call_id = fields.get("call_id") or ""
        return ("result", call_id, "" if call_id else draft.name or _words(fields.get("content", ())))
    return (draft.kind.__name__, canonical({name: str(value) for name, value in fields.items() if name != "turn"}))


def _words(parts: Any) -> str:
    return "\n".join(part.text if isinstance(part, Text) else part.model_dump_json() for part in parts)


def canonical(value: Any) -> str:
    """A JSON value as text that is the same for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
