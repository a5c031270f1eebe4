"""One event of the OpenHands SDK (version 1) into steps."""

from __future__ import annotations

from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.content import read_content
from judge.importers.dialects.openai_messages import result_content
from judge.importers.fields import MISSING, mapping, objects, rest, string
from judge.types.trajectory import Approval, ContextEdit, ErrorStep, Event, ResultStatus, StepError


def add_event(builder: StepBuilder, event: dict[str, Any]) -> None:
    """The steps of one event; one of an unknown kind is kept whole."""
    kind = str(event.get("kind"))
    if kind == "MessageEvent":
        message = mapping(event.get("llm_message"))
        role = message.get("role")
        role = role if role in ("system", "user", "assistant") else "other"
        _thoughts(builder, message, None)
        extra = rest(event, ("kind", "timestamp", "llm_message")) | rest(message, ("role", "content"))
        builder.message(role, read_content(message.get("content")), extra=extra)
    elif kind == "SystemPromptEvent":
        extra = rest(event, ("kind", "timestamp", "system_prompt"))
        builder.message("system", read_content(event.get("system_prompt")), extra=extra)
    elif kind == "ActionEvent":
        _action(builder, event)
    elif kind == "ObservationEvent":
        observation = mapping(event.get("observation"))
        content, structured = result_content(observation.get("content", observation.get("output")))
        left = rest(observation, ("content", "output", "is_error"))
        _result(builder, event, content=content, structured=structured or left or None, status=_status(observation))
    elif kind == "AgentErrorEvent":
        text = string(event.get("error"))
        error = StepError(message=text)
        _result(builder, event, content=read_content(text), structured=None, status="error", error=error)
    elif kind == "UserRejectObservation":
        reason, call_id = string(event.get("rejection_reason")), string(event.get("tool_call_id"))
        by = string(event.get("rejection_source"))
        tool = string(event.get("tool_name"))
        builder.add(Approval, call_id=call_id, tool=tool, state="denied", approver=by, reason=reason)
        _result(builder, event, content=read_content(reason), structured=None, status="denied")
    elif kind in ("Condensation", "CondensationEvent"):
        summary = string(event.get("summary"))
        builder.add(
            ContextEdit, op="condensation", summary=summary, extra=rest(event, ("kind", "timestamp", "summary"))
        )
    elif kind == "ConversationErrorEvent":
        extra = rest(event, ("kind", "timestamp", "code", "detail"))
        builder.add(ErrorStep, type=string(event.get("code")), message=string(event.get("detail")), extra=extra)
    else:
        builder.add(Event, name=kind, data=rest(event, ("kind", "timestamp")))


def _thoughts(builder: StepBuilder, record: dict[str, Any], turn: str | None) -> None:
    text = string(record.get("reasoning_content"))
    blocks = objects(record.get("thinking_blocks"))
    if text is None:
        text = "\n".join(found for block in blocks if (found := string(block.get("thinking"))))
    if text or blocks:
        hidden = not text
        extra = {"thinking_blocks": blocks} if blocks else None
        builder.reasoning(read_content(text or None), redacted=hidden, turn=turn, extra=extra)


def _action(builder: StepBuilder, event: dict[str, Any]) -> None:
    turn = string(event.get("llm_response_id"))
    _thoughts(builder, event, turn)
    if event.get("thought"):
        builder.message("assistant", read_content(event["thought"]), turn=turn)
    call = mapping(event.get("tool_call"))
    sent = mapping(call.get("function")) or call
    action = event.get("action")
    arguments = sent.get("arguments", MISSING)
    if arguments is MISSING and isinstance(action, dict):
        arguments = rest(action, ("kind",))
    known = ("kind", "timestamp", "thought", "thinking_blocks", "reasoning_content", "tool_call", "tool_call_id")
    extra = rest(event, (*known, "tool_name", "llm_response_id"))
    builder.call(
        event.get("tool_name") or sent.get("name"),
        arguments,
        call_id=event.get("tool_call_id") or call.get("id"),
        turn=turn,
        extra=extra or None,
    )


def _result(builder: StepBuilder, event: dict[str, Any], **fields: Any) -> None:
    known = ("kind", "timestamp", "tool_call_id", "observation", "error", "rejection_reason")
    builder.result(
        fields.pop("content"),
        call_id=event.get("tool_call_id"),
        name=string(event.get("tool_name")),
        extra=rest(event, known) or None,
        **fields,
    )


def _status(observation: dict[str, Any]) -> ResultStatus:
    if isinstance(observation.get("is_error"), bool):
        return "error" if observation["is_error"] else "ok"
    code = observation.get("exit_code", mapping(observation.get("metadata")).get("exit_code"))
    if isinstance(code, int) and not isinstance(code, bool) and code >= 0:
        return "ok" if code == 0 else "error"
    return "unknown"
