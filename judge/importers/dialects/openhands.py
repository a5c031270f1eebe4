"""OpenHands events, of version 0 and of the SDK (version 1), into steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judge.importers.arguments import read_arguments
from judge.importers.builder import StepBuilder
from judge.importers.content import read_content
from judge.importers.dialects.openhands_v1 import add_event
from judge.importers.envelope import Envelope
from judge.importers.fields import MISSING, mapping, objects, rest, string
from judge.importers.log import Log, Look
from judge.importers.times import instant
from judge.importers.usage import read_usage
from judge.types.trajectory import Approval, ContextEdit, Event, Final, ResultStatus, StepError

_TALK = frozenset({"message", "system"})
_BOOKS = frozenset({"change_agent_state", "recall", "null", "pause", "resume", "agent_state_changed", "condensation"})


def look(record: dict[str, Any]) -> Look | None:
    """One event, or a line of an evaluation's output, which holds a run in `history`."""
    kind, source = record.get("kind"), record.get("source")
    if isinstance(source, str) and isinstance(kind, str) and kind.endswith(("Event", "Observation", "Condensation")):
        return Look("openhands", "item", f"kind {kind!r} with a source", 90)
    if isinstance(source, str) and isinstance(record.get("id"), int) and _is_v0(record):
        return Look("openhands", "item", "a numbered event with action or observation", 90)
    first = next(iter(objects(record.get("history"))), None)
    seen = look(first) if first is not None else None
    return Look("openhands", "run", f"history of events: {seen.evidence}", 90) if seen else None


def _is_v0(record: dict[str, Any]) -> bool:
    return isinstance(record.get("action"), str) or isinstance(record.get("observation"), str)


def read(record: Any) -> Iterator[Log]:
    """The one run of a list of events, or of a record with a history."""
    around = record if isinstance(record, dict) else {}
    events = around.get("history") if around else record
    yield _Events(events).read(rest(around, ("history",)))


class _Events:
    """Reads the events of one run in order."""

    def __init__(self, events: Any) -> None:
        self._events = events
        self._builder = StepBuilder()
        self._calls: dict[str, int] = {}
        self._replies: set[str] = set()
        self._naive = False
        self._final: str | None = None

    def read(self, around: dict[str, Any]) -> Log:
        for event in self._events:
            if not isinstance(event, dict):
                index = self._builder.add(Event, name="record", data=event)
                self._builder.note("NOT_A_RECORD", f"an event is a {type(event).__name__}, not an object", index)
                continue
            start = len(self._builder)
            moment = instant(event.get("timestamp"))
            self._naive = self._naive or (moment.assumed_utc and moment.iso is not None)
            if isinstance(event.get("kind"), str) and not _is_v0(event):
                add_event(self._builder, event)
            elif isinstance(event.get("action"), str):
                self._action(event, event["action"])
            elif isinstance(event.get("observation"), str):
                self._observation(event, event["observation"])
            else:
                self._builder.add(Event, name="event", data=event)
            self._builder.fill(start, ts=moment.iso)
        if self._naive:
            self._builder.note("TIME_ASSUMED_UTC", "times without a zone were taken as UTC", severity="info")
        name = string(around.get("instance_id"))
        labels: dict[str, Any] = {key: around[key] for key in ("test_result", "resolved") if key in around}
        meta = {key: value for key, value in around.items() if key not in labels}
        return Log(self._builder, Envelope(id=name, group=name, labels=labels, meta=meta), final=self._final)

    def _action(self, event: dict[str, Any], action: str) -> None:
        args = mapping(event.get("args"))
        source = event.get("source")
        extra = rest(event, ("action", "args", "timestamp", "tool_call_metadata", "source", "message"))
        called = mapping(event.get("tool_call_metadata"))
        reply = mapping(called.get("model_response"))
        turn = string(reply.get("id"))
        usage = None
        if turn is not None and turn not in self._replies:
            self._replies.add(turn)
            usage = read_usage(reply.get("usage"))
        common: dict[str, Any] = {"turn": turn, "usage": usage, "extra": extra or None}
        if action in _TALK:
            role = "system" if action == "system" else "user" if source == "user" else "assistant"
            left = {key: value for key, value in args.items() if key != "content" and value is not None}
            common["extra"] = {**extra, **left} or None
            self._builder.message(role, read_content(args.get("content")), **common)
            return
        if action == "condensation":
            self._builder.add(ContextEdit, op="condensation", summary=string(args.get("summary")), extra=args)
            return
        if action in _BOOKS and not called:
            self._builder.add(Event, name=action, data=event)
            return
        thought = string(args.get("thought"))
        if action == "think" and not called:
            self._builder.reasoning(read_content(thought), **common)
            return
        if thought and (turn is None or usage is not None or not self._builder.has_turn(turn)):
            self._builder.message("assistant", read_content(thought), turn=turn, usage=usage)
            common["usage"] = None
        call_id = string(called.get("tool_call_id"))
        sent = _sent(reply, call_id)
        name = string(called.get("function_name")) or action
        left = {key: value for key, value in args.items() if key != "thought"}
        read_ = read_arguments(sent) if sent is not MISSING else read_arguments(left)
        common["extra"] = {**extra, "action": action, **({"args": left} if sent is not MISSING else {})}
        self._calls[str(event.get("id"))] = self._builder.call(name, read_, call_id=call_id, **common)
        state = args.get("confirmation_state")
        if state in ("awaiting_confirmation", "confirmed", "rejected"):
            named = {"awaiting_confirmation": "requested", "confirmed": "approved", "rejected": "denied"}[state]
            self._builder.add(Approval, call_index=self._calls[str(event.get("id"))], call_id=call_id, state=named)
        if action == "finish":
            text = string(args.get("message")) or string(args.get("final_thought")) or thought or ""
            self._builder.add(Final, text=text)
            self._final = text

    def _observation(self, event: dict[str, Any], kind: str) -> None:
        cause = event.get("cause")
        called = mapping(event.get("tool_call_metadata"))
        target = self._calls.get(str(cause)) if isinstance(cause, int) else None
        if target is None and not called:
            self._builder.add(Event, name=kind, data=event)
            return
        details = mapping(event.get("extras"))
        code = details.get("exit_code", mapping(details.get("metadata")).get("exit_code"))
        status: ResultStatus = "unknown"
        if kind == "error":
            status = "error"
        elif kind == "user_rejected":
            status = "denied"
        elif isinstance(code, int) and not isinstance(code, bool):
            status = "ok" if code == 0 else "error"
        self._builder.result(
            read_content(event.get("content")),
            call_id=string(called.get("tool_call_id")),
            name=string(called.get("function_name")),
            status=status,
            error=StepError(type=string(details.get("error_id"))) if kind == "error" else None,
            nested_in=target,
            by_id=target is not None,
            structured=details or None,
            extra=rest(event, ("content", "extras", "timestamp", "tool_call_metadata", "source")) or None,
        )


def _sent(reply: dict[str, Any], call_id: str | None) -> Any:
    """The arguments that the model sent for a call, as it sent them."""
    for choice in objects(reply.get("choices")):
        for call in objects(mapping(choice.get("message")).get("tool_calls")):
            if call.get("id") == call_id:
                return mapping(call.get("function")).get("arguments", MISSING)
    return MISSING
