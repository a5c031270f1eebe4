"""Records of a file into trajectories: each record by what it is, so that a file may mix them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from judge.importers import logs
from judge.importers.builder import StepBuilder
from judge.importers.content import plain_text
from judge.importers.dialects import anthropic_messages, atif, calls, openai_messages
from judge.importers.dialects.classify import Claim, classify
from judge.importers.dialects.events import EventReader, separate_calls
from judge.importers.dialects.messages import ForeignReader, add_response, sign_of
from judge.importers.dialects.native import read_native
from judge.importers.dialects.stream import Stream, is_delta
from judge.importers.envelope import ITEM_KEYS, Envelope, read_envelope, read_tools
from judge.importers.fields import mapping as object_at
from judge.importers.fields import objects, string
from judge.importers.mapping import Vocabulary, read_mapping
from judge.importers.outcomes import outcome_of
from judge.importers.usage import read_usage
from judge.types.trajectory import (
    Agent,
    Approval,
    Diagnostic,
    Event,
    Final,
    Message,
    Outcome,
    Source,
    Step,
    ToolCall,
    ToolResult,
    Trajectory,
)

WHOLE = "whole file"
"""Locator of a file that is one JSON value."""


class Runs:
    """Reads the records of one file as one format wherever that fits, and by their own looks elsewhere.

    Args:
        format: Format that decides between several readings of a record.
        path: Of the file; names the trajectories that have no id of their own.
        passed_over: Takes the locator of each record that is no run and part of none.
    """

    def __init__(
        self,
        format: str,
        path: Path | None,
        mapping: Mapping[str, Any] | None,
        passed_over: Callable[[str], None] | None = None,
    ) -> None:
        self._passed_over = passed_over
        self._format = format
        self._path = path
        self._stem = path.name.split(".")[0] or path.name if path is not None else "stdin"
        self._words: Vocabulary = read_mapping(mapping)
        self._position = 0

    def read(self, records: Iterable[tuple[str, Any]]) -> Iterator[Trajectory]:
        """Trajectories as they come; runs whose steps stand one to a record come last."""
        open_runs: dict[str | None, list[tuple[str, Any]]] = {}
        key: str | None = None
        for locator, record in records:
            if isinstance(record, Trajectory):
                self._position += 1
                yield record
                continue
            claim = self._claim(record)
            if claim is not None and claim.layout != "item":
                yield from self._run(locator, record, claim)
                continue
            if claim is None and not open_runs:
                if self._passed_over is not None:
                    self._passed_over(locator)
                continue
            if isinstance(record, dict):
                own, _ = self._words.names.find(record, "run_id")
                key = string(own) or key
            open_runs.setdefault(key, []).append((locator, record))
        for name, run in open_runs.items():
            place = _span([locator for locator, _ in run])
            log = self._log_format([item for _, item in run])
            if log is not None:
                yield from self._logs(place, log, [item for _, item in run])
            else:
                yield self._items_run(name, run, None, place)

    def _log_format(self, items: Sequence[Any]) -> str | None:
        """The format with a reader of its own that most of the first records are in, if they are in one."""
        claims = [claim.format for claim in map(self._claim, items[:60]) if claim is not None]
        best = max(set(claims), key=claims.count, default=None)
        return best if best in logs.READERS else None

    def _logs(self, locator: str, format: str, record: Any) -> Iterator[Trajectory]:
        for log in logs.READERS[format](record):
            place = log.place if log.place and locator == WHOLE else f"{locator} {log.place}".strip()
            made = self._made(log.builder, log.envelope, format, place, log.final, log.outcome)
            changed = {"agents": log.agents or made.agents, "usage": log.usage}
            yield made.model_copy(update=changed) if log.agents or log.usage else made

    def _claim(self, record: Any) -> Claim | None:
        claims = classify(record, self._words.names, self._words.run)
        return next((claim for claim in claims if claim.format == self._format), claims[0] if claims else None)

    def _inner_runs(self, locator: str, record: list[Any]) -> Iterator[Trajectory]:
        for at, item in enumerate(record):
            claim = self._claim(item)
            place = f"[{at}]" if locator == WHOLE else f"{locator}[{at}]"
            if claim is not None and claim.layout != "item":
                yield from self._run(place, item, claim)

    def _run(self, locator: str, record: Any, claim: Claim) -> Iterator[Trajectory]:
        if claim.format in logs.READERS and claim.layout in ("run", "list"):
            yield from self._logs(locator, claim.format, record)
        elif claim.layout == "runs" and claim.key is not None:
            around = {name: value for name, value in record.items() if name != claim.key}
            for run in self._inner_runs(claim.key if locator == WHOLE else f"{locator}.{claim.key}", record[claim.key]):
                yield run.model_copy(update={"meta": {**run.meta, "around": around}}) if around else run
        elif claim.layout == "runs":
            yield from self._inner_runs(locator, record)
        elif claim.layout == "list":
            yield self._items_run(None, [(f"{locator}[{n}]", item) for n, item in enumerate(record)], claim, locator)
        elif claim.format == "native":
            self._position += 1
            yield read_native(record, where=f"{self._path or 'standard input'}, {locator}")
        elif claim.format == "atif":
            yield self._atif(locator, record)
        elif claim.format == "openai-responses" and claim.key is None:
            yield self._response(locator, record)
        elif claim.key is None:
            yield self._reply(locator, record, claim)
        else:
            yield self._container(locator, record, claim)

    def _source(self, format: str, locator: str) -> Source:
        return Source(format=format, path=None if self._path is None else str(self._path), locator=locator)

    def _id(self, envelope: Envelope) -> str:
        self._position += 1
        if envelope.id is None:
            return f"{self._stem}-{self._position}"
        return f"{self._stem}-{envelope.id}" if envelope.qualified else envelope.id

    def _container(self, locator: str, record: dict[str, Any], claim: Claim) -> Trajectory:
        key, inner, around = str(claim.key), record, record
        if key == "request":
            inner = object_at(record["request"])
            key = next(name for name in ITEM_KEYS if isinstance(inner.get(name), list))
            around = {**inner, **{name: value for name, value in record.items() if name != "request"}}
        with_final = claim.format in ("calls", "steps", "events")
        envelope = read_envelope(around, key, self._words.run, with_final=with_final)
        builder = StepBuilder()
        system = inner.get("system")
        if claim.format == "anthropic" and isinstance(system, str | list) and system:
            anthropic_messages.add_message(builder, {"role": "system", "content": system})
            envelope.meta.pop("system", None)
        reader = self._add_items(builder, inner[key])
        for interrupt in objects(record.get("__interrupt__")):
            builder.add(Approval, state="requested", extra={"interrupt": interrupt})  # a LangGraph run that waits
        outcome = None
        response = record.get("response")
        if isinstance(response, dict) and claim.format in ("openai-chat", "anthropic"):
            outcome = self._add_reply(builder, response)
            envelope.meta.pop("response", None)
        final = reader.final
        if envelope.final is not None and final is None:
            builder.add(Final, text=envelope.final)
            final = envelope.final
        return self._made(builder, envelope, claim.format, locator, final, outcome or _stopped(reader))

    def _items_run(
        self, name: str | None, items: Sequence[tuple[str, Any]], claim: Claim | None, locator: str
    ) -> Trajectory:
        builder = StepBuilder()
        start: dict[str, Any] = {}
        kept: list[Any] = []
        for _, item in items:
            if isinstance(item, dict) and self._words.names.kind_of(item) == "start" and "role" not in item:
                start.update(item)
            else:
                kept.append(item)
        found = claim or next((c for c in map(self._claim, kept) if c is not None), None)
        reader = self._add_items(builder, kept)
        envelope = read_envelope(start, None, self._words.run)
        envelope = envelope._replace(id=envelope.id or name, meta={"start": start} if start else {})
        format = found.format if found else self._format
        if claim is None and any(c is not None and c.format == self._format for c in map(self._claim, kept[:60])):
            format = self._format
        return self._made(builder, envelope, format, locator, reader.final, reader.outcome or _stopped(reader))

    def _add_items(self, builder: StepBuilder, items: Any) -> _Items:
        reader = _Items(builder, self._words, separate_calls(items, self._words.names))
        for item in items:
            reader.take(item)
        reader.end()
        return reader

    def _reply(self, locator: str, record: dict[str, Any], claim: Claim) -> Trajectory:
        builder = StepBuilder()
        outcome = self._add_reply(builder, record)
        known = ("choices", "usage", "object", "content", "role", "type", "stop_reason", "tools")
        envelope = read_envelope({k: v for k, v in record.items() if k not in known}, None, self._words.run)
        envelope = envelope._replace(tools=read_tools(record.get("tools")))
        return self._made(builder, envelope, claim.format, locator, None, outcome)

    def _response(self, locator: str, record: dict[str, Any]) -> Trajectory:
        response = object_at(record.get("response")) or record
        response = {**object_at(record.get("request")), **response}
        builder = StepBuilder()
        outcome = add_response(builder, response)
        known = ("input", "output", "instructions", "usage", "tools", "object", "text", "task")
        envelope = read_envelope({k: v for k, v in response.items() if k not in known}, None, self._words.run)
        envelope = envelope._replace(tools=read_tools(response.get("tools")))
        return self._made(builder, envelope, "openai-responses", locator, None, outcome)

    def _add_reply(self, builder: StepBuilder, reply: dict[str, Any]) -> Outcome | None:
        usage = read_usage(reply.get("usage"))
        if isinstance(reply.get("choices"), list):
            choices = objects(reply["choices"])
            if not choices:
                builder.note("EMPTY_REPLY", "the reply has no choices")
                return None
            message = object_at(choices[0].get("message"))
            openai_messages.add_message(
                builder, {"role": "assistant", **message}, usage=usage, turn=string(reply.get("id"))
            )
            if len(choices) > 1:
                index = builder.add(Event, name="alternative_choices", data=choices[1:])
                builder.note("SEVERAL_CHOICES", f"the reply has {len(choices)} choices; the first was taken", index)
            return outcome_of(choices[0].get("finish_reason"))
        if "role" in reply:
            anthropic_messages.add_message(builder, reply, usage=usage)
            return outcome_of(reply.get("stop_reason"))
        index = builder.add(Event, name="response", data=reply)
        builder.note("UNKNOWN_REPLY", "the response is of no known shape and was kept as an event", index)
        return None

    def _atif(self, locator: str, record: dict[str, Any]) -> Trajectory:
        builder = StepBuilder()
        newer = atif.version_note(record)
        if newer:
            builder.note("NEWER_VERSION", newer)
        atif.add_steps(builder, record)
        known = ("steps", "agent", "subagent_trajectories", "final_metrics", "schema_version")
        body = {key: value for key, value in record.items() if key not in known}
        envelope = read_envelope(body, None, self._words.run)
        agent = object_at(record.get("agent"))
        left = {key: value for key, value in agent.items() if key not in ("name", "model_name", "tool_definitions")}
        if left:
            envelope.meta["agent"] = left
        envelope.meta["schema_version"] = record.get("schema_version")
        envelope = envelope._replace(tools=read_tools(agent.get("tool_definitions")))
        made = self._made(builder, envelope, "atif", locator, None, None)
        return made.model_copy(update={"agents": atif.read_agents(record), "usage": atif.read_totals(record)})

    def _made(
        self,
        builder: StepBuilder,
        envelope: Envelope,
        format: str,
        locator: str,
        final: str | None,
        outcome: Outcome | None,
    ) -> Trajectory:
        built = builder.build()
        notes = built.diagnostics
        if format == "openai-chat" and _acts_in_text(built.steps):
            text = "no structured tool calls: commands stand in fenced blocks of the text"
            notes = (*notes, Diagnostic(code="NO_STRUCTURED_CALLS", message=text))
        return Trajectory(
            id=self._id(envelope),
            task=envelope.task or _first_request(built.steps),
            group=envelope.group,
            source=self._source(format, locator),
            agents=tuple(Agent(name=name) for name in dict.fromkeys(step.agent for step in built.steps) if name),
            tools=envelope.tools,
            steps=built.steps,
            final=final if final is not None else _last_word(built.steps, format),
            outcome=outcome,
            labels=envelope.labels,
            diagnostics=notes,
            meta=envelope.meta,
        )


class _Items:
    """Reads the items of one run in order, each by what it is."""

    def __init__(self, builder: StepBuilder, words: Vocabulary, separate: frozenset[tuple[str, str]]) -> None:
        self._builder = builder
        self._names = words.names
        self._events = EventReader(builder, words.names, separate)
        self._stream: Stream | None = None
        self._foreign = ForeignReader(builder)
        self.outcome: Outcome | None = None

    @property
    def final(self) -> str | None:
        return self._events.final

    @property
    def stop_reason(self) -> str | None:
        return self._events.stop_reason

    def take(self, item: Any) -> None:
        if is_delta(item):
            self._delta(item)
            return
        if not isinstance(item, dict):
            index = self._builder.add(Event, name="record", data=item)
            self._builder.note("NOT_A_RECORD", f"an item is a {type(item).__name__}, not an object", index)
            return
        if sign_of(item) is not None:
            self._end_stream()
            self._foreign.take(item)
            return
        whole = _message_of(item)
        if whole is not None and self._stream is not None and not self._stream.finished:
            self._stream = None  # the whole message follows its own deltas
        self.end()
        if whole is None:
            if calls.is_call(item) and self._names.kind_of(item) is None:
                calls.add_call(self._builder, item, self._names)
            else:
                self._events.take(item)
        elif isinstance(item.get("content"), list) and any(map(anthropic_messages.is_block, item["content"])):
            anthropic_messages.add_message(self._builder, item, usage=read_usage(item.get("usage")))
        else:
            usage = read_usage(item.get("usage"))
            left = {key: value for key, value in item.items() if key != "usage"} if usage else item
            openai_messages.add_message(self._builder, left, usage=usage)

    def _delta(self, item: dict[str, Any]) -> None:
        starts = item.get("type") == "message_start"
        if self._stream is None or (starts and self._stream.message):
            self.end()
            self._stream = Stream()
        self._stream.take(item)

    def end(self) -> None:
        """Writes the streamed reply that is open, if any."""
        self._end_stream()
        self._foreign.end()
        self.outcome = self._foreign.outcome or self.outcome

    def _end_stream(self) -> None:
        stream, self._stream = self._stream, None
        if stream is None or not stream.message:
            return
        usage = read_usage(stream.usage)
        if isinstance(stream.message.get("content"), list):
            anthropic_messages.add_message(self._builder, stream.message, usage=usage)
        else:
            openai_messages.add_message(self._builder, stream.message, usage=usage)
        self.outcome = outcome_of(stream.stop_reason)
        if not stream.finished:
            self.outcome = Outcome(status="incomplete")
            self._builder.note("UNFINISHED_STREAM", "the stream ends before its reply does", len(self._builder) or None)


def _message_of(item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if isinstance(item.get("role"), str) and any(key in item for key in ("content", "tool_calls", "function_call")):
        return item
    return item if isinstance(item.get("from"), str) and "value" in item else None


def _stopped(reader: _Items) -> Outcome | None:
    return Outcome(stop_reason=reader.stop_reason) if reader.stop_reason else None


def _span(locators: Sequence[str]) -> str:
    """One locator of several: lines 3 to 9 of a file, or all items of its list."""
    numbers = [locator.removeprefix("line ") for locator in locators if locator.startswith("line ")]
    return f"lines {numbers[0]}-{numbers[-1]}" if numbers else WHOLE


def _first_request(steps: Sequence[Step]) -> str | None:
    for step in steps:
        if isinstance(step, Message) and step.role == "user":
            return _text(step)
    return None


def _last_word(steps: Sequence[Step], format: str) -> str | None:
    """Text of the last assistant message of a chat where no call and no result comes after it."""
    if format in ("events", "steps", "calls"):
        return None
    for step in reversed(steps):
        if isinstance(step, ToolCall | ToolResult):
            return None
        if isinstance(step, Message) and step.role == "assistant":
            return _text(step)
    return None


def _acts_in_text(steps: Sequence[Step]) -> bool:
    """Whether an agent without tool calls acts by fenced commands, one to nearly each of its messages."""
    said: list[str] = []
    for step in steps:
        if isinstance(step, ToolCall):
            return False
        if isinstance(step, Message) and step.role == "assistant":
            said.append(_text(step) or "")
    fenced = sum("```bash\n" in text or "```mswea_bash_command" in text for text in said)
    return fenced >= 2 and fenced >= len(said) - 1


def _text(step: Message) -> str | None:
    return plain_text(step.content)
