"""What a span holds as input or output, in any framework's shape, into messages: detected a second time."""

from __future__ import annotations

from typing import Any, NamedTuple

from judge.importers.dialects.messages import is_message
from judge.importers.dialects.spans import decoded
from judge.importers.fields import MISSING, mapping, objects, string

_LISTS = ("messages", "contents", "input", "chat_history", "history")
_MAX_DEPTH = 8


class Payload(NamedTuple):
    """Messages of a payload, in any dialect.

    Attributes:
        rest: What is no message, kept whole.
        tools: Definitions of tools, which some tracers write among the messages.
    """

    messages: tuple[dict[str, Any], ...] = ()
    rest: tuple[Any, ...] = ()
    tools: tuple[dict[str, Any], ...] = ()


def read_payload(value: Any, role: str, depth: int = 0) -> Payload:
    """Messages from a payload; text alone is a message of `role`.

    Known shapes: a message, lists of them (nested once, as LangSmith does), `{messages}`, chat completions,
    Responses, LangChain generations, Gemini contents, tool calls alone, and JSON text of any of these.
    """
    value = decoded(value)
    if value is MISSING or value is None or value in ("", [], {}) or depth > _MAX_DEPTH:
        return Payload()
    if isinstance(value, str):
        return Payload(({"role": role, "content": value},))
    if isinstance(value, list):
        return _of_list(value, role, depth)
    if isinstance(value, dict):
        return _of_object(value, role, depth)
    return Payload(rest=(value,))


def _of_list(value: list[Any], role: str, depth: int) -> Payload:
    if all(isinstance(item, dict) and "toolCallId" in item and "role" not in item for item in value):
        parts = [{**item, "type": "tool-call"} for item in value]
        return Payload(({"role": "assistant", "content": parts},))
    messages: list[dict[str, Any]] = []
    rest: list[Any] = []
    tools: list[dict[str, Any]] = []
    for item in value:
        found = read_payload(item, role, depth + 1)
        messages.extend(found.messages)
        rest.extend(found.rest)
        tools.extend(found.tools)
    return Payload(tuple(messages), tuple(rest), tuple(tools))


def _of_object(value: dict[str, Any], role: str, depth: int) -> Payload:
    if is_message(value):
        return _message(value)
    if value.get("object") == "response" or isinstance(value.get("output"), list):
        return read_payload(value.get("output"), "assistant", depth + 1)
    if isinstance(value.get("choices"), list):
        choice = next(iter(objects(value["choices"])), {})
        message = mapping(choice.get("message"))
        if message:
            return Payload(({"role": "assistant", "content": None, **message},))
        return read_payload(choice.get("text"), "assistant", depth + 1)
    if isinstance(value.get("generations"), list):
        return _generations(value["generations"], depth)
    content = value.get("content")
    if isinstance(content, dict) and "parts" in content:
        return Payload(({"role": role, **content},))
    for key in _LISTS:
        if isinstance(value.get(key), list):
            found = read_payload(value[key], role, depth + 1)
            system = _system(value)
            return Payload((*system, *found.messages), found.rest, found.tools)
    if isinstance(content, str | list) and "role" not in value and _says(content) and content != "role":
        return Payload(({"role": role, "content": content},))
    for key in ("message", "output", "prompt", "input", "text", "answer", "response", "completion"):
        inner = decoded(value.get(key))
        if isinstance(inner, str) and inner:
            return Payload((*_system(value), {"role": role, "content": inner}))
        if isinstance(inner, dict) and (is_message(inner) or key in ("output", "message", "response")):
            return read_payload(inner, role, depth + 1)
    return Payload(rest=(value,))


def _says(content: str | list[Any]) -> bool:
    return isinstance(content, str) or all(isinstance(part, dict) and "type" in part for part in content)


def _system(value: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    config = mapping(value.get("config"))
    for text in (value.get("system"), value.get("instructions"), config.get("system_instruction")):
        if string(text):
            return ({"role": "system", "content": string(text)},)
    return ()


def _generations(value: list[Any], depth: int) -> Payload:
    rows = value[0] if value and isinstance(value[0], list) else value
    chosen = next(iter(objects(rows)), {})
    if isinstance(chosen.get("message"), dict):
        return read_payload(chosen["message"], "assistant", depth + 1)
    return read_payload(chosen.get("text"), "assistant", depth + 1)


def _message(value: dict[str, Any]) -> Payload:
    """A message; its calls may be JSON text, or only among the provider's own keys."""
    content = value.get("content")
    lonely = value.get("role") == "tool" and "tool_call_id" not in value
    if lonely and isinstance(content, dict) and isinstance(content.get("function"), dict):
        return Payload(tools=(content,))
    calls = value.get("tool_calls")
    if not calls and isinstance(value.get("role"), str):
        calls = mapping(value.get("additional_kwargs")).get("tool_calls")
        if calls:
            left = {key: item for key, item in value["additional_kwargs"].items() if key != "tool_calls"}
            value = {**value, "additional_kwargs": left or None}
    if isinstance(calls, list) and calls:
        value = {**value, "tool_calls": [decoded(call) for call in calls]}
    return Payload((value,))
