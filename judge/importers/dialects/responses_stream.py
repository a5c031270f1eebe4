"""Server-sent events of the OpenAI Responses API into the items they add up to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.importers.fields import count, mapping, objects

_PIECES = {
    "response.function_call_arguments.delta": "arguments",
    "response.custom_tool_call_input.delta": "input",
    "response.mcp_call_arguments.delta": "arguments",
    "response.code_interpreter_call_code.delta": "code",
}


def is_event(record: Mapping[str, Any]) -> bool:
    """Whether a record is an event of a streamed response."""
    kind = record.get("type")
    return (
        isinstance(kind, str)
        and kind.startswith("response.")
        and ("response" in record or "output_index" in record or "item_id" in record)
    )


class ResponseStream:
    """Adds up the events of one response.

    Attributes:
        response: The last state of the response object that an event carried.
        finished: Whether the end was seen.
        seen: Number of events.
    """

    def __init__(self) -> None:
        self.response: dict[str, Any] = {}
        self.finished = False
        self.seen = 0
        self._items: dict[int, dict[str, Any]] = {}
        self._whole: set[int] = set()

    def take(self, event: Mapping[str, Any]) -> None:
        """One event."""
        self.seen += 1
        kind = str(event.get("type"))
        if isinstance(event.get("response"), dict):
            self.response = event["response"]
            self.finished = kind in ("response.completed", "response.failed", "response.incomplete")
            return
        place = count(event.get("output_index"))
        if place is None:
            place = max(self._items, default=0)
        if kind in ("response.output_item.added", "response.output_item.done"):
            self._items[place] = dict(mapping(event.get("item")))
            if kind.endswith("done"):
                self._whole.add(place)
        elif place not in self._whole:
            self._piece(self._items.setdefault(place, {}), kind, event)

    def _piece(self, item: dict[str, Any], kind: str, event: Mapping[str, Any]) -> None:
        delta = event.get("delta")
        if not isinstance(delta, str):
            return
        if kind in _PIECES:
            key = _PIECES[kind]
            before = item.get(key)
            item[key] = (before if isinstance(before, str) else "") + delta
        elif kind in ("response.output_text.delta", "response.refusal.delta"):
            named = ("output_text", "text") if "text" in kind else ("refusal", "refusal")
            parts = objects(item.get("content")) or [{"type": named[0], named[1]: ""}]
            parts[-1][named[1]] = str(parts[-1].get(named[1]) or "") + delta
            item.update(type="message", role="assistant", content=parts)
        elif kind.startswith("response.reasoning") and kind.endswith("text.delta"):
            parts = objects(item.get("summary")) or [{"type": "summary_text", "text": ""}]
            parts[-1]["text"] = str(parts[-1].get("text") or "") + delta
            item.update(type="reasoning", summary=parts)

    def whole(self) -> dict[str, Any]:
        """The response: as its last event holds it, or its items as far as they came."""
        output = objects(self.response.get("output"))
        if self.finished and output:
            return self.response
        return {**self.response, "object": "response", "output": [self._items[at] for at in sorted(self._items)]}
