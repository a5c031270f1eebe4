"""Spans of one trace into steps: calls and results once each, the history that model calls repeat left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from judge.importers.arguments import read_arguments
from judge.importers.builder import Draft, StepBuilder
from judge.importers.content import Content
from judge.importers.dialects import messages
from judge.importers.dialects.openai_messages import result_content
from judge.importers.dialects.payloads import Payload, read_payload
from judge.importers.dialects.spans import Span, above, by_trace, decoded, ordered, seconds_of
from judge.importers.draft_keys import Key, canonical, key_of
from judge.importers.envelope import Envelope, read_tools
from judge.importers.fields import MISSING, mapping
from judge.importers.log import Log
from judge.types.trajectory import (
    ErrorStep,
    Event,
    Message,
    Outcome,
    Tool,
    ToolCall,
    ToolResult,
)


class _Asked(NamedTuple):
    """A call that was written, and whether a tool span has told of it."""

    step: int
    call_id: str | None
    name: str
    arguments: str
    turn: str | None
    agent: str | None


def logs_of(read_spans: Callable[[list[Any]], list[Span]]) -> Callable[[Any], Iterator[Log]]:
    """A reader of whole files from a reader of spans: one run a trace."""

    def read(records: Any) -> Iterator[Log]:
        spans = read_spans(records if isinstance(records, list) else [records])
        for name, found in by_trace(spans).items():
            yield _Trace(name, found).log()

    return read


class _Trace:
    """One trace, written span by span."""

    def __init__(self, name: str, spans: Sequence[Span]) -> None:
        self._name = name
        self._spans = ordered(spans)
        self._by_id = {span.id: span for span in self._spans if span.id}
        self._parents = {span.id: span.parent for span in self._spans if span.id}
        self._builder = StepBuilder()
        self._known: Counter[Key] = Counter()
        self._threads: list[list[Key]] = []
        self._current: list[Key] = []
        self._open: list[_Asked] = []
        self._answers: dict[str, int] = {}
        self._tools: dict[str, Tool] = {}

    def log(self) -> Log:
        """The run."""
        self._note_gaps()
        wrappers = self._wrappers()
        inner = [span for span in self._spans if span.kind in ("llm", "tool") and span.id not in wrappers]
        spoken = any(span.kind == "llm" for span in inner)
        agents: list[Span] = []
        for span in self._spans:
            for tool in span.tools:
                self._tools.setdefault(tool.name, tool)
            if span.kind == "tool":
                self._tool(span)
            elif span.kind == "llm" and span.id not in wrappers:
                self._ask(span)
                self._answer(span)
            elif span.kind == "agent" and not spoken:
                self._ask(span)
                agents.append(span)
            elif span.kind == "other":
                self._other(span)
            elif span.kind == "chain" and not inner:
                self._plain(span)
            if span.kind not in ("tool", "llm") and span.status == "error" and not self._blamed_below(span):
                error = span.error
                fields = {"type": error.type, "message": error.message} if error else {}
                self._builder.add(ErrorStep, **fields, **self._common(span))
        for span in reversed(agents):  # what an agent answered comes after all that it did
            self._answer(span)
        if not len(self._builder):
            self._bare()
        return self._made()

    def _made(self) -> Log:
        roots = [span for span in self._spans if span.parent not in self._by_id]
        totals = [span.total for span in roots if span.total is not None]
        counted = any(span.usage is not None for span in self._spans if span.kind == "llm")
        session = next((span.session for span in self._spans if span.session), None)
        meta: dict[str, Any] = {"spans": len(self._spans)}
        if session:
            meta["session"] = session
        root = roots[0] if len(roots) == 1 and roots[0].kind in ("agent", "chain") else None
        task = self._text(root.inputs, "user") if root else None
        final = self._text(root.outputs, "assistant") if root else None
        said = any(draft.kind is Message and draft.fields.get("role") == "user" for draft in self._builder.drafts())
        outcome = None
        if root is not None and root.status != "unknown":
            outcome = Outcome(status="failed" if root.status == "error" else "completed")
        envelope = Envelope(
            id=self._name or None,
            task=None if said else task,
            final=final,
            tools=tuple(self._tools.values()),
            meta=meta,
        )
        usage = totals[0] if len(totals) == 1 and not counted else None
        return Log(self._builder, envelope, f"trace {self._name}", final=final, outcome=outcome, usage=usage)

    def _text(self, value: Any, role: str) -> str | None:
        """The words of a root span's input or output, where it is text or ends in a message of text."""
        found = read_payload(value, role).messages
        last = found[-1] if found else {}
        content = last.get("content")
        return content if last.get("role") == role and isinstance(content, str) and not last.get("tool_calls") else None

    def _note_gaps(self) -> None:
        lost = [span for span in self._spans if span.parent and span.parent not in self._by_id]
        if lost:
            text = f"{len(lost)} spans name a parent that is not in the file, first {lost[0].name!r}"
            self._builder.note("ORPHAN_SPAN", text, severity="info")
        if self._spans and all(span.parent in self._by_id for span in self._spans):
            self._builder.note("SPAN_CYCLE", "the parents of the spans form a circle; read by time")

    def _wrappers(self) -> set[str | None]:
        """Model-call spans that hold other model-call spans: the inner ones count."""
        calls = {span.id for span in self._spans if span.kind == "llm" and span.id}
        return {
            name for span in self._spans if span.id in calls for name in above(span, self._parents) if name in calls
        }

    def _blamed_below(self, span: Span) -> bool:
        return any(
            other.status == "error" and span.id in above(other, self._parents) for other in self._spans if other.id
        )

    def _agent(self, span: Span) -> str | None:
        if span.agent:
            return span.agent
        found = (self._by_id[name].agent for name in above(span, self._parents) if name in self._by_id)
        return next((agent for agent in found if agent), None)

    def _common(self, span: Span) -> dict[str, Any]:
        return {"ts": span.ts, "agent": self._agent(span)}

    def _ask(self, span: Span) -> None:
        """What a span was given, as far as no earlier span has said it."""
        asked = read_payload(span.inputs, "user")
        self._define(asked.tools)
        self._history(_drafts(asked, None), self._common(span))
        self._rest(asked, f"{span.kind}_input", self._common(span))

    def _answer(self, span: Span) -> None:
        """What a span gave; all of it is new. The first step has the usage and the duration of the call."""
        told = read_payload(span.outputs, "assistant")
        self._define(told.tools)
        common = self._common(span)
        turn = span.id or self._builder.new_turn()
        drafts = [draft._replace(fields={**draft.fields, "turn": turn}) for draft in _drafts(told, turn)]
        first = {**common, "usage": span.usage, "seconds": seconds_of(span)}
        if drafts:
            usage = span.usage or drafts[0].fields.get("usage")
            own = {key: value for key, value in drafts[0].fields.items() if key != "usage"}
            drafts[0] = drafts[0]._replace(fields={**own, "usage": usage} if usage else own)
            self._write(drafts, common, first)
        elif span.kind == "llm" and span.status == "error":
            error = span.error
            fields = {"type": error.type, "message": error.message} if error else {}
            self._builder.add(ErrorStep, turn=turn, **fields, **_only(first))
        elif span.kind == "llm" and not told.rest:
            data = {"span": span.name, "model": span.model}
            index = self._builder.add(Event, name="llm_call", data=data, turn=turn, **_only(first))
            self._builder.note("CONTENT_NOT_RECORDED", "a model call without its messages", index, severity="info")
        self._rest(told, f"{span.kind}_output", common)

    def _define(self, tools: Sequence[dict[str, Any]]) -> None:
        for tool in read_tools(list(tools)):
            self._tools.setdefault(tool.name, tool)

    def _rest(self, payload: Payload, name: str, common: dict[str, Any]) -> None:
        for value in payload.rest:
            index = self._builder.add(Event, name=name, data=value, **_only(common))
            self._builder.note("UNREADABLE_MESSAGE", f"{name}: no message of a known shape; kept whole", index)

    def _history(self, drafts: list[Draft], common: dict[str, Any]) -> None:
        """Writes of a model call's input what no earlier span of this trace has said.

        A message is a copy where it stands in the same conversation, in the same order; a call, a result or a
        thought where it is the n-th with its id and there were n already. An agent's own repetition is output of
        a span of its own, and never left out.
        """
        keys = [key_of(draft) for draft in drafts]
        best: list[bool] = [False] * len(drafts)
        thread: list[Key] | None = None
        for candidate in self._threads:
            copies = self._copies(drafts, keys, candidate)
            if sum(copies) > sum(best):
                best, thread = copies, candidate
        if thread is None:
            thread = []
            self._threads.append(thread)
            best = self._copies(drafts, keys, thread)
        self._current = thread
        self._write([draft for draft, copy in zip(drafts, best, strict=True) if not copy], common, common)

    def _copies(self, drafts: list[Draft], keys: list[Key], thread: list[Key]) -> list[bool]:
        out: list[bool] = []
        used: Counter[Key] = Counter()
        place = 0
        for draft, key in zip(drafts, keys, strict=True):
            if draft.kind is Message:
                found = next((at for at in range(place, len(thread)) if thread[at] == key), None)
                place = place if found is None else found + 1
                out.append(found is not None)
            else:
                used[key] += 1
                out.append(used[key] <= self._known[key])
        return out

    def _write(self, drafts: list[Draft], common: dict[str, Any], first: dict[str, Any]) -> None:
        places: dict[int, int] = {}
        for draft in drafts:
            index = self._builder.adopt(draft, places, **first)
            first = common
            key = key_of(draft)
            self._known[key] += 1
            if draft.kind is Message:
                self._current.append(key)
            elif draft.kind is ToolCall:
                self._asked(index, draft.fields, common.get("agent"))
            elif draft.kind is ToolResult and draft.fields.get("call_id"):
                self._answers[draft.fields["call_id"]] = index

    def _asked(self, index: int, fields: dict[str, Any], agent: str | None) -> None:
        arguments = canonical(fields.get("arguments", fields.get("arguments_raw")))
        self._open.append(_Asked(index, fields.get("call_id"), fields["name"], arguments, fields.get("turn"), agent))

    def _tool(self, span: Span) -> None:
        given = span.arguments
        plain = mapping(decoded(given))
        if set(plain) == {"INVALID_JSON"} and isinstance(plain["INVALID_JSON"], str):
            given = plain["INVALID_JSON"]
        read = read_arguments(given, plain_text=True)
        name = span.tool or span.name
        value = decoded(span.result)
        message = value if isinstance(value, dict) and messages.is_message(value) and _is_result(value) else None
        call_id = span.call_id or _told_id(message)
        same = canonical(read.value if read.value is not None else read.raw)
        asked, pairing = self._match(call_id, name, same, given is MISSING)
        if asked is None:
            index = self._builder.call(name, read, call_id=call_id, **_only(self._common(span)))
            asked = _Asked(index, call_id, name, same, None, self._agent(span))
            self._known[("call", call_id or "", name, same)] += 1
        else:
            self._open.remove(asked)
        self._result(span, message, value, asked, pairing)

    def _match(self, call_id: str | None, name: str, arguments: str, unknown: bool) -> tuple[_Asked | None, str]:
        if call_id:
            for asked in reversed(self._open):
                if asked.call_id == call_id:
                    return asked, "id"
        for asked in self._open:
            if asked.name == name and (unknown or asked.arguments == arguments) and not (call_id and asked.call_id):
                return asked, "name"
        return None, "id" if call_id else "nested"

    def _result(self, span: Span, message: dict[str, Any] | None, value: Any, asked: _Asked, pairing: str) -> None:
        call_id = asked.call_id or span.call_id
        fields: dict[str, Any] = {"content": (), "structured": None, "status": span.status, "error": span.error}
        extra = dict(span.extra)
        if message is not None:
            scratch = StepBuilder()
            messages.add_message(scratch, message)
            made = next((draft.fields for draft in scratch.drafts() if draft.kind is ToolResult), {})
            status = made.get("status", "unknown")
            fields.update(content=made.get("content", ()), structured=made.get("structured"))
            fields["status"] = status if span.status == "unknown" or status != "unknown" else span.status
            fields["error"] = span.error or made.get("error")
            extra = {**extra, **(made.get("extra") or {})}
        elif value is not MISSING:
            content, structured = _content(value)
            fields.update(content=content.parts, structured=structured)
        elif span.status != "error":
            return
        earlier = self._answers.get(call_id) if call_id else None
        if earlier is not None and pairing == "id":  # a later model call told it before the tool's span did
            kept = {name: item for name, item in fields.items() if name != "status"}
            self._builder.amend(earlier, ts=span.end, seconds=seconds_of(span), **kept)
            self._builder.settle(earlier, span.status)
            return
        index = self._builder.add(
            ToolResult,
            call_id=call_id,
            call_index=asked.step,
            pairing=pairing,
            ts=span.end or span.ts,
            seconds=seconds_of(span),
            agent=asked.agent or self._agent(span),
            extra=extra or None,
            **fields,
        )
        if pairing == "name":
            text = "the tool's span was joined to its call by name and arguments: it has no id of the call"
            self._builder.note("JOINED_BY_NAME", text, index, severity="info")
        if call_id:
            self._answers[call_id] = index
        self._known[("result", call_id or "", "" if call_id else asked.name)] += 1
        if call_id:
            self._known[("result", "", asked.name)] += 1

    def _other(self, span: Span) -> None:
        data = {"span": span.name}
        for key, value in (("input", span.inputs), ("output", span.outputs), ("attributes", span.extra or MISSING)):
            if value is not MISSING and value is not None:
                data[key] = decoded(value)
        self._builder.add(Event, name=span.name or "span", data=data, seconds=seconds_of(span), **self._common(span))

    def _bare(self) -> None:
        """A trace whose spans hold no content: that they ran is all there is to keep."""
        for span in self._spans:
            self._other(span)
        self._builder.note("CONTENT_NOT_RECORDED", "no span of this trace holds messages, calls or results")

    def _plain(self, span: Span) -> None:
        """A span of a trace in which no model and no tool was called."""
        self._other(span)
        if len(self._builder) == 1:
            text = "no span of this trace is a model call or a tool: they are kept as events"
            self._builder.note("NO_AGENT_SPANS", text)


def _only(common: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in common.items() if value is not None}


def _drafts(payload: Payload, turn: str | None) -> list[Draft]:
    scratch = StepBuilder()
    for message in payload.messages:
        messages.add_message(scratch, message, turn=turn)
    return list(scratch.drafts())


def _content(value: Any) -> tuple[Content, Any]:
    inner = value.get("content") if isinstance(value, dict) and set(value) == {"content"} else value
    return result_content(inner)


def _is_result(value: dict[str, Any]) -> bool:
    return value.get("type") in ("tool", "ToolMessage", "constructor") or value.get("role") == "tool"


def _told_id(message: dict[str, Any] | None) -> str | None:
    found = mapping((message or {}).get("kwargs")) or mapping((message or {}).get("data")) or message or {}
    name = found.get("tool_call_id")
    return name if isinstance(name, str) and name else None
