"""Chunks of a Vercel AI SDK UI message stream into the UI message they add up to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.importers.fields import string

_TYPES = frozenset(
    {
        "start-step",
        "finish-step",
        "text-start",
        "text-delta",
        "text-end",
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "tool-input-start",
        "tool-input-delta",
        "tool-input-available",
        "tool-input-error",
        "tool-output-available",
        "tool-output-error",
        "tool-output-denied",
        "tool-approval-request",
        "tool-approval-response",
    }
)


def is_chunk(record: Mapping[str, Any]) -> bool:
    """Whether a record is a chunk of a UI message stream."""
    if "role" in record or "content" in record:
        return False
    kind = record.get("type")
    if kind == "start":
        return "messageId" in record
    if kind == "finish":
        return set(record) <= {"type", "finishReason", "messageMetadata"}
    return isinstance(kind, str) and kind in _TYPES


class UiStream:
    """Adds up the chunks of one message.

    Attributes:
        finished: Whether the end was seen.
        stop_reason: The reason that the end gave.
    """

    def __init__(self) -> None:
        self.finished = False
        self.stop_reason: str | None = None
        self._id: str | None = None
        self._parts: list[dict[str, Any]] = []
        self._texts: dict[tuple[str, str], dict[str, Any]] = {}
        self._tools: dict[str, dict[str, Any]] = {}
        self._raw: dict[str, str] = {}

    def take(self, chunk: Mapping[str, Any]) -> None:
        """One chunk."""
        kind = str(chunk.get("type"))
        if kind == "start":
            self._id = string(chunk.get("messageId"))
        elif kind == "finish":
            self.finished, self.stop_reason = True, string(chunk.get("finishReason"))
        elif kind == "start-step":
            self._parts.append({"type": "step-start"})
        elif kind.startswith(("text-", "reasoning-")):
            self._text(kind, chunk)
        elif kind.startswith("tool-"):
            self._tool(kind, chunk)

    def _text(self, kind: str, chunk: Mapping[str, Any]) -> None:
        what, _, step = kind.partition("-")
        key = (what, str(chunk.get("id")))
        if step == "start" or key not in self._texts:
            self._texts[key] = {"type": what, "text": ""}
            self._parts.append(self._texts[key])
        if step == "delta" and isinstance(chunk.get("delta"), str):
            self._texts[key]["text"] += chunk["delta"]

    def _tool(self, kind: str, chunk: Mapping[str, Any]) -> None:
        call_id = str(chunk.get("toolCallId"))
        part = self._tools.get(call_id)
        if part is None:
            part = {"type": "dynamic-tool", "toolCallId": chunk.get("toolCallId"), "state": "input-streaming"}
            self._tools[call_id] = part
            self._parts.append(part)
        if chunk.get("toolName"):
            part["toolName"] = chunk["toolName"]
        if kind == "tool-input-delta" and isinstance(chunk.get("inputTextDelta"), str):
            self._raw[call_id] = self._raw.get(call_id, "") + chunk["inputTextDelta"]
            part["rawInput"] = self._raw[call_id]
        elif kind == "tool-input-available":
            part.update(state="input-available", input=chunk.get("input"))
        elif kind == "tool-input-error":
            part.update(state="output-error", rawInput=chunk.get("input"), errorText=chunk.get("errorText"))
        elif kind == "tool-output-available":
            part.update(state="output-available", output=chunk.get("output"))
        elif kind == "tool-output-error":
            part.update(state="output-error", errorText=chunk.get("errorText"))
        elif kind == "tool-output-denied":
            part.update(state="output-denied")
        elif kind == "tool-approval-request":
            part.update(state="approval-requested", approval={"id": chunk.get("approvalId")})
        elif kind == "tool-approval-response":
            given = {**part.get("approval", {}), "approved": chunk.get("approved"), "reason": chunk.get("reason")}
            part.update(state="approval-responded", approval=given)

    def message(self) -> dict[str, Any]:
        """The message so far."""
        return {"id": self._id, "role": "assistant", "parts": self._parts}
