"""Google ADK sessions into steps; evalsets, which are what was expected and no run, into references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.content import read_content
from judge.importers.envelope import Envelope
from judge.importers.fields import MISSING, count, first, mapping, objects, rest, string
from judge.importers.log import Log, Look
from judge.importers.times import instant
from judge.types.trajectory import AgentTransfer, Approval, ErrorStep, Event, StepError, Usage

_CONFIRM = "adk_request_confirmation"


def look(record: dict[str, Any]) -> Look | None:
    """A session, or an evalset."""
    events = record.get("events")
    if isinstance(events, list):
        named = "appName" in record or "app_name" in record
        begun = events and isinstance(events[0], dict) and "author" in events[0] and "content" in events[0]
        if named or begun:
            return Look("google-adk", "run", "events beside an app name" if named else "events with an author")
    if "eval_set_id" in record and isinstance(record.get("eval_cases"), list):
        return Look("google-adk", "run", "eval_set_id and eval_cases")
    return None


def read(record: Any) -> Iterator[Log]:
    """The one run of a session; of an evalset one reference a case, marked as such."""
    if "eval_cases" in record:
        for at, case in enumerate(record["eval_cases"]):
            if isinstance(case, dict):
                yield _expected(case, f"eval_cases[{at}]")
        return
    builder = StepBuilder()
    whole = {string(_get(e, "invocationId")) for e in objects(record["events"]) if e.get("partial") is False}
    for event in record["events"]:
        if not isinstance(event, dict):
            index = builder.add(Event, name="record", data=event)
            builder.note("NOT_A_RECORD", f"an event is a {type(event).__name__}, not an object", index)
        elif event.get("partial") is True and (
            _has_whole(record["events"], event) or string(_get(event, "invocationId")) in whole
        ):
            continue  # a piece of what stands there whole
        else:
            _event(builder, event)
    yield Log(builder, Envelope(id=string(record.get("id")), meta=rest(record, ("events", "id"))))


def _has_whole(events: list[Any], piece: dict[str, Any]) -> bool:
    """Whether the streamed reply that a piece belongs to also stands in the session whole."""
    wanted = (_get(piece, "invocationId"), piece.get("author"))
    return any(
        event is not piece and not event.get("partial") and (_get(event, "invocationId"), event.get("author")) == wanted
        for event in objects(events)
    )


def _get(record: dict[str, Any], name: str) -> Any:
    """A key in either spelling of the dump; None where it is absent."""
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
    value = first(record, (name, snake))
    return None if value is MISSING else value


def _event(builder: StepBuilder, event: dict[str, Any]) -> None:
    start = len(builder)
    author = string(event.get("author"))
    parts = _parts(event.get("content"))
    human = author == "user"
    turn = None if human else string(event.get("id"))
    for part in parts:
        _part(builder, part, human, turn)
    code = string(_get(event, "errorCode"))
    if code is not None:
        builder.add(ErrorStep, type=code, message=string(_get(event, "errorMessage")))
    actions = mapping(event.get("actions"))
    asked = mapping(_get(actions, "requestedToolConfirmations"))
    for call_id, detail in asked.items():
        builder.add(Approval, call_id=call_id, state="requested", reason=string(mapping(detail).get("hint")))
    target = string(_get(actions, "transferToAgent"))
    if target is not None:
        builder.add(AgentTransfer, from_agent=author, to_agent=target)
    if len(builder) == start:
        builder.add(Event, name="event", data=rest(event, ("timestamp", "author")))
    known = ("content", "author", "timestamp", "usageMetadata", "usage_metadata")
    extra = {key: value for key, value in rest(event, known).items() if value not in ({}, [], False)}
    builder.fill(start, agent=None if human else author, ts=instant(event.get("timestamp")).iso, extra=extra)
    usage = _usage(mapping(_get(event, "usageMetadata")))
    if usage is not None:
        builder.set_usage(start, usage)


def _part(builder: StepBuilder, part: dict[str, Any], human: bool, turn: str | None) -> None:
    call, response = mapping(_get(part, "functionCall")), mapping(_get(part, "functionResponse"))
    if call:
        name = string(call.get("name"))
        if name == _CONFIRM:
            about = mapping(_get(mapping(call.get("args")), "originalFunctionCall"))
            call_id, tool = string(about.get("id")), string(about.get("name"))
            builder.add(Approval, call_id=call_id, tool=tool, state="requested", turn=turn, extra={"request": call})
            return
        extra = rest(call, ("id", "name", "args")) or None
        builder.call(name, call.get("args", MISSING), call_id=call.get("id"), turn=turn, extra=extra)
    elif response:
        _response(builder, response)
    elif isinstance(part.get("text"), str):
        if part.get("thought") is True:
            builder.reasoning(read_content(part["text"]), turn=turn)
        else:
            builder.message("user" if human else "assistant", read_content(part["text"]), turn=turn)
    else:
        left = rest(part, ())
        data = mapping(_get(part, "inlineData")) or mapping(_get(part, "fileData"))
        if data:
            kind = string(_get(data, "mimeType")) or ""
            media = kind.partition("/")[0] if kind.startswith(("image/", "audio/", "video/")) else "document"
            source = {"media_type": kind, "data": data.get("data"), "url": _get(data, "fileUri")}
            body = read_content([{"type": media, "source": {k: v for k, v in source.items() if v is not None}}])
            builder.message("user" if human else "assistant", body, turn=turn)
        elif left:
            builder.add(Event, name=next(iter(left)), data=left, turn=turn)


def _response(builder: StepBuilder, response: dict[str, Any]) -> None:
    value = response.get("response")
    error = mapping(value).get("error")
    name = string(response.get("name"))
    if name == _CONFIRM:
        confirmed = mapping(value).get("confirmed")
        state = "approved" if confirmed is True else "denied" if confirmed is False else "requested"
        builder.add(Approval, state=state, extra={"response": response})
        return
    builder.result(
        read_content(None),
        call_id=response.get("id"),
        name=name,
        structured=value,
        status="error" if error not in (None, "") else "unknown",
        error=StepError(message=string(error)) if error not in (None, "") else None,
        extra=rest(response, ("id", "response")) or None,
    )


def _parts(content: Any) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in part.items() if value is not None}
        for part in objects(mapping(content).get("parts"))
    ]


def _usage(raw: dict[str, Any]) -> Usage | None:
    sent, made = count(_get(raw, "promptTokenCount")), count(_get(raw, "candidatesTokenCount"))
    if sent is None and made is None:
        return None
    thought = count(_get(raw, "thoughtsTokenCount"))
    return Usage(
        input_tokens=sent,
        output_tokens=made + (thought or 0) if made is not None else thought,
        cache_read_input_tokens=count(_get(raw, "cachedContentTokenCount")),
        reasoning_output_tokens=thought,
    )


def _expected(case: dict[str, Any], place: str) -> Log:
    """A case of an evalset: the calls that were expected, written as synthetic steps."""
    builder = StepBuilder()
    for turn in objects(case.get("conversation")):
        for part in _parts(turn.get("user_content")):
            _part(builder, part, True, None)
        middle = mapping(turn.get("intermediate_data"))
        for call in objects(middle.get("tool_uses")):
            extra = rest(call, ("id", "name", "args")) or None
            builder.call(call.get("name"), call.get("args", MISSING), call_id=call.get("id"), extra=extra)
        for response in objects(middle.get("tool_responses")):
            _response(builder, response)
        for said in middle.get("intermediate_responses") or []:
            builder.add(Event, name="intermediate_response", data=said)
        for part in _parts(turn.get("final_response")):
            _part(builder, part, False, None)
    builder.mark_synthetic()
    builder.note("REFERENCE_NOT_A_RUN", "an evalset holds what was expected, not what an agent did")
    name = string(case.get("eval_id"))
    return Log(builder, Envelope(id=name, group=name, meta={"reference": True, **rest(case, ("conversation",))}), place)
