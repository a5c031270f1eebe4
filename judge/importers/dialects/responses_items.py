"""One item of the OpenAI Responses API into steps: calls with and without their results, approvals, reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.importers.arguments import Arguments, read_arguments
from judge.importers.builder import StepBuilder
from judge.importers.content import Content, read_content
from judge.importers.dialects.openai_messages import result_content
from judge.importers.fields import MISSING, objects, rest, string
from judge.types.trajectory import Approval, ContextEdit, Event, ResultStatus, StepError, Usage

_ACTIONS = {
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
    "computer_call": ("computer", "action"),
    "web_search_call": ("web_search", "action"),
    "tool_search_call": ("tool_search", "arguments"),
}
"""Types of calls without a name: ours for the tool, and the key of the arguments."""

_OUTPUTS = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
        "shell_call_output",
        "apply_patch_call_output",
        "computer_call_output",
        "tool_search_output",
    }
)
_OTHERS = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "mcp_call",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "code_interpreter_call",
        "file_search_call",
        "image_generation_call",
        "item_reference",
        "program",
        "program_output",
        "additional_tools",
    }
)
ITEM_TYPES = frozenset(_ACTIONS) | _OUTPUTS | _OTHERS
_ROLES = ("system", "developer", "user", "assistant", "tool")
_STATUS: dict[str, ResultStatus] = {"completed": "ok", "failed": "error", "cancelled": "cancelled"}


def is_item(item: Mapping[str, Any]) -> bool:
    """Whether a record is an item that only the Responses API has."""
    kind = item.get("type")
    if not isinstance(kind, str) or "sessionId" in item or "payload" in item:
        return False
    if kind in ("function_call", "custom_tool_call"):
        return "call_id" in item and isinstance(item.get("name"), str)
    if kind in _OUTPUTS:
        return "output" in item and "call_id" in item
    if kind == "reasoning":
        return isinstance(item.get("summary"), list)
    if kind == "message":
        parts = objects(item.get("content"))
        return "role" in item and any(part.get("type") in ("input_text", "output_text") for part in parts)
    if kind == "compaction":
        return "encrypted_content" in item
    return kind in ITEM_TYPES


def add_item(
    builder: StepBuilder, item: dict[str, Any], *, usage: Usage | None = None, turn: str | None = None
) -> None:
    """The steps of one item; a type that is not known becomes an event, kept whole."""
    kind = str(item.get("type"))
    common: dict[str, Any] = {"turn": turn, "usage": usage}
    if kind == "message" or ("role" in item and "type" not in item):
        extra = rest(item, ("type", "role", "content"))
        role = item.get("role") if item.get("role") in _ROLES else "other"
        builder.message(str(role), read_content(item.get("content")), extra=extra or None, **common)
    elif kind == "reasoning":
        _reasoning(builder, item, common)
    elif kind in ("function_call", "custom_tool_call"):
        _named_call(builder, item, kind, common)
    elif kind in _ACTIONS:
        name, key = _ACTIONS[kind]
        extra = rest(item, ("type", "call_id", key))
        call_id = item.get("call_id") or item.get("id")
        builder.call(name, item.get(key, MISSING), call_id=call_id, extra=extra or None, **common)
    elif kind in _OUTPUTS:
        _output(builder, item, common)
    elif kind == "mcp_call":
        _mcp_call(builder, item, common)
    elif kind in ("mcp_approval_request", "mcp_approval_response"):
        _approval(builder, item, kind, common)
    elif kind in ("code_interpreter_call", "file_search_call", "image_generation_call"):
        _hosted_call(builder, item, kind, common)
    elif kind == "compaction":
        builder.add(ContextEdit, op="compaction", extra=rest(item, ("type",)) or None, **common)
    else:
        index = builder.add(Event, name=kind, data=item, **common)
        if kind not in ITEM_TYPES:
            builder.note("UNKNOWN_ITEM", f"an item of type {kind!r} was kept whole", index, severity="info")


def _reasoning(builder: StepBuilder, item: dict[str, Any], common: dict[str, Any]) -> None:
    texts = [part.get("text") for key in ("summary", "content") for part in objects(item.get(key))]
    parts = [text for text in texts if isinstance(text, str)]
    hidden = not parts and bool(item.get("encrypted_content"))
    extra = rest(item, ("type", "summary", "content"))
    builder.reasoning(read_content(parts), redacted=hidden, extra=extra or None, **common)


def _named_call(builder: StepBuilder, item: dict[str, Any], kind: str, common: dict[str, Any]) -> None:
    key = "arguments" if kind == "function_call" else "input"
    extra = rest(item, ("type", "call_id", "name", key))
    given = item.get(key, MISSING)
    read = read_arguments(given)
    if kind == "custom_tool_call":
        extra["tool_type"] = "custom"
        if isinstance(given, str):
            read = Arguments(given, raw=given)
    builder.call(item.get("name"), read, call_id=item.get("call_id"), extra=extra or None, **common)


def _output(builder: StepBuilder, item: dict[str, Any], common: dict[str, Any]) -> None:
    content, structured = result_content(item.get("output"))
    status: ResultStatus = "error" if item.get("status") == "failed" else "unknown"
    extra = rest(item, ("type", "call_id", "output"))
    builder.result(
        content, call_id=item.get("call_id"), structured=structured, status=status, extra=extra or None, **common
    )


def _mcp_call(builder: StepBuilder, item: dict[str, Any], common: dict[str, Any]) -> None:
    request = string(item.get("approval_request_id"))
    extra = rest(item, ("type", "id", "name", "arguments", "output", "error"))
    index = builder.call(
        item.get("name"), item.get("arguments", MISSING), call_id=item.get("id"), extra=extra or None, **common
    )
    if request:
        builder.link_approvals(request, index)
    error, output = item.get("error"), item.get("output")
    if error is None and output is None:
        return
    content, structured = result_content(output)
    failure = None
    if error is not None:
        kept = error if isinstance(error, dict) else {}
        message = error if isinstance(error, str) else string(kept.get("message")) or repr(error)
        failure = StepError(type=string(kept.get("type")), message=message)
    builder.result(
        content,
        call_id=item.get("id"),
        structured=structured,
        status="error" if failure else _STATUS.get(str(item.get("status")), "unknown"),
        error=failure,
        nested_in=index,
        turn=common["turn"],
    )


def _approval(builder: StepBuilder, item: dict[str, Any], kind: str, common: dict[str, Any]) -> None:
    if kind == "mcp_approval_request":
        state, call_id = "requested", item.get("id")
    else:
        state, call_id = ("approved" if item.get("approve") is True else "denied"), item.get("approval_request_id")
    extra = rest(item, ("type", "name", "approve", "reason", "approval_request_id"))
    builder.add(
        Approval,
        state=state,
        call_id=string(call_id),
        tool=string(item.get("name")),
        reason=string(item.get("reason")),
        extra=extra or None,
        **common,
    )


def _hosted_call(builder: StepBuilder, item: dict[str, Any], kind: str, common: dict[str, Any]) -> None:
    """A call that the provider ran itself; its result, where recorded, is in the same item."""
    key = {"code_interpreter_call": "outputs", "file_search_call": "results"}.get(kind, "result")
    arguments = rest(item, ("type", "id", "status", key))
    index = builder.call(kind.removesuffix("_call"), arguments, call_id=item.get("id"), **common)
    value = item.get(key)
    if value is None:
        return
    content, structured = Content(), value
    if kind == "image_generation_call" and isinstance(value, str):
        content, structured = read_content([{"type": "image", "data": value}]), None
    builder.result(
        content,
        call_id=item.get("id"),
        structured=structured,
        status=_STATUS.get(str(item.get("status")), "unknown"),
        nested_in=index,
        turn=common["turn"],
    )
