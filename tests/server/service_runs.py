"""Ten small runs of a refund agent, the scores that the scripted judge gives them, and what two raters say."""

from __future__ import annotations

from typing import Any

SCORES = {
    "run-1": 4,
    "run-2": 5,
    "run-3": 2,
    "run-4": 4,
    "run-5": 1,
    "run-6": 4,
    "run-7": 2,
    "run-8": 5,
    "run-9": 3,
    "run-10": 4,
}
"""By the judge. People (below) call run-6 a failure: one disagreement at the pass mark 4."""
RATERS = {
    "ana": {
        "run-1": 4,
        "run-2": 5,
        "run-3": 2,
        "run-4": 5,
        "run-5": 1,
        "run-6": 2,
        "run-7": 1,
        "run-8": 5,
        "run-9": 2,
        "run-10": 4,
    },
    "ben": {
        "run-1": 4,
        "run-2": 5,
        "run-3": 2,
        "run-4": 4,
        "run-5": 1,
        "run-6": 2,
        "run-7": 2,
        "run-8": 5,
        "run-9": 4,
        "run-10": 4,
    },
}
"""They differ on run-4, run-7 and run-9."""


def run(id: str, *, note: str = "Order 7 is refunded.", result: str = "ok") -> dict[str, Any]:
    """One native trajectory of five steps."""
    return {
        "schema": "judge.trajectory/1",
        "id": id,
        "task": "Refund order 7.",
        "source": {"format": "native"},
        "agents": [{"name": "desk"}],
        "steps": [
            {"index": 1, "kind": "message", "role": "user", "content": [{"type": "text", "text": "Refund order 7."}]},
            {"index": 2, "kind": "tool_call", "call_id": "c1", "name": "get_order", "arguments": {"order": 7}},
            {
                "index": 3, "kind": "tool_result", "call_id": "c1", "call_index": 2, "pairing": "id", "status": "ok",
                "content": [{"type": "text", "text": result}],
            },
            {"index": 4, "kind": "tool_call", "call_id": "c2", "name": "refund", "arguments": {"order": 7, "run": id}},
            {"index": 5, "kind": "final", "text": note},
        ],
    }  # fmt: skip


def runs(count: int = 10) -> list[dict[str, Any]]:
    """`run-1` to `run-count`."""
    return [run(f"run-{k}") for k in range(1, count + 1)]
