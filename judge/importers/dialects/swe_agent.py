"""SWE-agent `.traj` files and mini-swe-agent 2 files into steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.content import read_content
from judge.importers.dialects import openai_messages
from judge.importers.dialects.codex_items import add_item
from judge.importers.envelope import Envelope
from judge.importers.fields import count, mapping, number, objects, rest, string
from judge.importers.log import Log, Look
from judge.importers.times import instant
from judge.types.trajectory import Event, Final, Outcome, OutcomeStatus, Usage

_HISTORY = ("message_type", "agent", "thought", "action", "is_demo", "tool_call_ids")
_LIMITS = ("exit_cost", "exit_context", "exit_format", "LimitsExceeded", "early_exit")


def look_swe(record: dict[str, Any]) -> Look | None:
    """A `.traj` file: a run, or a demonstration that has its history only."""
    history, trajectory = record.get("history"), record.get("trajectory")
    if isinstance(history, list) and isinstance(trajectory, list):
        return Look("swe-agent", "run", "history and trajectory", 97)
    marks = [item for item in objects(history)[:5] if "message_type" in item and "role" in item]
    return Look("swe-agent", "run", "history with message_type", 97) if marks else None


def look_mini(record: dict[str, Any]) -> Look | None:
    """A file of mini-swe-agent 2, or one of version 1 with its information."""
    kind = record.get("trajectory_format")
    if isinstance(kind, str) and kind.startswith("mini-swe-agent"):
        return Look("mini-swe-agent", "run", f"trajectory_format {kind!r}", 100)
    info = mapping(record.get("info"))
    if isinstance(record.get("messages"), list) and "exit_status" in info and "submission" in info:
        return Look("mini-swe-agent", "run", "messages beside info with exit_status")
    return None


def read_swe(record: Any) -> Iterator[Log]:
    """The one run of a `.traj`; its history is read, and its other view of the same steps gives times only."""
    builder = StepBuilder()
    steps = objects(record.get("trajectory"))
    history = objects(record.get("history"))
    if history:
        _history(builder, history, [number(step.get("execution_time")) for step in steps])
    else:
        for step in steps:
            _step(builder, step)
    info = mapping(record.get("info"))
    stats = mapping(info.get("model_stats"))
    usage = Usage(
        input_tokens=count(stats.get("tokens_sent")),
        output_tokens=count(stats.get("tokens_received")),
        cost_usd=number(stats.get("instance_cost")),
    )
    known = ("history", "trajectory", "model_stats")
    meta = {**rest(record, known), "states": [step["state"] for step in steps if "state" in step] or None}
    yield Log(
        builder,
        Envelope(meta={key: value for key, value in meta.items() if value is not None}),
        final=string(info.get("submission")),
        outcome=_outcome(info.get("exit_status")),
        usage=usage if usage != Usage() else None,
    )


def _history(builder: StepBuilder, history: list[dict[str, Any]], seconds: list[float | None]) -> None:
    acted = 0
    open_action: int | None = None
    for message in history:
        start = len(builder)
        left = {key: value for key, value in message.items() if key not in _HISTORY}
        extra = rest(message, [key for key in message if key not in _HISTORY or key == "agent"])
        demo = message.get("is_demo") is True
        ids = message.get("tool_call_ids")
        role, action = message.get("role"), message.get("action")
        if role == "tool" and isinstance(ids, list) and ids:
            for call_id in ids:
                openai_messages.add_message(builder, {**left, "tool_call_id": call_id})
        elif role == "user" and open_action is not None and message.get("message_type") == "observation":
            builder.result(read_content(message.get("content")), nested_in=open_action)
        else:
            openai_messages.add_message(builder, left)
        if role == "assistant":
            open_action = None
            if isinstance(action, str) and action and not message.get("tool_calls"):
                open_action = builder.call("bash", action, plain_text=True)
            if isinstance(action, str) and action and not demo and acted < len(seconds):
                builder.fill(len(builder) - 1, seconds=seconds[acted])
                acted += 1
        provenance = "copied_context" if demo else None
        builder.fill(start, agent=string(message.get("agent")), provenance=provenance, extra=extra)


def _step(builder: StepBuilder, step: dict[str, Any]) -> None:
    """One entry of `trajectory`, where the file has no history."""
    turn = builder.new_turn()
    said = step.get("thought", step.get("response"))
    if isinstance(said, str) and said:
        builder.message("assistant", read_content(said), turn=turn)
    if not isinstance(step.get("action"), str):
        builder.add(Event, name="step", data=step)
        return
    time = number(step.get("execution_time"))
    index = builder.call("bash", step["action"], plain_text=True, turn=turn, seconds=time)
    if step.get("observation") is not None:
        builder.result(read_content(step["observation"]), nested_in=index, turn=turn)


def read_mini(record: Any) -> Iterator[Log]:
    """The one run of a file."""
    builder = StepBuilder()
    info = mapping(record.get("info"))
    final: str | None = None
    for message in record.get("messages") if isinstance(record.get("messages"), list) else []:
        if not isinstance(message, dict):
            index = builder.add(Event, name="record", data=message)
            builder.note("NOT_A_RECORD", f"a message is a {type(message).__name__}, not an object", index)
            continue
        final = _mini_message(builder, message) or final
    if not builder.names_of_calls():
        builder.note("NO_STRUCTURED_CALLS", "commands stand in the text of messages, not in tool calls")
    stats = mapping(info.get("model_stats"))
    cost = number(stats.get("instance_cost"))
    yield Log(
        builder,
        Envelope(meta=rest(record, ("messages",))),
        final=final if final is not None else string(info.get("submission")),
        outcome=_outcome(info.get("exit_status")),
        usage=Usage(cost_usd=cost) if cost is not None and cost >= 0 else None,
    )


def _mini_message(builder: StepBuilder, message: dict[str, Any]) -> str | None:
    """The steps of one message; the text of the final one."""
    start = len(builder)
    about = mapping(message.get("extra"))
    ts = instant(about.get("timestamp")).iso
    if message.get("role") == "exit":
        text = string(about.get("submission")) or string(message.get("content")) or ""
        builder.add(Final, text=text, status=string(about.get("exit_status")), ts=ts, extra=rest(message, ("role",)))
        return text
    output = message.get("output")
    if "role" not in message and isinstance(output, list):
        turn = builder.new_turn()
        for item in objects(output):
            if not add_item(builder, item, turn):
                builder.add(Event, name=str(item.get("type")), data=item)
        builder.fill(start, ts=ts, extra=rest(message, ("output",)))
        return None
    if "role" not in message and add_item(builder, message, None):
        pass
    else:
        openai_messages.add_message(builder, message)
    code = about.get("returncode")
    if isinstance(code, int) and not isinstance(code, bool):
        builder.flag_results(start, "ok" if code == 0 else "error")
    builder.fill(start, ts=ts)
    return None


def _outcome(status: Any) -> Outcome | None:
    text = string(status)
    if text is None:
        return None
    found: OutcomeStatus = "unknown"
    if text.lower() == "submitted":
        found = "completed"
    elif text.startswith(_LIMITS) or "(exit_" in text:
        found = "limit"
    return Outcome(status=found, stop_reason=text)
