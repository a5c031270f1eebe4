"""One Pydantic AI message, a request or a response with parts, into steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.content import Content, read_content
from judge.importers.fields import MISSING, mapping, objects, rest, string
from judge.importers.times import instant
from judge.importers.usage import read_usage
from judge.types.trajectory import Event, ResultStatus, StepError, Usage

_OUTCOME: dict[str, ResultStatus] = {"success": "ok", "failed": "error", "denied": "denied", "retried": "error"}
_MEDIA = {"image-url": "image", "audio-url": "audio", "video-url": "video", "document-url": "document"}


def is_message(item: Mapping[str, Any]) -> bool:
    """Whether a record is a request or a response of Pydantic AI."""
    parts = item.get("parts")
    return (
        item.get("kind") in ("request", "response")
        and isinstance(parts, list)
        and (not parts or any("part_kind" in part for part in objects(parts)))
    )


def add_message(builder: StepBuilder, item: Mapping[str, Any], *, usage: Usage | None = None) -> None:
    """The steps of one message. `instructions` stand beside the parts and become a system message."""
    asked = item.get("kind") == "request"
    turn = None if asked else string(item.get("provider_response_id")) or builder.new_turn()
    at = instant(item.get("timestamp")).iso
    extra = rest(item, ("parts", "kind", "usage", "timestamp", "instructions"))
    common: dict[str, Any] = {"ts": at, "turn": turn}
    if asked and string(item.get("instructions")):
        builder.message("system", read_content(item["instructions"]), ts=at, extra={"instructions": True})
    first: dict[str, Any] = {"extra": extra or None, "usage": usage or _usage(item.get("usage"))}
    parts = item.get("parts")
    for part in parts if isinstance(parts, list) else []:
        if not isinstance(part, dict):
            builder.add(Event, name="part", data=part, **common)
            continue
        own = instant(part.get("timestamp")).iso
        _part(builder, part, {**common, "ts": own or at}, first)
        first = {}
    if not parts:
        builder.message("user" if asked else "assistant", Content(), **common, **first)


def _usage(value: Any) -> Usage | None:
    raw = mapping(value)
    if not raw:
        return None
    details = {"cached_tokens": raw.get("cache_read_tokens"), "cache_write_tokens": raw.get("cache_write_tokens")}
    return read_usage(
        {
            "prompt_tokens": raw.get("input_tokens", raw.get("request_tokens")),
            "completion_tokens": raw.get("output_tokens", raw.get("response_tokens")),
            "prompt_tokens_details": details,
            "completion_tokens_details": {"reasoning_tokens": raw.get("output_reasoning_tokens")},
        },
        cost_usd=raw.get("cost"),
    )


def _part(builder: StepBuilder, part: dict[str, Any], common: dict[str, Any], first: dict[str, Any]) -> None:
    kind = part.get("part_kind")
    known = ("part_kind", "content", "timestamp", "args", "tool_name", "tool_call_id", "outcome")
    extra = {**(first.get("extra") or {}), **rest(part, known)}
    common = {**common, **first, "extra": extra or None}
    if kind == "system-prompt":
        builder.message("system", read_content(part.get("content")), **common)
    elif kind == "user-prompt":
        builder.message("user", _content(part.get("content")), **common)
    elif kind == "text":
        builder.message("assistant", read_content(part.get("content")), **common)
    elif kind == "thinking":
        hidden = not part.get("content") and bool(part.get("signature"))
        builder.reasoning(read_content(part.get("content") or None), redacted=hidden, **common)
    elif kind in ("tool-call", "builtin-tool-call"):
        given = part.get("args", MISSING)
        builder.call(part.get("tool_name"), given, call_id=part.get("tool_call_id"), **common)
    elif kind in ("tool-return", "builtin-tool-return"):
        _returned(builder, part, _OUTCOME.get(str(part.get("outcome")), "unknown"), common)
    elif kind == "retry-prompt" and part.get("tool_name"):
        _returned(builder, {**part, "outcome": "retried"}, "error", common)
    elif kind == "retry-prompt":
        builder.message("user", _content(part.get("content")), **{**common, "extra": {**extra, "retry_prompt": True}})
    elif kind == "file":
        builder.message("assistant", _content([part.get("content")]), **common)
    else:
        index = builder.add(Event, name=str(kind), data=part, **{**common, "extra": first.get("extra")})
        builder.note("UNKNOWN_PART", f"a part of kind {kind!r} was kept whole", index, severity="info")


def _returned(builder: StepBuilder, part: dict[str, Any], status: ResultStatus, common: dict[str, Any]) -> None:
    value = part.get("content")
    text = isinstance(value, str)
    outcome = string(part.get("outcome"))
    if outcome is not None and outcome != "success":
        common = {**common, "extra": {**(common["extra"] or {}), "outcome": outcome}}
    builder.result(
        read_content(value) if text else Content(),
        call_id=part.get("tool_call_id"),
        name=string(part.get("tool_name")),
        structured=None if text else value,
        status=status,
        error=StepError(type=outcome, message=value if text else None) if status == "error" else None,
        **common,
    )


def _content(value: Any) -> Content:
    return read_content([_shape(item) for item in value] if isinstance(value, list) else value)


def _shape(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    kind = item.get("kind")
    if kind == "binary":
        media = str(item.get("media_type"))
        family = media.split("/")[0]
        shape = family if family in ("image", "audio", "video") else "document"
        return {"type": shape, "data": item.get("data"), "media_type": media}
    if isinstance(kind, str) and kind in _MEDIA:
        return {"type": _MEDIA[kind], "url": item.get("url"), "media_type": item.get("media_type")}
    return item
