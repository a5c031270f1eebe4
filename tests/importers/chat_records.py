"""Small chat records, and what to look at in a trajectory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from judge.types import ToolCall, ToolResult, Trajectory

Read = Callable[..., list[Trajectory]]


def codes(trajectory: Trajectory) -> list[str]:
    return [note.code for note in trajectory.diagnostics]


def calls(trajectory: Trajectory) -> list[ToolCall]:
    return [step for step in trajectory.steps if isinstance(step, ToolCall)]


def results(trajectory: Trajectory) -> list[ToolResult]:
    return [step for step in trajectory.steps if isinstance(step, ToolResult)]


def user(text: str = "hi") -> dict[str, Any]:
    return {"role": "user", "content": text}


def asks(*entries: tuple[str | None, str, Any]) -> dict[str, Any]:
    """An assistant message that makes the calls (id, name, arguments)."""
    made = [
        {"id": name_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for name_id, name, arguments in entries
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def tool(call_id: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}
