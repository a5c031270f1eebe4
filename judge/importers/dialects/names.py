"""The names that event logs use for the same things, and a mapping for all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from judge.importers.fields import MISSING

TYPES: dict[str, tuple[str, ...]] = {
    "llm_call": ("llm_call", "model_call", "generation", "completion", "llm", "llm.call", "model.call"),
    "tool_call": (
        "tool_call",
        "tool.start",
        "tool_use",
        "action",
        "tool.call",
        "tool_start",
        "function_call",
        "function",
    ),
    "tool_result": (
        "tool_result",
        "tool.end",
        "observation",
        "tool_response",
        "tool.result",
        "tool_end",
        "tool_output",
        "function_call_output",
    ),
    "approval": (
        "approval",
        "human_approval",
        "permission",
        "approval_requested",
        "approval_request",
        "approval_granted",
        "approval_denied",
    ),
    "tool_retry": ("tool_retry", "retry", "tool.retry"),
    "replan_requested": ("replan_requested", "replan"),
    "resume": ("resume", "resumed"),
    "checkpoint": ("checkpoint",),
    "stop": ("stop", "stopped"),
    "final": ("final", "final_answer", "answer", "run_end", "final.answer"),
    "error": ("error", "exception"),
    "user": ("user", "message.in", "user_message", "human"),
    "assistant": ("assistant", "message.out", "assistant_message", "agent_message"),
    "system": ("system", "system_message"),
    "message": ("message",),
    "reasoning": ("reasoning", "thought", "thinking"),
    "agent_transfer": ("agent_transfer", "handoff", "transfer"),
    "context_edit": ("context_edit", "compaction", "compacted"),
    "start": ("run_start", "start", "session_start", "run.start"),
}

FIELDS: dict[str, tuple[str, ...]] = {
    "type": ("type", "event", "event_type", "kind"),
    "call_id": ("call_id", "tool_call_id", "toolCallId", "callId", "tool_use_id", "id"),
    "tool": ("tool", "name", "tool_name", "toolName", "function", "function_name"),
    "arguments": ("arguments", "args", "input", "params", "parameters", "tool_input"),
    "result": ("result", "output", "observation", "response", "content", "result_ids", "results", "tool_output"),
    "text": ("text", "output", "content", "message", "answer", "response", "completion", "value"),
    "ts": ("ts", "timestamp", "time", "created_at", "@timestamp"),
    "agent": ("agent", "agent_name", "agentId", "agent_id"),
    "run_id": ("run_id", "trajectory_id", "session_id", "sessionKey", "trace_id"),
    "error": ("error", "exception"),
    "status": ("status", "outcome"),
    "reason": ("reason", "note", "comment"),
    "attempt": ("attempt",),
    "decision": ("decision", "state", "approved", "status", "verdict"),
    "approver": ("approver", "by", "approved_by", "user"),
    "usage": ("usage", "token_usage"),
    "turn": ("turn", "turn_id", "llm_call_id", "step_id"),
}

_OURS = {name: ours for ours, names in TYPES.items() for name in names}


class Names(NamedTuple):
    """Which of the source's names mean what.

    Attributes:
        types: Their event type to ours.
        fields: Our field to their keys, dotted for a nested one, best first; before the built-in ones.
    """

    types: Mapping[str, str] = {}
    fields: Mapping[str, tuple[str, ...]] = {}

    def type_of(self, record: Mapping[str, Any]) -> str | None:
        """The record's own event type, or None."""
        value, _ = self.find(record, "type")
        return value if isinstance(value, str) else None

    def kind_of(self, record: Mapping[str, Any]) -> str | None:
        """Our name for the record's event type, or None where it is not known."""
        theirs = self.type_of(record)
        if theirs is None:
            return None
        return self.types.get(theirs) or _OURS.get(theirs) or _OURS.get(theirs.lower().replace("-", "_"))

    def find(self, record: Mapping[str, Any], field: str) -> tuple[Any, str | None]:
        """The value of one of our fields and the key that holds it; (`MISSING`, None) where there is none."""
        for key in self.fields.get(field, ()):
            value = _at(record, key)
            if value is not MISSING:
                return value, key.split(".")[0]
        for key in FIELDS[field]:
            if key in record:
                return record[key], key
        return MISSING, None


def _at(record: Mapping[str, Any], path: str) -> Any:
    if path in record:
        return record[path]
    value: Any = record
    for key in path.split("."):
        if not isinstance(value, Mapping) or key not in value:
            return MISSING
        value = value[key]
    return value
