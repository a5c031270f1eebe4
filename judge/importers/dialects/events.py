"""One record of an event log into steps. Step lists, whose calls hold their results, are a special case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from judge.importers.arguments import read_arguments
from judge.importers.builder import StepBuilder
from judge.importers.content import Content, plain_text, read_content
from judge.importers.dialects.names import FIELDS, Names
from judge.importers.dialects.openai_messages import result_content
from judge.importers.dialects.states import approval_state, error_of, result_status
from judge.importers.fields import MISSING, count, mapping, number, objects, string
from judge.importers.times import instant
from judge.importers.usage import read_usage
from judge.types.trajectory import (
    AgentTransfer,
    Approval,
    ContextEdit,
    ErrorStep,
    Event,
    Final,
    Retry,
    StepError,
)

_DURATIONS: tuple[tuple[str, float], ...] = (
    ("seconds", 1.0),
    ("duration_s", 1.0),
    ("latency_s", 1.0),
    ("latency_sec", 1.0),
    ("duration_ms", 0.001),
    ("durationMs", 0.001),
    ("latency_ms", 0.001),
    ("elapsed_ms", 0.001),
)
_NESTED_RESULTS = tuple(key for key in FIELDS["result"] if key not in ("content", "response"))


class EventReader:
    """Reads the records of one log in order.

    Args:
        builder: Where the steps go.
        names: The names of the log.
        separate: (call id, tool) of the calls that have a record of their own: a copy of one inside the
            record of a model call is not a second call.
    """

    def __init__(self, builder: StepBuilder, names: Names, separate: frozenset[tuple[str, str]] = frozenset()) -> None:
        self._builder = builder
        self._names = names
        self._separate = separate
        self._turn: str | None = None
        self._assumed_utc = False
        self.stop_reason: str | None = None
        self.final: str | None = None

    def take(self, record: dict[str, Any]) -> None:
        """The steps of one record."""
        fields = _Fields(record, self._names)
        kind = self._names.kind_of(record) or "event"
        common = fields.common(self._turn)
        if fields.assumed_utc and not self._assumed_utc:
            self._assumed_utc = True
            self._builder.note("TIME_ASSUMED_UTC", "times without a zone were taken as UTC", severity="info")
        reader = getattr(self, f"_{kind}", None)
        if reader is None:
            self._event(fields, common)
        else:
            reader(fields, common)

    def _llm_call(self, fields: _Fields, common: dict[str, Any]) -> None:
        self._turn = common["turn"] = string(fields.take("turn")) or self._builder.new_turn()
        usage = read_usage(fields.take("usage"), cost_usd=fields.pop("cost_usd"))
        text = fields.take("text")
        calls = objects(fields.pop("tool_calls"))
        if isinstance(text, dict) and "content" in text:
            calls = calls or objects(text.get("tool_calls"))
            text = text["content"]
        content = read_content(None if text is MISSING else text)
        if content.parts:
            self._builder.message("assistant", content, usage=usage, extra=fields.rest(), **common)
        elif usage is not None or not calls:
            self._builder.add(Event, name="llm_call", data=fields.rest() or None, usage=usage, **common)
        for call in calls:
            inner = mapping(call.get("function")) or call
            found = _Fields(inner, self._names)
            call_id, tool = string(call.get("id")) or string(call.get("call_id")), string(found.take("tool"))
            if call_id and tool and (call_id, tool) in self._separate:
                continue
            raw = found.take("arguments")
            self._builder.call(tool, raw, call_id=call_id, plain_text=True, turn=self._turn, agent=common["agent"])

    def _tool_call(self, fields: _Fields, common: dict[str, Any]) -> None:
        tool = fields.take("tool")
        raw = fields.take("arguments")
        if isinstance(tool, dict):  # the entry of a list of OpenAI tool calls
            function = mapping(tool)
            tool, raw = function.get("name"), function.get("arguments", raw)
        call_id = fields.take("call_id")
        attempt = count(fields.pop("attempt"))
        results = {key: fields.pop(key) for key in _NESTED_RESULTS if fields.left.get(key) is not None}
        status, error = result_status(fields.left), error_of(fields.left)
        if results or error is not None:
            for key in ("error", "is_error", "status", "success", "ok"):
                fields.pop(key)
        call_id = None if call_id is MISSING else call_id
        read = read_arguments(raw, plain_text=True)
        extra = fields.rest()
        index = self._builder.call(tool, read, call_id=call_id, attempt=attempt or 1, extra=extra, **common)
        if results or error is not None:
            inside = {name: common[name] for name in ("agent", "turn")}
            inside.update(call_id=call_id, nested_in=index, status=status, error=error)
            self._nested_result(results, inside)

    def _nested_result(self, results: dict[str, Any], inside: dict[str, Any]) -> None:
        keys = list(results)
        value = results[keys[0]] if len(keys) == 1 else results or None
        content, structured = result_content(value, bare_strings=False)
        extra = {"key": keys[0]} if len(keys) == 1 and keys[0] not in ("result", "output") else None
        self._builder.result(content, structured=structured, extra=extra, **inside)

    def _tool_result(self, fields: _Fields, common: dict[str, Any]) -> None:
        value = fields.take("result")
        call_id = fields.take("call_id")
        name = string(fields.take("tool"))
        status, error = result_status(fields.left), error_of(fields.left)
        for key in ("error", "exception", "is_error", "isError", "status", "success", "ok"):
            if key in fields.left and (status != "unknown" or fields.left[key] is None):
                fields.left.pop(key)
        content, structured = (Content(), None) if value is MISSING else result_content(value, bare_strings=False)
        extra = fields.rest() or {}
        if name:
            extra["name"] = name
        self._builder.result(
            content,
            call_id=None if call_id is MISSING else call_id,
            name=name,
            structured=structured,
            status=status,
            error=error,
            extra=extra or None,
            **common,
        )

    def _approval(self, fields: _Fields, common: dict[str, Any]) -> None:
        decided = fields.take("decision")
        state = approval_state(decided, self._names.type_of(fields.record))
        if state is None:
            index = self._builder.add(Event, name="approval", data=fields.record, **common)
            self._builder.note("UNKNOWN_APPROVAL", f"an approval says {decided!r}; it was kept as an event", index)
            return
        call_id = fields.take("call_id")
        self._builder.add(
            Approval,
            call_id=None if call_id is MISSING else string(call_id),
            tool=string(fields.take("tool")),
            state=state,
            approver=string(fields.take("approver")),
            reason=string(fields.take("reason")),
            extra=fields.rest(),
            **common,
        )

    def _tool_retry(self, fields: _Fields, common: dict[str, Any]) -> None:
        call_id = fields.take("call_id")
        seconds, milliseconds = number(fields.pop("backoff_s")), number(fields.pop("backoff_ms"))
        self._builder.add(
            Retry,
            call_id=None if call_id is MISSING else string(call_id),
            tool=string(fields.take("tool")),
            attempt=max(count(fields.pop("attempt")) or 2, 1),
            backoff_s=seconds if seconds is not None else milliseconds / 1000 if milliseconds is not None else None,
            extra=fields.rest(),
            **common,
        )

    def _final(self, fields: _Fields, common: dict[str, Any]) -> None:
        value = fields.take("text")
        content = read_content(None if value is MISSING else value)
        text = value if isinstance(value, str) else plain_text(content.parts)
        if text is None:
            self._stop(fields, common)
            return
        status = string(fields.take("status"))
        self._builder.add(Final, text=text, status=status, extra=fields.rest(), **common)
        self.final = text

    def _stop(self, fields: _Fields, common: dict[str, Any]) -> None:
        self.stop_reason = string(fields.record.get("reason")) or string(fields.record.get("stop_reason"))
        self._event(fields, common)

    def _error(self, fields: _Fields, common: dict[str, Any]) -> None:
        raw = fields.take("error")
        value = fields.take("text") if raw is MISSING else raw
        found = error_of({"error": None if value is MISSING else value}) or StepError()
        kind = found.type or string(fields.pop("error_type"))
        self._builder.add(ErrorStep, type=kind, message=found.message, extra=fields.rest(), **common)

    def _user(self, fields: _Fields, common: dict[str, Any]) -> None:
        self._message(fields, common, role="user")

    def _assistant(self, fields: _Fields, common: dict[str, Any]) -> None:
        self._message(fields, common, role="assistant")

    def _system(self, fields: _Fields, common: dict[str, Any]) -> None:
        self._message(fields, common, role="system")

    def _message(self, fields: _Fields, common: dict[str, Any], role: str | None = None) -> None:
        role = role or string(fields.pop("role")) or "assistant"
        if role not in ("user", "assistant", "system", "developer"):
            role = "other"
        value = fields.take("text")
        self._builder.message(role, read_content(None if value is MISSING else value), extra=fields.rest(), **common)

    def _reasoning(self, fields: _Fields, common: dict[str, Any]) -> None:
        value = fields.take("text")
        self._builder.reasoning(read_content(None if value is MISSING else value), extra=fields.rest(), **common)

    def _agent_transfer(self, fields: _Fields, common: dict[str, Any]) -> None:
        source = string(fields.pop("from_agent")) or string(fields.pop("from"))
        target = string(fields.pop("to_agent")) or string(fields.pop("to"))
        task = string(fields.pop("task"))
        self._builder.add(AgentTransfer, from_agent=source, to_agent=target, task=task, extra=fields.rest(), **common)

    def _context_edit(self, fields: _Fields, common: dict[str, Any]) -> None:
        op = string(fields.pop("op")) or "compaction"
        summary = string(fields.pop("summary"))
        self._builder.add(ContextEdit, op=op, summary=summary, extra=fields.rest(), **common)

    def _event(self, fields: _Fields, common: dict[str, Any]) -> None:
        name = self._names.type_of(fields.record)
        index = self._builder.add(Event, name=name or "record", data=fields.rest(), **common)
        if self._names.kind_of(fields.record) is None:
            self._builder.note("UNKNOWN_EVENT", f"an event of type {name!r} was kept whole", index, severity="info")


class _Fields:
    """One record, its keys taken one by one; what is left is `extra`."""

    def __init__(self, record: dict[str, Any], names: Names) -> None:
        self.record = record
        self.left = dict(record)
        self.assumed_utc = False
        self._names = names
        _, key = names.find(record, "type")
        if key is not None:
            self.left.pop(key, None)

    def take(self, field: str) -> Any:
        value, key = self._names.find(self.left, field)
        if key is not None:
            self.left.pop(key, None)
        return value

    def pop(self, key: str) -> Any:
        return self.left.pop(key, None)

    def common(self, turn: str | None) -> dict[str, Any]:
        raw = self.take("ts")
        moment = instant(raw)
        if moment.iso is None and raw is not MISSING and raw is not None:
            self.left["ts"] = raw
        self.assumed_utc = moment.assumed_utc and moment.iso is not None
        seconds = None
        for key, factor in _DURATIONS:
            value = number(self.left.get(key))
            if value is not None and seconds is None:
                seconds = round(value * factor, 9)
                del self.left[key]
        agent = string(self.take("agent"))
        return {"ts": moment.iso, "seconds": seconds, "agent": agent, "turn": turn}

    def rest(self) -> dict[str, Any] | None:
        left = {key: value for key, value in self.left.items() if value is not None}
        return left or None


def separate_calls(records: Sequence[Any], names: Names) -> frozenset[tuple[str, str]]:
    """(call id, tool) of the calls that have a record of their own in a log."""
    found: set[tuple[str, str]] = set()
    for record in records:
        if isinstance(record, dict) and names.kind_of(record) == "tool_call":
            call_id, _ = names.find(record, "call_id")
            tool, _ = names.find(record, "tool")
            if isinstance(tool, str) and string(call_id):
                found.add((str(call_id), tool))
    return frozenset(found)
