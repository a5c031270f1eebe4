"""Small runs of one task, for tests of pairs."""

from __future__ import annotations

from typing import Any

from judge.types.trajectory import Trajectory


def lookup(
    name: str, *, found: str = "Paris", said: str = "It is Paris.", agent: str = "", group: str = "capital", **more: Any
) -> Trajectory:
    """A question, one call with its result, and an answer."""
    own = {"agent": agent} if agent else {}
    steps: list[dict[str, Any]] = [
        {"index": 1, "kind": "message", "role": "user", "content": [{"type": "text", "text": "What is the capital?"}]},
        {"index": 2, "kind": "tool_call", "name": "search", "arguments": {"q": "capital"}, **own},
        {
            "index": 3,
            "kind": "tool_result",
            "call_index": 2,
            "pairing": "id",
            "status": "ok",
            "content": [{"type": "text", "text": found}],
        },
        {"index": 4, "kind": "final", "text": said, **own},
    ]
    agents = [{"name": agent}] if agent else []
    body = {"id": name, "group": group, "source": {"format": "native"}, "steps": steps, "agents": agents, **more}
    return Trajectory.from_json(body)
