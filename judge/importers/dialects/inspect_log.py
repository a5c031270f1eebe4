"""Inspect logs, `.json` and the samples of `.eval`, into steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from judge.importers.arguments import Arguments, read_arguments
from judge.importers.builder import StepBuilder
from judge.importers.content import read_content
from judge.importers.envelope import Envelope, read_tools
from judge.importers.fields import MISSING, count, mapping, number, objects, rest, string
from judge.importers.log import Log, Look
from judge.importers.times import instant
from judge.types.trajectory import Approval, ContextEdit, ErrorStep, Event, Outcome, ResultStatus, StepError, Usage

_STATUS: dict[str, ResultStatus] = {"timeout": "timeout", "approval": "denied", "cancelled": "cancelled"}
_DECISIONS = {"approve": "approved", "modify": "modified", "reject": "denied", "terminate": "denied"}
_SHOWN = frozenset({"approval", "error", "compaction", "info", "input", "sample_limit", "subtask", "sandbox", "logger"})
"""Events that become steps. All others repeat messages or keep the books: they go to `extra`."""


def look(record: dict[str, Any]) -> Look | None:
    """A whole log."""
    if "version" in record and isinstance(record.get("eval"), dict) and "plan" in record:
        return Look("inspect", "run", "version, eval and plan", 100)
    return None


def read(record: Any) -> Iterator[Log]:
    """One run a sample and epoch; a log without samples has none to read."""
    about = mapping(record.get("eval"))
    samples = record.get("samples")
    for at, sample in enumerate(samples if isinstance(samples, list) else []):
        if isinstance(sample, dict):
            yield _Sample(sample, about).read(f"samples[{at}]")


class _Sample:
    """Reads one sample."""

    def __init__(self, sample: dict[str, Any], about: dict[str, Any]) -> None:
        self._builder = StepBuilder()
        self._about = about
        attachments = mapping(sample.get("attachments"))
        self._sample = {k: _resolved(v, attachments) for k, v in sample.items() if k != "attachments"}
        self._pool = objects(mapping(self._sample.get("events_data")).get("messages"))
        self._calls: dict[str, int] = {}
        self._tools: dict[str, dict[str, Any]] = {}
        self._left: list[Any] = []

    def read(self, place: str) -> Log:
        sample = self._sample
        events = objects(sample.get("events"))
        messages = objects(sample.get("messages")) or self._from_events(events)
        self._tools = {str(event.get("id")): event for event in events if event.get("event") == "tool"}
        waiting = list(messages)
        positions = {str(message.get("id")): at for at, message in enumerate(messages) if message.get("id")}
        told = 0
        for event in events:
            if event.get("event") == "model":
                reply = mapping(
                    mapping((objects(mapping(event.get("output")).get("choices")) or [{}])[0]).get("message")
                )
                at = positions.get(str(reply.get("id")))
                if at is not None and at >= told:
                    for message in waiting[told:at]:
                        self._message(message, {})
                    self._message(waiting[at], event)
                    told = at + 1
                elif at is None:
                    self._left.append({**event, "input": None, "call": None})
                if event.get("error"):
                    text = string(event.get("error"))
                    self._builder.add(ErrorStep, type="model", message=text, ts=instant(event.get("timestamp")).iso)
            else:
                self._event(event)
        for message in waiting[told:]:
            self._message(message, {})
        error = mapping(sample.get("error"))
        if error and not any(event.get("event") == "error" for event in events):
            self._builder.add(ErrorStep, type="sample", message=string(error.get("message")))
        return self._log(place, error)

    def _from_events(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The messages of a sample that has none: what the last model call was sent, and its reply."""
        models = [event for event in events if event.get("event") == "model"]
        if not models:
            return []
        sent = objects(models[-1].get("input"))
        for span in models[-1].get("input_refs") or []:
            if isinstance(span, list) and len(span) == 2 and all(isinstance(end, int) for end in span):
                sent = [*sent, *self._pool[span[0] : span[1]]]
        replies = [mapping(c.get("message")) for c in objects(mapping(models[-1].get("output")).get("choices"))[:1]]
        return [*sent, *(reply for reply in replies if reply)]

    def _message(self, message: dict[str, Any], model: dict[str, Any]) -> None:
        role = message.get("role")
        start = len(self._builder)
        if role == "tool":
            self._result(message)
            return
        extra = rest(message, ("role", "content", "tool_calls"))
        turn = self._builder.new_turn() if role == "assistant" else None
        content = message.get("content")
        parts = content if isinstance(content, list) else [content] if content not in (None, "") else []
        said = []
        for part in parts:
            if isinstance(part, dict) and part.get("type") == "reasoning":
                text = part.get("reasoning")
                left = rest(part, ("type", "reasoning", "redacted")) or None
                shown = read_content(text if isinstance(text, str) and text else None)
                self._builder.reasoning(shown, redacted=part.get("redacted") is True, turn=turn, extra=left)
            elif part is not None:
                said.append(part)
        calls = objects(message.get("tool_calls"))
        if said or not (calls or len(self._builder) > start):
            known = role if role in ("system", "user", "assistant", "developer") else "other"
            body = read_content(said if said else content if content == "" else None)
            self._builder.message(known, body, turn=turn)
        for call in calls:
            broken = string(call.get("parse_error"))
            read = Arguments(None, error=broken) if broken else read_arguments(call.get("arguments", MISSING))
            left = rest(call, ("id", "function", "arguments", "parse_error", "type")) or None
            index = self._builder.call(call.get("function"), read, call_id=call.get("id"), turn=turn, extra=left)
            if broken:
                self._builder.note("ARGS_INVALID", "the arguments were not JSON; the error holds their text", index)
            self._calls[str(call.get("id"))] = index
        usage = _usage(mapping(mapping(model.get("output")).get("usage"))) if model else None
        ts = instant(model.get("timestamp")).iso if model else None
        self._builder.fill(start, ts=ts, extra=extra)
        if usage is not None:
            self._builder.set_usage(start, usage)

    def _result(self, message: dict[str, Any]) -> None:
        error = mapping(message.get("error"))
        kind = string(error.get("type"))
        event = self._tools.get(str(message.get("tool_call_id")), {})
        began, ended = number(event.get("working_start")), number(event.get("working_time"))
        self._builder.result(
            read_content(message.get("content")),
            call_id=message.get("tool_call_id"),
            name=string(message.get("function")),
            status=_STATUS.get(kind or "", "error") if error else "ok",
            error=StepError(type=kind, message=string(error.get("message"))) if error else None,
            ts=instant(event.get("timestamp")).iso,
            seconds=ended if began is not None else None,
            extra=rest(message, ("role", "content", "tool_call_id", "error")) or None,
        )

    def _event(self, event: dict[str, Any]) -> None:
        name = string(event.get("event")) or "event"
        ts = instant(event.get("timestamp")).iso
        if name == "approval":
            call = mapping(event.get("call"))
            state = _DECISIONS.get(str(event.get("decision")), "requested")
            self._builder.add(
                Approval,
                call_id=string(call.get("id")),
                tool=string(call.get("function")),
                state=state,
                approver=string(event.get("approver")),
                reason=string(event.get("explanation")),
                ts=ts,
                extra={"decision": event.get("decision"), "modified": event.get("modified")},
            )
        elif name == "error":
            detail = mapping(event.get("error"))
            self._builder.add(ErrorStep, type="sample", message=string(detail.get("message")), ts=ts)
            self._left.append(event)
        elif name == "compaction":
            self._builder.add(ContextEdit, op="compaction", ts=ts, extra=rest(event, ("event", "timestamp")))
        elif name in _SHOWN:
            self._builder.add(Event, name=name, data=rest(event, ("event", "timestamp")), ts=ts)
        elif name != "tool":
            self._left.append(event)

    def _log(self, place: str, error: dict[str, Any]) -> Log:
        sample, about = self._sample, self._about
        number_of, epoch = string(sample.get("id")), count(sample.get("epoch"))
        group = number_of
        task = string(about.get("task"))
        name = "-".join(part for part in (task, number_of, f"epoch{epoch}" if epoch else None) if part)
        labels = {key: sample[key] for key in ("scores", "target") if sample.get(key) not in (None, {})}
        known = ("messages", "events", "events_data", "attachments", "scores", "target", "output", "id", "model_usage")
        meta = {
            **rest(sample, known),
            "eval": {k: about[k] for k in ("task", "model", "run_id", "created") if k in about},
        }
        if self._left:
            kinds = Counter(str(event.get("event")) for event in self._left)
            meta["events"] = self._left
            listed = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
            text = f"events that are no steps were kept in meta: {listed}"
            self._builder.note("EVENTS_SET_ASIDE", text, severity="info")
        outcome = Outcome(status="completed")
        limit = mapping(sample.get("limit"))
        if error:
            outcome = Outcome(status="failed", stop_reason="error")
        elif limit:
            outcome = Outcome(status="limit", stop_reason=string(limit.get("type")))
        asked = sample.get("input")
        said = next((m.get("content") for m in reversed(objects(asked)) if m.get("role") == "user"), None)
        question = asked if isinstance(asked, str) else said if isinstance(said, str) else None
        tools: list[Any] = []
        for event in objects(sample.get("events")):
            tools = [
                *tools,
                *(t for t in objects(event.get("tools")) if t.get("name") not in [x["name"] for x in tools]),
            ]
        envelope = Envelope(name or None, False, question, group, None, read_tools(tools), labels, meta)
        return Log(self._builder, envelope, place, outcome=outcome, usage=_sum(mapping(sample.get("model_usage"))))


def _resolved(value: Any, attachments: dict[str, Any]) -> Any:
    """`value` with each `attachment://` address replaced by the text that it stands for."""
    if isinstance(value, str):
        if value.startswith("attachment://"):
            return attachments.get(value.removeprefix("attachment://"), value)
        return value
    if isinstance(value, list):
        return [_resolved(item, attachments) for item in value]
    if isinstance(value, dict):
        return {key: _resolved(item, attachments) for key, item in value.items()}
    return value


def _usage(raw: dict[str, Any]) -> Usage | None:
    """Usage with all input in it: cached tokens stand beside `input_tokens` where the total says so."""
    sent, made, total = (count(raw.get(key)) for key in ("input_tokens", "output_tokens", "total_tokens"))
    read_, written = count(raw.get("input_tokens_cache_read")), count(raw.get("input_tokens_cache_write"))
    if sent is None and made is None:
        return None
    if sent is not None and total == sent + (made or 0) + (read_ or 0) + (written or 0):
        sent += (read_ or 0) + (written or 0)
    cost = number(raw.get("total_cost"))
    return Usage(
        input_tokens=sent,
        output_tokens=made,
        cache_read_input_tokens=read_,
        cache_creation_input_tokens=written,
        reasoning_output_tokens=count(raw.get("reasoning_tokens")),
        cost_usd=max(cost, 0.0) if cost is not None else None,
    )


def _sum(by_model: dict[str, Any]) -> Usage | None:
    """Usage over all models; a count that one of them lacks is not known for all."""
    each = [usage for raw in by_model.values() if (usage := _usage(mapping(raw))) is not None]
    if not each:
        return None
    total = {}
    for field in Usage.model_fields:
        values = [getattr(usage, field) for usage in each]
        total[field] = None if None in values else sum(values)
    return Usage(**total)
