"""Outcomes of results and approvals from flags, never from text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.importers.fields import MISSING, string
from judge.types.trajectory import ApprovalState, ResultStatus, StepError

_STATUS: dict[str, ResultStatus] = {
    "ok": "ok",
    "success": "ok",
    "succeeded": "ok",
    "completed": "ok",
    "error": "error",
    "failed": "error",
    "failure": "error",
    "denied": "denied",
    "rejected": "denied",
    "cancelled": "cancelled",
    "canceled": "cancelled",
    "timeout": "timeout",
    "timed_out": "timeout",
}

_APPROVAL: dict[str, ApprovalState] = {
    "approved": "approved",
    "approve": "approved",
    "allow": "approved",
    "allowed": "approved",
    "granted": "approved",
    "accepted": "approved",
    "accept": "approved",
    "yes": "approved",
    "denied": "denied",
    "deny": "denied",
    "rejected": "denied",
    "reject": "denied",
    "declined": "denied",
    "no": "denied",
    "requested": "requested",
    "pending": "requested",
    "required": "requested",
    "modified": "modified",
    "modify": "modified",
    "edited": "modified",
}


def result_status(record: Mapping[str, Any]) -> ResultStatus:
    """Status of a tool result by its flags; "unknown" where it has none."""
    text = record.get("status")
    if isinstance(text, str) and text.lower() in _STATUS:
        return _STATUS[text.lower()]
    if any(record.get(key) not in (None, "", False, [], {}) for key in ("error", "exception")):
        return "error"
    for key in ("is_error", "isError"):
        if isinstance(record.get(key), bool):
            return "error" if record[key] else "ok"
    for key in ("success", "ok"):
        if isinstance(record.get(key), bool):
            return "ok" if record[key] else "error"
    return "unknown"


def error_of(record: Mapping[str, Any]) -> StepError | None:
    """The error that a record tells of, or None."""
    for key in ("error", "exception"):
        value = record.get(key)
        if isinstance(value, str) and value:
            return StepError(message=value)
        if isinstance(value, Mapping) and value:
            kind = string(value.get("type")) or string(value.get("code"))
            return StepError(type=kind, message=string(value.get("message")))
    return None


def approval_state(decision: Any, event_type: str | None) -> ApprovalState | None:
    """State of an approval by its decision, else by the name of its event; None where the decision is not known."""
    if decision is MISSING or decision is None:
        tail = (event_type or "").lower().replace(".", "_").rpartition("_")[2]
        return _APPROVAL.get(tail, "requested")
    if isinstance(decision, bool):
        return "approved" if decision else "denied"
    return _APPROVAL.get(decision.lower()) if isinstance(decision, str) else None
