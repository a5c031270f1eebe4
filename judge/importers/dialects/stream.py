"""Streaming deltas into the messages that they add up to."""

from __future__ import annotations

from typing import Any

from judge.importers.fields import count, mapping, objects


def is_delta(record: Any) -> bool:
    """Whether a record is a chunk of a streamed reply, of OpenAI's chat API or Anthropic's."""
    if not isinstance(record, dict):
        return False
    if record.get("object") == "chat.completion.chunk":
        return True
    kind = record.get("type")
    return kind in ("message_start", "message_delta", "message_stop", "ping") or (
        isinstance(kind, str) and kind.startswith("content_block_")
    )


class Stream:
    """Adds up the chunks of one reply.

    Attributes:
        finished: Whether the end of the reply was seen; without it the reply is incomplete.
    """

    def __init__(self) -> None:
        self.message: dict[str, Any] = {}
        self.finished = False
        self.stop_reason: str | None = None
        self.usage: Any = None
        self._blocks: dict[int, dict[str, Any]] = {}
        self._partial: dict[int, list[str]] = {}
        self._calls: dict[int, dict[str, Any]] = {}

    def take(self, record: dict[str, Any]) -> None:
        """One chunk."""
        if record.get("object") == "chat.completion.chunk":
            self._openai(record)
        else:
            self._anthropic(record)

    def _openai(self, record: dict[str, Any]) -> None:
        self.message.setdefault("role", "assistant")
        if isinstance(record.get("usage"), dict):
            self.usage = record["usage"]
        for choice in objects(record.get("choices"))[:1]:
            delta = mapping(choice.get("delta"))
            for key in ("content", "reasoning_content", "refusal"):
                if isinstance(delta.get(key), str):
                    self.message[key] = (self.message.get(key) or "") + delta[key]
            for part in objects(delta.get("tool_calls")):
                given = count(part.get("index"))
                place = len(self._calls) if given is None else given
                call = self._calls.setdefault(place, {"type": "function", "function": {"name": "", "arguments": ""}})
                if isinstance(part.get("id"), str) and part["id"]:
                    call["id"] = part["id"]
                function = mapping(part.get("function"))
                for key in ("name", "arguments"):
                    if isinstance(function.get(key), str):
                        call["function"][key] += function[key]
            if isinstance(choice.get("finish_reason"), str):
                self.finished, self.stop_reason = True, choice["finish_reason"]
        if self._calls:
            self.message["tool_calls"] = [self._calls[place] for place in sorted(self._calls)]
            self.message.setdefault("content", None)

    def _anthropic(self, record: dict[str, Any]) -> None:
        kind = record.get("type")
        place = count(record.get("index")) or 0
        if kind == "message_start":
            start = mapping(record.get("message"))
            self.message = {"id": start.get("id"), "role": "assistant", "content": []}
            self.usage = dict(mapping(start.get("usage")))
        elif kind == "content_block_start":
            self._blocks[place] = dict(mapping(record.get("content_block")))
        elif kind == "content_block_delta":
            self._delta(place, mapping(record.get("delta")))
        elif kind == "message_delta":
            reason = mapping(record.get("delta")).get("stop_reason")
            self.stop_reason = reason if isinstance(reason, str) else None
            self.usage = {**mapping(self.usage), **mapping(record.get("usage"))}
        elif kind == "message_stop":
            self.finished = True
        for at, texts in self._partial.items():
            self._blocks.setdefault(at, {})["input"] = "".join(texts)
        self.message["content"] = [self._blocks[at] for at in sorted(self._blocks)]
        self.message.setdefault("role", "assistant")

    def _delta(self, place: int, delta: dict[str, Any]) -> None:
        block = self._blocks.setdefault(place, {})
        if isinstance(delta.get("partial_json"), str):
            self._partial.setdefault(place, []).append(delta["partial_json"])
            return
        for key in ("text", "thinking", "signature"):
            if isinstance(delta.get(key), str):
                before = block.get(key)
                block[key] = (before if isinstance(before, str) else "") + delta[key]
