"""Codex: a rollout file, or the stream of `codex exec --json`, into steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.content import read_content
from judge.importers.dialects.codex_exec import ExecReader, is_exec
from judge.importers.dialects.codex_items import ITEM_TYPES, add_item
from judge.importers.envelope import Envelope
from judge.importers.fields import count, mapping, string
from judge.importers.log import Log, Look
from judge.importers.times import instant
from judge.types.trajectory import Agent, Approval, ContextEdit, ErrorStep, Event, Outcome, Usage

_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_COPIES = {"user_message": "user", "agent_message": "assistant", "agent_reasoning": "reasoning"}
"""Events that repeat, for the screen, what a response item says."""


def look(record: dict[str, Any]) -> Look | None:
    """A line of a rollout, or of the stream."""
    kind = record.get("type")
    if not isinstance(kind, str):
        return None
    if kind in _TYPES and isinstance(record.get("payload"), dict):
        return Look("codex", "item", f"{kind!r} with a payload")
    return Look("codex", "item", f"event {kind!r}", 90) if is_exec(record) else None


def read(records: list[Any]) -> Iterator[Log]:
    """The one run of a file."""
    if any(isinstance(record, dict) and is_exec(record) for record in records):
        yield ExecReader().read(records)
    else:
        yield _Rollout(records).read()


class _Rollout:
    """Reads the lines of one rollout in order."""

    def __init__(self, records: list[Any]) -> None:
        self._records = records
        self._builder = StepBuilder()
        self._meta: dict[str, Any] = {}
        self._total: dict[str, Any] = {}
        self._outcome: Outcome | None = None
        self._model: str | None = None
        self._turn: str | None = None
        self._copies: Counter[str] = Counter()
        self._has_items = any(isinstance(r, dict) and r.get("type") == "response_item" for r in records)
        first = next((r for r in records if isinstance(r, dict) and r.get("type") == "session_meta"), {})
        opened = mapping(first.get("payload"))
        self._began = instant(first.get("timestamp")).iso if "forked_from_id" in opened else None

    def read(self) -> Log:
        for record in self._records:
            self._take(record)
        for kind, number in sorted(self._copies.items()):
            text = f"{number} events of type {kind!r} repeat response items and were taken once"
            self._builder.note("REPEATED_EVENTS", text, severity="info")
        source = mapping(mapping(self._meta.get("source")).get("subagent"))
        agents = (Agent(name="codex", role="subagent" if source else None, model=self._model),) if self._meta else ()
        return Log(
            self._builder,
            Envelope(id=string(self._meta.get("id")), meta=self._meta),
            outcome=self._outcome,
            usage=_usage(self._total),
            agents=agents,
        )

    def _take(self, record: Any) -> None:
        if not isinstance(record, dict):
            index = self._builder.add(Event, name="record", data=record)
            self._builder.note("NOT_A_RECORD", f"a line is a {type(record).__name__}, not an object", index)
            return
        start = len(self._builder)
        kind, payload = record.get("type"), mapping(record.get("payload"))
        ts = instant(record.get("timestamp")).iso
        if kind == "session_meta":
            self._session(payload)
        elif kind == "response_item":
            self._item(payload)
        elif kind == "event_msg":
            self._event(payload)
        elif kind == "turn_context":
            self._turn = None
            self._model = string(payload.get("model")) or self._model
            self._builder.add(Event, name="turn_context", data=payload)
        elif kind == "compacted":
            left = {key: value for key, value in payload.items() if key != "message" and value is not None}
            summary = string(payload.get("message"))
            self._builder.add(ContextEdit, op="compaction", summary=summary, extra=left or None)
        elif (isinstance(kind, str) and kind in ITEM_TYPES) or "role" in record:  # rollouts of old have no envelope
            self._item(record)
        else:
            self._unknown(str(kind or "record"), record)
        copied = self._began is not None and ts is not None and ts < self._began
        self._builder.fill(start, ts=ts, provenance="copied_context" if copied else None)

    def _session(self, payload: dict[str, Any]) -> None:
        if self._meta:  # a fork repeats the head of what it was made from
            self._builder.add(Event, name="session_meta", data=payload)
        else:
            self._meta = payload

    def _item(self, payload: dict[str, Any]) -> None:
        if payload.get("role") == "user" or payload.get("type") in ("function_call_output", "custom_tool_call_output"):
            self._turn = None
        elif self._turn is None:
            self._turn = self._builder.new_turn()
        if not add_item(self._builder, payload, self._turn):
            self._unknown(str(payload.get("type") or "response_item"), payload)

    def _event(self, payload: dict[str, Any]) -> None:
        kind = string(payload.get("type")) or "event_msg"
        if kind == "token_count":
            self._total = mapping(mapping(payload.get("info")).get("total_token_usage")) or self._total
            self._builder.add(Event, name=kind, data=payload)
        elif kind == "turn_aborted":
            self._builder.add(ErrorStep, type=kind, message=string(payload.get("reason")))
            self._outcome = Outcome(status="aborted", stop_reason=string(payload.get("reason")))
        elif kind in ("exec_approval_request", "apply_patch_approval_request"):
            left = {key: value for key, value in payload.items() if key not in ("type", "call_id", "reason")}
            call_id, reason = string(payload.get("call_id")), string(payload.get("reason"))
            self._builder.add(Approval, call_id=call_id, state="requested", reason=reason, extra=left or None)
        elif kind == "error":
            self._builder.add(ErrorStep, type=kind, message=string(payload.get("message")))
        elif kind in _COPIES and self._has_items:
            self._copies[kind] += 1
        elif kind in _COPIES:
            text = read_content(payload.get("message", payload.get("text")))
            if _COPIES[kind] == "reasoning":
                self._builder.reasoning(text)
            else:
                self._builder.message(_COPIES[kind], text)
        else:
            self._builder.add(Event, name=kind, data=payload)
        if kind in ("task_started", "user_message"):
            self._outcome = None

    def _unknown(self, name: str, data: Any) -> None:
        index = self._builder.add(Event, name=name, data=data)
        self._builder.note("UNKNOWN_EVENT", f"a record of type {name!r} was kept whole", index, severity="info")


def _usage(total: dict[str, Any]) -> Usage | None:
    """The run's usage: the counter is cumulative, so its last value is the whole."""
    if not total:
        return None
    return Usage(
        input_tokens=count(total.get("input_tokens")),
        output_tokens=count(total.get("output_tokens")),
        cache_read_input_tokens=count(total.get("cached_input_tokens")),
        reasoning_output_tokens=count(total.get("reasoning_output_tokens")),
    )
