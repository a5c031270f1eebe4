"""OpenClaw telemetry into steps: the messages of a finished agent, else its tool events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.content import read_content
from judge.importers.envelope import Envelope
from judge.importers.fields import MISSING, count, mapping, number, objects, rest, string
from judge.importers.log import Log, Look
from judge.importers.times import instant
from judge.types.trajectory import ErrorStep, Event, Outcome, Usage

_TYPES = frozenset(
    {"message.in", "message.out", "agent.start", "agent.end", "tool.start", "tool.end", "llm.usage", "llm.call"}
)


def look(record: dict[str, Any]) -> Look | None:
    """One line of telemetry."""
    kind = record.get("type")
    if isinstance(kind, str) and kind in _TYPES and "seq" in record and "ts" in record:
        return Look("openclaw", "item", f"type {kind!r} with seq and ts", 90)
    return None


def read(records: list[Any]) -> Iterator[Log]:
    """The lines of one session."""
    builder = StepBuilder()
    ended = [r for r in records if isinstance(r, dict) and r.get("type") == "agent.end" and objects(r.get("messages"))]
    told = ended[-1] if ended else None
    key = next((string(r.get("sessionKey")) for r in records if isinstance(r, dict) and r.get("sessionKey")), None)
    starts: set[str] = set()
    for record in records:
        if not isinstance(record, dict):
            index = builder.add(Event, name="record", data=record)
            builder.note("NOT_A_RECORD", f"a line is a {type(record).__name__}, not an object", index)
            continue
        start = len(builder)
        _line(builder, record, told, starts)
        builder.fill(start, ts=instant(record.get("ts")).iso, agent=string(record.get("agentId")))
    outcome = None
    if told is not None and isinstance(told.get("success"), bool):
        outcome = Outcome(status="completed" if told["success"] else "failed")
    yield Log(builder, Envelope(id=key, meta=rest(told or {}, ("messages", "type"))), outcome=outcome)


def _line(builder: StepBuilder, record: dict[str, Any], told: dict[str, Any] | None, starts: set[str]) -> None:
    kind = str(record.get("type"))
    if kind == "agent.end":
        if record is told:
            for message in objects(record.get("messages")):
                _message(builder, message)
        if record.get("error"):
            builder.add(ErrorStep, type=kind, message=string(record.get("error")))
    elif kind == "agent.start":
        prompt = string(record.get("prompt")) or ""
        if told is None and prompt not in starts:
            builder.message("user", read_content(prompt), extra=rest(record, ("type", "prompt", "ts", "agentId")))
        else:
            builder.add(Event, name=kind, data=rest(record, ("type", "prompt", "ts", "messages")))
        starts.add(prompt)
    elif kind == "message.in":
        builder.message("user", read_content(record.get("content")), extra=rest(record, ("type", "content", "ts")))
    elif kind == "message.out":
        builder.message("assistant", read_content(record.get("content")), extra=rest(record, ("type", "content", "ts")))
    elif kind == "tool.start" and told is None:
        extra = rest(record, ("type", "toolName", "params", "ts", "agentId"))
        call_id = record.get("toolCallId")
        builder.call(record.get("toolName"), record.get("params", MISSING), call_id=call_id, extra=extra)
    elif kind == "tool.end" and told is None:
        flag = record.get("success")
        builder.result(
            read_content(record.get("result")),
            call_id=record.get("toolCallId"),
            name=string(record.get("toolName")),
            status="unknown" if not isinstance(flag, bool) else "ok" if flag else "error",
            seconds=_seconds(record.get("durationMs")),
            extra=rest(record, ("type", "result", "success", "ts", "agentId")),
        )
    else:  # the messages of the agent's end tell it with its id and its result
        builder.add(Event, name=kind, data=rest(record, ("type", "ts", "agentId")))


def _message(builder: StepBuilder, message: dict[str, Any]) -> None:
    start = len(builder)
    role = message.get("role")
    ts = instant(message.get("timestamp")).iso
    if role == "toolResult":
        flag, details = message.get("isError"), mapping(message.get("details"))
        builder.result(
            read_content(message.get("content")),
            call_id=message.get("toolCallId"),
            name=string(message.get("toolName")),
            structured=details or None,
            status="unknown" if not isinstance(flag, bool) else "error" if flag else "ok",
            seconds=_seconds(details.get("durationMs")),
            ts=ts,
        )
        return
    known = role if role in ("user", "assistant", "system") else "other"
    turn = builder.new_turn() if role == "assistant" else None
    content = message.get("content")
    for item in content if isinstance(content, list) else [content]:
        block = mapping(item)
        kind = block.get("type")
        if kind == "toolCall":
            extra = rest(block, ("type", "id", "name", "arguments")) or None
            arguments = block.get("arguments", MISSING)
            builder.call(block.get("name"), arguments, call_id=block.get("id"), turn=turn, extra=extra)
        elif kind == "thinking":
            builder.reasoning(read_content(block.get("thinking")), turn=turn, extra=rest(block, ("type", "thinking")))
        else:
            builder.message(known, read_content([item] if item is not None else None), turn=turn)
    extra = rest(message, ("role", "content", "timestamp", "usage"))
    builder.fill(start, ts=ts, extra=extra)
    usage = _usage(mapping(message.get("usage")))
    if usage is not None:
        builder.set_usage(start, usage)


def _seconds(milliseconds: Any) -> float | None:
    value = number(milliseconds)
    return None if value is None else value / 1000


def _usage(raw: dict[str, Any]) -> Usage | None:
    fresh, made = count(raw.get("input")), count(raw.get("output"))
    read_, written = count(raw.get("cacheRead")), count(raw.get("cacheWrite"))
    if fresh is None and made is None:
        return None
    cost = number(mapping(raw.get("cost")).get("total"))
    return Usage(
        input_tokens=fresh + (read_ or 0) + (written or 0) if fresh is not None else None,
        output_tokens=made,
        cache_read_input_tokens=read_,
        cache_creation_input_tokens=written,
        cost_usd=max(cost, 0.0) if cost is not None else None,
    )
