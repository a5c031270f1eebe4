"""One item of the Responses API, as Codex and mini-swe-agent record it, into steps."""

from __future__ import annotations

from typing import Any

from judge.importers.arguments import Arguments
from judge.importers.builder import StepBuilder
from judge.importers.content import Content, read_content
from judge.importers.decoding import NotJson, decode
from judge.importers.dialects.openai_messages import result_content
from judge.importers.fields import MISSING, mapping, number, objects, rest, string
from judge.types.trajectory import ResultStatus

ITEM_TYPES = frozenset(
    {
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "local_shell_call",
        "web_search_call",
    }
)


def add_item(builder: StepBuilder, item: dict[str, Any], turn: str | None) -> bool:
    """The steps of one item; False, and no step, where its type is not known."""
    kind = item.get("type") or ("message" if "role" in item else None)
    if kind == "message":
        role = item.get("role")
        role = role if role in ("system", "developer", "user", "assistant") else "other"
        extra = rest(item, ("type", "role", "content"))
        builder.message(role, read_content(item.get("content")), turn=turn, extra=extra or None)
    elif kind == "reasoning":
        _reasoning(builder, item, turn)
    elif kind == "function_call":
        extra = rest(item, ("type", "name", "arguments", "call_id"))
        arguments, call_id = item.get("arguments", MISSING), item.get("call_id")
        builder.call(item.get("name"), arguments, call_id=call_id, turn=turn, extra=extra or None)
    elif kind == "custom_tool_call":
        text = item.get("input")
        extra = {**rest(item, ("type", "name", "input", "call_id")), "tool_type": "custom"}
        read = Arguments(text, raw=text if isinstance(text, str) else None)
        builder.call(item.get("name"), read, call_id=item.get("call_id"), turn=turn, extra=extra)
    elif kind in ("local_shell_call", "web_search_call"):
        extra = rest(item, ("type", "action", "call_id"))
        call_id = item.get("call_id") or item.get("id")
        builder.call(kind.removesuffix("_call"), item.get("action", MISSING), call_id=call_id, turn=turn, extra=extra)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        _result(builder, item)
    else:
        return False
    return True


def _reasoning(builder: StepBuilder, item: dict[str, Any], turn: str | None) -> None:
    texts = [*objects(item.get("summary")), *objects(item.get("content"))]
    said = [{"type": "text", "text": text} for part in texts if (text := string(part.get("text")))]
    extra = rest(item, ("type", "summary", "content")) or None
    content = read_content(said) if said else Content()
    builder.reasoning(content, redacted=not said and bool(item.get("encrypted_content")), turn=turn, extra=extra)


def _result(builder: StepBuilder, item: dict[str, Any]) -> None:
    value = item.get("output")
    status: ResultStatus = "unknown"
    seconds = structured = None
    body = _object_in(value)
    if isinstance(body.get("success"), bool):
        status = "ok" if body["success"] else "error"
    metadata = mapping(body.get("metadata"))
    if "output" in body and metadata:
        code = metadata.get("exit_code")
        if isinstance(code, int) and not isinstance(code, bool):
            status = "ok" if code == 0 else "error"
        seconds, structured = number(metadata.get("duration_seconds")), body
        content, _ = result_content(body["output"])
    elif isinstance(value, dict) and "content" in value and "success" in value:
        content, structured = read_content(value["content"]), value
    else:
        content, structured = result_content(value)
    extra = rest(item, ("type", "output", "call_id")) or None
    builder.result(
        content, call_id=item.get("call_id"), structured=structured, status=status, seconds=seconds, extra=extra
    )


def _object_in(value: Any) -> dict[str, Any]:
    """The object that a result is, or that its text holds."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            return mapping(decode(value).value)
        except NotJson:
            return {}
    return mapping(value)
