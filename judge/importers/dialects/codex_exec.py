"""The stream of `codex exec --json` into steps: an item that starts, goes on and completes is one item."""

from __future__ import annotations

from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.content import read_content
from judge.importers.dialects.openai_messages import result_content
from judge.importers.envelope import Envelope
from judge.importers.fields import count, mapping, rest, string
from judge.importers.log import Log
from judge.types.trajectory import ErrorStep, Event, Outcome, ResultStatus, StepError, Usage

_TURNS = frozenset({"thread.started", "turn.started", "turn.completed", "turn.failed"})
_ITEMS = frozenset({"item.started", "item.updated", "item.completed"})
_CALLS = frozenset({"command_execution", "mcp_tool_call", "file_change", "web_search"})
_RESULT_KEYS = ("aggregated_output", "exit_code", "status", "result", "error")


def is_exec(record: dict[str, Any]) -> bool:
    """Whether a record is one of the stream."""
    kind = record.get("type")
    return isinstance(kind, str) and (kind in _TURNS or (kind in _ITEMS and isinstance(record.get("item"), dict)))


class ExecReader:
    """Reads the records of one stream."""

    def __init__(self) -> None:
        self._builder = StepBuilder()
        self._id: str | None = None
        self._turn = 0
        self._outcome: Outcome | None = None

    def read(self, records: list[Any]) -> Log:
        """The run, each item in the place where it began, as it was last told."""
        order: list[Any] = []
        last: dict[tuple[int, str], dict[str, Any]] = {}
        turn = 0
        for record in records:
            kind = string(record.get("type")) if isinstance(record, dict) else None
            turn += kind == "turn.started"
            if kind in _ITEMS:
                key = (turn, str(mapping(record.get("item")).get("id")))
                if key not in last:
                    order.append(key)
                last[key] = mapping(record.get("item"))
            else:
                order.append(record)
        for entry in order:
            if isinstance(entry, tuple):
                self._item(last[entry])
            else:
                self._record(entry)
        return Log(self._builder, Envelope(id=self._id), outcome=self._outcome)

    def _record(self, record: Any) -> None:
        if not isinstance(record, dict):
            index = self._builder.add(Event, name="record", data=record)
            self._builder.note("NOT_A_RECORD", f"a line is a {type(record).__name__}, not an object", index)
            return
        kind = string(record.get("type")) or "record"
        if kind == "thread.started":
            self._id = self._id or string(record.get("thread_id"))
        self._turn += kind == "turn.started"
        if kind in ("turn.failed", "error"):
            detail = mapping(record.get("error")) or record
            self._builder.add(ErrorStep, type=kind, message=string(detail.get("message")))
            self._outcome = Outcome(status="failed", stop_reason=kind)
            return
        usage = None
        if kind == "turn.completed":
            raw = mapping(record.get("usage"))
            usage = Usage(
                input_tokens=count(raw.get("input_tokens")),
                output_tokens=count(raw.get("output_tokens")),
                cache_read_input_tokens=count(raw.get("cached_input_tokens")),
            )
            self._outcome = Outcome(status="completed")
        self._builder.add(Event, name=kind, data=record, usage=usage, turn=f"turn-{self._turn}")

    def _item(self, item: dict[str, Any]) -> None:
        kind = string(item.get("type")) or string(item.get("item_type")) or "item"
        turn = f"turn-{self._turn}"
        if kind in ("agent_message", "assistant_message"):
            self._builder.message("assistant", read_content(item.get("text")), turn=turn)
        elif kind == "reasoning":
            self._builder.reasoning(read_content(item.get("text")), turn=turn)
        elif kind == "error":
            self._builder.add(ErrorStep, type=kind, message=string(item.get("message")), turn=turn)
        elif kind in _CALLS:
            self._call(kind, item, turn)
        else:
            self._builder.add(Event, name=kind, data=item, turn=turn)

    def _call(self, kind: str, item: dict[str, Any], turn: str) -> None:
        name = kind
        arguments: Any = rest(item, ("id", "type", "item_type", *_RESULT_KEYS))
        if kind == "mcp_tool_call":
            name = ".".join(filter(None, (string(item.get("server")), string(item.get("tool"))))) or kind
            arguments = item.get("arguments", {})
        call_id = f"{turn}/{item.get('id')}"  # ids begin anew with each turn
        index = self._builder.call(name, arguments, call_id=call_id, turn=turn)
        if item.get("status") == "in_progress":
            return
        status: ResultStatus = {"completed": "ok", "failed": "error", "declined": "denied"}.get(  # type: ignore[assignment]
            str(item.get("status")), "unknown"
        )
        code = item.get("exit_code")
        if isinstance(code, int) and not isinstance(code, bool):
            status = "ok" if code == 0 else "error"
        content, structured = result_content(item.get("aggregated_output", item.get("result")))
        detail = mapping(item.get("error"))
        error = StepError(message=string(detail.get("message"))) if detail else None
        extra = rest(item, [key for key in item if key not in ("exit_code", "status")])
        self._builder.result(
            content,
            call_id=call_id,
            structured=structured,
            status=status,
            error=error,
            nested_in=index,
            turn=turn,
            extra=extra or None,
        )
