"""A small run of every kind of step."""

from __future__ import annotations

from typing import Any


def refund(name: str = "refund-1", group: str = "refund") -> dict[str, Any]:
    """A refund in order: looked up, approved, done, said."""
    steps: list[dict[str, Any]] = [
        {"kind": "message", "role": "user", "content": [{"type": "text", "text": "Please refund invoice INV-7."}]},
        {"kind": "message", "role": "assistant", "content": [{"type": "text", "text": "I will look into it."}]},
        {"kind": "tool_call", "name": "get_invoice", "call_id": "a", "arguments": {"invoice_id": "INV-7"}},
        {
            "kind": "tool_result",
            "call_id": "a",
            "call_index": 3,
            "pairing": "id",
            "status": "ok",
            "content": [{"type": "text", "text": '{"invoice_id": "INV-7", "amount": 40.0}'}],
            "structured": {"invoice_id": "INV-7", "amount": 40.0},
        },
        {
            "kind": "tool_call",
            "name": "issue_refund",
            "call_id": "b",
            "arguments": {"invoice_id": "INV-7", "amount": 40.0},
            "arguments_raw": '{"invoice_id": "INV-7", "amount": 40.0}',
        },
        {
            "kind": "approval",
            "call_id": "b",
            "call_index": 5,
            "tool": "issue_refund",
            "state": "approved",
            "approver": "human:maya",
            "reason": "40.0 of INV-7",
        },
        {
            "kind": "tool_result",
            "call_id": "b",
            "call_index": 5,
            "pairing": "id",
            "status": "ok",
            "content": [{"type": "text", "text": '{"refunded": 40.0, "invoice_id": "INV-7"}'}],
        },
        {"kind": "final", "text": "I refunded 40 for INV-7."},
    ]
    return {
        "schema": "judge.trajectory/1",
        "id": name,
        "group": group,
        "source": {"format": "native"},
        "task": "Please refund invoice INV-7.",
        "steps": [{"index": index, **step} for index, step in enumerate(steps, 1)],
        "final": "I refunded 40 for INV-7.",
        "outcome": {"status": "completed"},
    }
