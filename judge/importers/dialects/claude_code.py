"""Claude Code: a session file, or the stream of `--output-format stream-json`, into steps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.content import plain_text, read_content
from judge.importers.dialects import anthropic_messages
from judge.importers.dialects.session_tree import Line, arrange
from judge.importers.envelope import Envelope
from judge.importers.fields import count, mapping, number, objects, rest, string
from judge.importers.log import Log, Look
from judge.importers.times import instant
from judge.importers.usage import read_usage
from judge.types.trajectory import Agent, ContextEdit, Event, Outcome, Usage

_CONSTANT = ("sessionId", "session_id", "version", "cwd", "gitBranch", "userType", "slug")
_KNOWN = ("type", "message", "timestamp", "isSidechain", *_CONSTANT)
_TYPES = frozenset({"user", "assistant", "system", "result", "stream_event"})


def look(record: dict[str, Any]) -> Look | None:
    """A line of a session on disk, or of the stream."""
    kind = record.get("type")
    if not isinstance(kind, str):
        return None
    if "sessionId" in record and ("uuid" in record or kind in ("queue-operation", "progress")):
        return Look("claude-code", "item", f"sessionId and uuid, type {kind!r}")
    if kind == "summary" and "leafUuid" in record:
        return Look("claude-code", "item", "a summary with leafUuid")
    if kind == "file-history-snapshot" and "snapshot" in record:
        return Look("claude-code", "item", "a file-history-snapshot")
    if "session_id" in record and kind in _TYPES and ("message" in record or "subtype" in record or "event" in record):
        return Look("claude-code", "item", f"session_id, type {kind!r}")
    return None


def read(records: list[Any]) -> Iterator[Log]:
    """One run a file; several where it holds sessions that share no line of descent."""
    lines = arrange(records)
    for session in _sessions(lines):
        yield _Session(session).read()


def _sessions(lines: list[Line]) -> list[list[Line]]:
    """Lines by session, where no session continues another; else all together."""
    home: dict[str | None, str | None] = {line.uuid: line.session for line in lines if line.uuid}
    names = list(dict.fromkeys(line.session for line in lines if line.session))
    crossed = any(line.parent in home and home[line.parent] != line.session for line in lines if line.session)
    if len(names) < 2 or crossed:
        return [lines]
    return [[line for line in lines if (line.session or names[0]) == name] for name in names]


class _Session:
    """Reads the lines of one run in order."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines
        self._builder = StepBuilder()
        self._usage = _usage_of_replies(lines)
        own = [line.session for line in lines if line.session]
        self._session = own[-1] if own else None
        self._alone = all(line.sidechain for line in lines if line.uuid)
        self._delegates = _delegating_calls(lines)
        self._prompts: dict[str, int] = {}
        self._calls: dict[str, int] = {}
        self._models: dict[str | None, str | None] = {}
        self._result: dict[str, Any] = {}
        self._branch = 0
        self._constant: dict[str, Any] = {}

    def read(self) -> Log:
        for line in self._lines:
            for key in _CONSTANT:
                if isinstance(line.record, dict) and key in line.record:
                    self._constant.setdefault(key, line.record[key])
        for at, line in enumerate(self._lines):
            self._take(at, line)
        versions = sorted({str(line.record["version"]) for line in self._lines if _has(line.record, "version")})
        meta = {**self._constant, **({"versions": versions} if len(versions) > 1 else {})}
        agents = tuple(
            Agent(name=name, role="subagent", model=model) for name, model in self._models.items() if name is not None
        )
        if None in self._models:
            agents = (Agent(name="claude-code", model=self._models[None]), *agents)
        return Log(
            self._builder,
            Envelope(id=self._name(), meta=meta),
            final=string(self._result.get("result")),
            outcome=_outcome(self._result),
            usage=_total(self._result),
            agents=agents,
        )

    def _name(self) -> str | None:
        agent = next((line.agent for line in self._lines if line.agent), None)
        return f"{self._session}-{agent}" if self._alone and agent and self._session else self._session

    def _take(self, at: int, line: Line) -> None:
        record = line.record
        if not isinstance(record, dict):
            index = self._builder.add(Event, name="record", data=record)
            self._builder.note("NOT_A_RECORD", f"a line is a {type(record).__name__}, not an object", index)
            return
        if line.branch != self._branch and not line.sidechain:
            if line.branch == 0:
                self._builder.add(ContextEdit, op="rewind", provenance="synthetic", extra={"branch": self._branch})
            self._branch = line.branch
        start = len(self._builder)
        self._write(at, line, record)
        copied = (line.session is not None and line.session != self._session) or "forkedFrom" in record
        extra = {k: v for k, v in rest(record, _KNOWN).items() if k != "toolUseResult"}
        extra |= {k: record[k] for k in _CONSTANT if k in record and record[k] != self._constant.get(k)}
        if line.branch:
            extra["branch"] = line.branch
        agent = line.agent if line.sidechain else None
        self._builder.fill(
            start,
            ts=instant(record.get("timestamp")).iso,
            agent=agent,
            parent=self._parent(line) if line.sidechain and not self._alone else None,
            provenance="copied_context" if copied else None,
            extra=extra,
        )
        for call_id, prompt in _prompts(record):
            if prompt and call_id in self._calls:
                self._prompts.setdefault(prompt, self._calls[call_id])

    def _write(self, at: int, line: Line, record: dict[str, Any]) -> None:
        kind = record.get("type")
        message = mapping(record.get("message"))
        if record.get("subtype") == "compact_boundary":
            following = self._lines[at + 1].record if at + 1 < len(self._lines) else None
            self._builder.add(ContextEdit, op="compaction", summary=_summary(following))
        elif record.get("isCompactSummary") is True:
            before = self._lines[at - 1].record if at else None
            if not _is(before, "subtype", "compact_boundary"):
                self._builder.add(ContextEdit, op="compaction", summary=_summary(record))
        elif kind in ("user", "assistant") and isinstance(message.get("role"), str) and "content" in message:
            self._message(line, record, message)
        elif kind == "result" and "session_id" in record:
            self._result = record
            self._builder.add(Event, name="result", data=record)
        else:
            name = ":".join(str(record[key]) for key in ("type", "subtype") if isinstance(record.get(key), str))
            index = self._builder.add(Event, name=name or "record", data=record)
            if kind in ("user", "assistant"):
                self._builder.note("UNREADABLE_MESSAGE", "a message without role or content was kept whole", index)
            elif not name:
                self._builder.note("UNKNOWN_EVENT", "a line without a type was kept whole", index, severity="info")

    def _message(self, line: Line, record: dict[str, Any], message: dict[str, Any]) -> None:
        copied = line.session is not None and line.session != self._session
        usage = (
            None if copied else self._usage.pop(line.reply, None) if line.reply else read_usage(message.get("usage"))
        )
        before = len(self._builder)
        anthropic_messages.add_message(self._builder, message, usage=usage, turn=line.reply)
        blocks = objects(message.get("content"))
        at = before
        if message.get("role") == "assistant":
            self._models.setdefault(line.agent if line.sidechain else None, string(message.get("model")))
        for block in blocks:
            if string(block.get("type")) in anthropic_messages.CALL_BLOCKS and isinstance(block.get("id"), str):
                at = self._builder.find_call(block["id"], at)
                self._calls[block["id"]] = at
        results = [block for block in blocks if block.get("type") == "tool_result"]
        detail = record.get("toolUseResult", record.get("tool_use_result"))
        if (detail is not None and len(results) == 1 and detail != results[0].get("content")) or (
            detail is not None and len(results) != 1
        ):
            self._builder.fill(before, extra={"toolUseResult": detail})

    def _parent(self, line: Line) -> int | None:
        """The call that started the sub-agent: by its id, else by its prompt."""
        record = line.record
        call_id = string(record.get("parent_tool_use_id")) or self._delegates.get(line.agent or "")
        if call_id in self._calls:
            return self._calls[str(call_id)]
        return self._prompts.get(line.prompt or "")


def _usage_of_replies(lines: list[Line]) -> dict[str | None, Usage | None]:
    """Usage of each reply, once: of its last line, which has seen the most of it."""
    found: dict[str | None, Usage | None] = {}
    for line in lines:
        if line.reply and isinstance(line.record, dict):
            usage = read_usage(mapping(line.record.get("message")).get("usage"))
            if usage is not None:
                found[line.reply] = usage
    return found


def _delegating_calls(lines: list[Line]) -> dict[str, str]:
    """Agent to the call that started it, from the results that name the agent."""
    found: dict[str, str] = {}
    for line in lines:
        record = line.record if isinstance(line.record, dict) else {}
        agent = string(mapping(record.get("toolUseResult")).get("agentId"))
        for block in objects(mapping(record.get("message")).get("content")):
            if agent and block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str):
                found[agent] = block["tool_use_id"]
    return found


def _prompts(record: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    for block in objects(mapping(record.get("message")).get("content")):
        if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
            yield block["id"], string(mapping(block.get("input")).get("prompt"))


def _summary(record: Any) -> str | None:
    if not _is(record, "isCompactSummary", True):
        return None
    content = read_content(mapping(record.get("message")).get("content"))
    return plain_text(content.parts) or json.dumps(record.get("message"), ensure_ascii=False)


def _has(record: Any, key: str) -> bool:
    return isinstance(record, dict) and isinstance(record.get(key), str)


def _is(record: Any, key: str, value: Any) -> bool:
    return isinstance(record, dict) and record.get(key) == value


def _outcome(result: dict[str, Any]) -> Outcome | None:
    if not result:
        return None
    reason = string(result.get("subtype"))
    if isinstance(reason, str) and reason.startswith("error_max"):
        return Outcome(status="limit", stop_reason=reason)
    return Outcome(status="failed" if result.get("is_error") is True else "completed", stop_reason=reason)


def _total(result: dict[str, Any]) -> Usage | None:
    usage = read_usage(result.get("usage"), cost_usd=number(result.get("total_cost_usd")))
    return usage if usage is not None and count(usage.input_tokens) is not None else None
