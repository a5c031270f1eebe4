"""One message of the OpenAI chat API, current and legacy, into steps."""

from __future__ import annotations

from typing import Any, get_args

from judge.importers.arguments import Arguments, read_arguments
from judge.importers.builder import StepBuilder
from judge.importers.content import Content, read_content
from judge.importers.fields import MISSING, mapping, objects, rest, string
from judge.importers.times import instant
from judge.types.trajectory import Event, Refusal, Role, Usage

_ROLES = frozenset(get_args(Role)) - {"tool", "other"}
_SHARE_ROLES = {
    "human": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "observation": "tool",
    "function_response": "tool",
}
_KNOWN = (
    "role",
    "content",
    "tool_calls",
    "function_call",
    "tool_call_id",
    "name",
    "reasoning_content",
    "reasoning",
    "refusal",
    "from",
    "value",
)


def add_message(
    builder: StepBuilder, message: dict[str, Any], *, usage: Usage | None = None, turn: str | None = None
) -> None:
    """The steps of one message: reasoning, what was said, each tool call; or one tool result.

    An assistant message without text that calls tools is no message step: its calls are. Keys without a
    field go to `extra` of the first step of the message.
    """
    message = _common_form(message)
    role = message.get("role")
    extra = rest(message, _KNOWN)
    common: dict[str, Any] = {"ts": _time(extra)}
    if role in ("tool", "function"):
        _result(builder, message, extra, common)
    elif isinstance(role, str) and role in _ROLES:
        speaker = string(message.get("name"))
        if speaker:
            extra["name"] = speaker
        common["turn"] = (turn or builder.new_turn()) if role == "assistant" else turn
        _said(builder, role, message, usage, extra, common)
    else:
        index = builder.add(Event, name=f"role:{role}" if isinstance(role, str) else "message", data=message, **common)
        builder.note("UNKNOWN_ROLE", f"a message of role {role!r} was kept as an event", index)


def _common_form(message: dict[str, Any]) -> dict[str, Any]:
    """ShareGPT's `from` and `value` under their names in the chat API."""
    if "role" in message or not isinstance(message.get("from"), str):
        return message
    role = _SHARE_ROLES.get(message["from"], message["from"])
    left = {key: value for key, value in message.items() if key not in ("from", "value")}
    return {**left, "role": role, "content": message.get("value")}


def _said(
    builder: StepBuilder,
    role: str,
    message: dict[str, Any],
    usage: Usage | None,
    extra: dict[str, Any],
    common: dict[str, Any],
) -> None:
    first = dict(common)
    if usage is not None:
        first["usage"] = usage
    for key in ("reasoning_content", "reasoning"):
        if isinstance(message.get(key), str) and message[key]:
            builder.reasoning(read_content(message[key]), **first)
            first = dict(common)
            break
    content = read_content(message.get("content"))
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        content = content._replace(parts=(*content.parts, Refusal(text=message["refusal"])))
    raw_calls = message.get("tool_calls")
    calls = objects(raw_calls)
    legacy = mapping(message.get("function_call"))
    silent = not content.parts or message.get("content") == ""
    if (calls or legacy) and silent and not message.get("refusal"):
        if message.get("content") == "":
            extra["content"] = ""
    else:
        builder.message(role, content, **first, extra=extra or None)
        first, extra = dict(common), {}
    for call in calls:
        _call(builder, call, {**first, "extra": extra})
        first, extra = dict(common), {}
    if isinstance(raw_calls, list) and len(calls) != len(raw_calls):
        builder.note("TOOL_CALL_UNREADABLE", "an entry of tool_calls is not an object", len(builder) or None)
    if legacy:
        builder.call(legacy.get("name"), legacy.get("arguments", MISSING), **first, extra=extra or None)


def _call(builder: StepBuilder, call: dict[str, Any], common: dict[str, Any]) -> None:
    extra = {**common.pop("extra"), **rest(call, ("id", "type", "function", "custom", "index", "name", "arguments"))}
    common["extra"] = extra or None
    custom = mapping(call.get("custom"))
    if custom:
        extra["tool_type"] = "custom"
        text = custom.get("input")
        common["extra"] = extra
        read = Arguments(text, raw=text) if isinstance(text, str) else read_arguments(custom.get("input", MISSING))
        builder.call(custom.get("name"), read, call_id=call.get("id"), **common)
        return
    function = mapping(call.get("function"))
    source = function or call
    left = rest(function, ("name", "arguments"))
    if left:
        extra["function"] = left
        common["extra"] = extra
    builder.call(source.get("name"), source.get("arguments", MISSING), call_id=call.get("id"), **common)


def _result(builder: StepBuilder, message: dict[str, Any], extra: dict[str, Any], common: dict[str, Any]) -> None:
    content, structured = result_content(message.get("content"))
    name = string(message.get("name"))
    if name:
        extra["name"] = name
    builder.result(
        content,
        call_id=message.get("tool_call_id"),
        name=name,
        structured=structured,
        extra=extra or None,
        **common,
    )


def result_content(value: Any, *, bare_strings: bool = True) -> tuple[Content, Any]:
    """A result's content parts, and its value where the source gave JSON and not text or parts.

    With `bare_strings`, a list of strings is a list of text parts, as in messages; else it is a value.
    """
    if isinstance(value, dict) and not isinstance(value.get("type"), str):
        return Content(), value
    if isinstance(value, list) and (not value or not all(_is_part(item, bare_strings) for item in value)):
        return Content(), value
    if isinstance(value, bool | int | float):
        return Content(), value
    return read_content(value), None


def _is_part(item: Any, bare_strings: bool) -> bool:
    return (bare_strings and isinstance(item, str)) or (isinstance(item, dict) and isinstance(item.get("type"), str))


def _time(extra: dict[str, Any]) -> str | None:
    for key in ("timestamp", "created_at", "ts"):
        if key in extra:
            found = instant(extra[key])
            if found.iso is not None and not found.assumed_utc:
                del extra[key]
            return found.iso
    return None
