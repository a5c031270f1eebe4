"""Messages whose content is a list of `parts`: OpenTelemetry's GenAI schema, and Gemini's contents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.content import Content, read_content
from judge.importers.dialects.openai_messages import result_content
from judge.importers.fields import MISSING, mapping, objects, rest, string
from judge.types.trajectory import Usage

_TEXT = frozenset({"text"})
_THOUGHT = frozenset({"reasoning", "thinking"})
_CALL = frozenset({"tool_call", "server_tool_call"})
_RESULT = frozenset({"tool_call_response", "server_tool_call_response"})
_TYPES = _TEXT | _THOUGHT | _CALL | _RESULT | {"blob", "uri", "file"}
_GEMINI = (
    "text",
    "function_call",
    "functionCall",
    "function_response",
    "functionResponse",
    "inline_data",
    "inlineData",
)
_ROLES = {"model": "assistant", "human": "user", "ai": "assistant"}


def is_message(item: Mapping[str, Any]) -> bool:
    """Whether a record has a role and typed parts of OpenTelemetry's schema, or Gemini's untyped ones."""
    parts = item.get("parts")
    if not isinstance(parts, list) or not isinstance(item.get("role"), str) or "kind" in item or "id" in item:
        return False
    found = objects(parts)
    return not parts or any(_is_typed(part) or _is_gemini(part) for part in found)


def _is_typed(part: Mapping[str, Any]) -> bool:
    return str(part.get("type")) in _TYPES and not ("text" in part and "content" not in part)


def _is_gemini(part: Mapping[str, Any]) -> bool:
    return "type" not in part and any(key in part for key in _GEMINI)


def add_message(
    builder: StepBuilder, item: Mapping[str, Any], *, usage: Usage | None = None, turn: str | None = None
) -> None:
    """The steps of one message: text and media together are a message, each call and result its own step."""
    role = _ROLES.get(str(item.get("role")), str(item.get("role")))
    extra = rest(item, ("role", "parts"))
    turn = (turn or builder.new_turn()) if role == "assistant" else turn
    first: dict[str, Any] = {"usage": usage, "extra": extra or None}
    said: list[Any] = []
    wrote = False

    def flush() -> None:
        nonlocal said, first, wrote
        if said:
            builder.message(_role(role), read_content(said), turn=turn, **first)
            said, first, wrote = [], {}, True

    parts = item.get("parts")
    for part in parts if isinstance(parts, list) else []:
        shape = _common_form(part) if isinstance(part, dict) else part
        kind = shape.get("type") if isinstance(shape, dict) else None
        if not isinstance(kind, str) or kind not in _THOUGHT | _CALL | _RESULT:
            said.append(_media(shape) if isinstance(shape, dict) else shape)
            continue
        flush()
        _step(builder, shape, str(kind), turn, first)
        first, wrote = {}, True
    flush()
    if not wrote:
        builder.message(_role(role), Content(), turn=turn, **first)


def _role(role: str) -> str:
    return role if role in ("system", "developer", "user", "assistant", "tool") else "other"


def _step(builder: StepBuilder, part: dict[str, Any], kind: str, turn: str | None, first: dict[str, Any]) -> None:
    known = ("type", "content", "id", "name", "arguments", "response", "result")
    extra = {**(first.get("extra") or {}), **rest(part, known)}
    common = {**first, "extra": extra or None, "turn": turn}
    if kind in _THOUGHT:
        builder.reasoning(read_content(part.get("content", part.get("text"))), **common)
    elif kind in _CALL:
        given = part.get("arguments", part.get(kind, MISSING))
        builder.call(part.get("name"), given, call_id=part.get("id"), **common)
    else:
        value = part.get("response", part.get("result", part.get(kind)))
        content, structured = result_content(value)
        name = string(part.get("name"))
        builder.result(content, call_id=part.get("id"), name=name, structured=structured, **common)


def _common_form(part: dict[str, Any]) -> dict[str, Any]:
    """A Gemini part as one of OpenTelemetry's."""
    if "type" in part:
        return part
    for keys, kind in (
        (("function_call", "functionCall"), "tool_call"),
        (("function_response", "functionResponse"), "tool_call_response"),
    ):
        for key in keys:
            if isinstance(part.get(key), dict):
                inner = part[key]
                left = {**rest(part, (key,)), **rest(inner, ("id", "name", "args", "response"))}
                given = {"arguments": inner.get("args")} if kind == "tool_call" else {"response": inner.get("response")}
                return {**left, "type": kind, "id": inner.get("id"), "name": inner.get("name"), **given}
    for key in ("inline_data", "inlineData"):
        data = mapping(part.get(key))
        if data:
            return {
                "type": "blob",
                "content": data.get("data"),
                "mime_type": data.get("mime_type", data.get("mimeType")),
            }
    if isinstance(part.get("text"), str):
        kind = "reasoning" if part.get("thought") is True else "text"
        return {"type": kind, "content": part["text"], **rest(part, ("text", "thought"))}
    return part


def _media(part: dict[str, Any]) -> Any:
    kind = part.get("type")
    if kind not in ("blob", "uri", "file"):
        return part
    media = string(part.get("mime_type"))
    family = string(part.get("modality")) or (media or "").split("/")[0]
    shape: dict[str, Any] = {"type": family if family in ("image", "audio", "video") else "document"}
    if media:
        shape["media_type"] = media
    if kind == "blob":
        shape["data"] = part.get("content")
    elif kind == "uri":
        shape["uri"] = part.get("uri")
    else:
        shape["file_id"] = part.get("file_id")
    return shape
