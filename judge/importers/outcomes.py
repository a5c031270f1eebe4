"""How a run ended, from the stop reason of its last reply."""

from __future__ import annotations

from typing import Any

from judge.types.trajectory import Outcome, OutcomeStatus

_STATUS: dict[str, OutcomeStatus] = {
    "stop": "completed",
    "end_turn": "completed",
    "stop_sequence": "completed",
    "length": "limit",
    "max_tokens": "limit",
    "tool_calls": "incomplete",
    "tool_use": "incomplete",
    "function_call": "incomplete",
    "pause_turn": "incomplete",
    "content_filter": "aborted",
    "refusal": "aborted",
}


def outcome_of(stop_reason: Any) -> Outcome | None:
    """Outcome by a reply's stop reason; None where it has none."""
    if not isinstance(stop_reason, str) or not stop_reason:
        return None
    return Outcome(status=_STATUS.get(stop_reason, "unknown"), stop_reason=stop_reason)
