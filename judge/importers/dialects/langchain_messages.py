"""One LangChain message into steps, in each of the shapes that LangChain dumps it in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.importers.arguments import Arguments
from judge.importers.builder import StepBuilder
from judge.importers.content import Content, read_content
from judge.importers.dialects import anthropic_messages
from judge.importers.dialects.openai_messages import result_content
from judge.importers.fields import MISSING, mapping, objects, rest, string
from judge.importers.usage import read_usage
from judge.types.trajectory import Event, ResultStatus, StepError, Usage

_TYPES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    "chat": "chat",
    "remove": "remove",
    "developer": "developer",
}
_MARKS = ("additional_kwargs", "response_metadata", "usage_metadata", "invalid_tool_calls", "artifact", "example")
_STATUS: dict[str, ResultStatus] = {"success": "ok", "error": "error"}
_KNOWN = (
    "type",
    "content",
    "tool_calls",
    "invalid_tool_calls",
    "usage_metadata",
    "tool_call_id",
    "name",
    "status",
    "additional_kwargs",
    "response_metadata",
    "artifact",
    "role",
    "tool_call_chunks",
)


def plain_form(item: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields of a message from any of its dumps, or None for what is no such message.

    Shapes: `model_dump` (flat), `messages_to_dict` ({type, data}), `dumpd` ({lc, type, id, kwargs}).
    """
    if "lc" in item and isinstance(item.get("id"), list):
        name = str(item["id"][-1]) if item["id"] else ""
        kind = _class_type(name)
        if kind is None or item.get("type") not in ("constructor", "not_implemented"):
            return None
        fields = mapping(item.get("kwargs"))
        if not fields:
            return {"type": kind, "content": item.get("repr"), "not_implemented": True}
        return {**fields, "type": string(fields.get("type")) or kind}
    kind = item.get("type")
    if not isinstance(kind, str):
        return None
    ours = _TYPES.get(kind) or _TYPES.get(_class_type(kind) or "")
    if ours is None:
        return None
    data = item.get("data")
    if isinstance(data, dict) and "content" in data:
        return {**data, "type": kind}
    if "role" not in item and "content" in item and any(key in item for key in _MARKS):
        return dict(item)
    if "role" not in item and kind == "tool" and "tool_call_id" in item and "content" in item:
        return dict(item)
    return None


def _class_type(name: str) -> str | None:
    for suffix in ("MessageChunk", "Message"):
        if name.endswith(suffix):
            kind = name.removesuffix(suffix).lower()
            return kind if kind in _TYPES else None
    return None


def add_message(
    builder: StepBuilder, item: Mapping[str, Any], *, usage: Usage | None = None, turn: str | None = None
) -> None:
    """The steps of one message; provider copies of its calls (raw ones, content blocks) are not second calls."""
    message = plain_form(item) or dict(item)
    kind = str(message.get("type"))
    role = _TYPES.get(kind) or _TYPES.get(_class_type(kind) or "") or "other"
    if role == "chat":
        role = str(message.get("role") or "other")
    extra = rest(message, _KNOWN)
    for key in ("additional_kwargs", "response_metadata"):
        left = {name: value for name, value in mapping(message.get(key)).items() if name not in ("tool_calls",)}
        if left:
            extra[key] = left
    usage = usage or _usage(message)
    if role == "tool":
        _result(builder, message, extra)
    elif role == "assistant":
        _said(builder, message, extra, usage, turn or string(message.get("id")) or builder.new_turn())
    elif role in ("user", "system", "developer"):
        if string(message.get("name")):
            extra["name"] = message["name"]
        builder.message(role, read_content(message.get("content")), turn=turn, extra=extra or None)
    else:
        index = builder.add(Event, name=f"role:{role}", data=dict(message))
        builder.note("UNKNOWN_ROLE", f"a message of type {kind!r} was kept as an event", index, severity="info")


def _usage(message: Mapping[str, Any]) -> Usage | None:
    raw = mapping(message.get("usage_metadata"))
    if raw:
        details, out = mapping(raw.get("input_token_details")), mapping(raw.get("output_token_details"))
        return read_usage(
            {
                "prompt_tokens": raw.get("input_tokens"),
                "completion_tokens": raw.get("output_tokens"),
                "prompt_tokens_details": {
                    "cached_tokens": details.get("cache_read"),
                    "cache_write_tokens": details.get("cache_creation"),
                },
                "completion_tokens_details": {"reasoning_tokens": out.get("reasoning")},
            }
        )
    metadata = mapping(message.get("response_metadata"))
    return read_usage(metadata.get("token_usage") or metadata.get("usage"))


def _said(
    builder: StepBuilder, message: Mapping[str, Any], extra: dict[str, Any], usage: Usage | None, turn: str
) -> None:
    calls = objects(message.get("tool_calls"))
    broken = objects(message.get("invalid_tool_calls"))
    raw = objects(mapping(message.get("additional_kwargs")).get("tool_calls"))
    content = message.get("content")
    named = {string(call.get("id")) for call in (*calls, *broken)}
    if isinstance(content, list):
        blocks = [block for block in content if not _is_copy(block, named, bool(calls or broken))]
    else:
        blocks = [content] if content not in (None, "") else []
    first: dict[str, Any] = {"usage": usage, "extra": extra or None}
    said: list[Any] = []
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind in ("thinking", "reasoning"):
            text = next(
                (block[key] for key in ("thinking", "reasoning", "text") if isinstance(block.get(key), str)), None
            )
            builder.reasoning(read_content(text), turn=turn, **first)
            first = {}
        elif anthropic_messages.is_block(block):
            anthropic_messages.add_message(builder, {"role": "assistant", "content": [block]}, turn=turn)
        else:
            said.append(block)
    if said or not (calls or broken or raw or blocks):
        text = said[0] if len(said) == 1 and isinstance(said[0], str) else said
        builder.message("assistant", read_content(text if said else content), turn=turn, **first)
        first = {}
    for call in calls or ([] if broken else raw):
        function = mapping(call.get("function")) or call
        given = function.get("args", function.get("arguments", MISSING))
        left = rest(call, ("name", "args", "arguments", "id", "type", "function", "index"))
        more = {**(first.pop("extra", None) or {}), **left}
        builder.call(function.get("name"), given, call_id=call.get("id"), turn=turn, extra=more or None, **first)
        first = {}
    for call in broken:
        text = call.get("args")
        reason = string(call.get("error")) or "the source marks the call as invalid"
        left = rest(call, ("name", "args", "id", "type", "error", "index"))
        more = {**(first.pop("extra", None) or {}), **left}
        kept = text if isinstance(text, str) else None
        read = Arguments(None if kept is not None else text, raw=kept, error=reason)
        index = builder.call(call.get("name"), read, call_id=call.get("id"), turn=turn, extra=more or None, **first)
        builder.note("ARGS_INVALID", f"the source marks the arguments as invalid: {reason}", index)
        first = {}


def _is_copy(block: Any, named: set[str | None], has_calls: bool) -> bool:
    """Whether a content block repeats a call of `tool_calls`."""
    if not isinstance(block, dict) or block.get("type") not in ("tool_use", "tool_call", "function_call"):
        return False
    return has_calls and string(block.get("id") or block.get("call_id")) in named


def _result(builder: StepBuilder, message: Mapping[str, Any], extra: dict[str, Any]) -> None:
    content, structured = result_content(message.get("content"))
    artifact = message.get("artifact")
    if artifact is not None:
        extra["artifact"] = artifact
    name = string(message.get("name"))
    if name:
        extra["name"] = name
    status = _STATUS.get(str(message.get("status")), "unknown")
    text = message.get("content")
    error = StepError(message=text if isinstance(text, str) else None) if status == "error" else None
    builder.result(
        content if isinstance(content, Content) else Content(),
        call_id=message.get("tool_call_id"),
        name=name,
        structured=structured,
        status=status,
        error=error,
        extra=extra or None,
    )
