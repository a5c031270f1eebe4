"""Runs of tau2 and of AgentDojo into steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.content import read_content
from judge.importers.dialects import openai_messages
from judge.importers.dialects.openai_messages import result_content
from judge.importers.envelope import Envelope
from judge.importers.fields import MISSING, mapping, objects, rest, string
from judge.importers.log import Log, Look
from judge.importers.times import instant
from judge.importers.usage import read_usage
from judge.types.trajectory import Agent, ErrorStep, Event, Outcome, OutcomeStatus, StepError

_ENDED: dict[str, OutcomeStatus] = {
    "user_stop": "completed",
    "agent_stop": "completed",
    "max_steps": "limit",
    "timeout": "limit",
    "too_many_errors": "failed",
    "agent_error": "failed",
    "user_error": "failed",
}


def look_tau2(record: dict[str, Any]) -> Look | None:
    """A file of results, or one simulation."""
    if isinstance(record.get("simulations"), list) and "tasks" in record:
        return Look("tau2", "run", "simulations and tasks")
    turns = isinstance(record.get("messages"), list) or isinstance(record.get("ticks"), list)
    if "termination_reason" in record and turns and "task_id" in record:
        return Look("tau2", "run", "termination_reason beside messages or ticks")
    return None


def read_tau2(record: Any) -> Iterator[Log]:
    """One run a simulation."""
    if not isinstance(record.get("simulations"), list):
        yield _simulation(record, {}, "")
        return
    around = rest(record, ("simulations", "tasks"))
    for at, simulation in enumerate(record["simulations"]):
        if isinstance(simulation, dict):
            yield _simulation(simulation, around, f"simulations[{at}]")


def _simulation(record: dict[str, Any], around: dict[str, Any], place: str) -> Log:
    builder = StepBuilder()
    for message in record.get("messages") or []:
        _tau2_message(builder, message)
    for tick in objects(record.get("ticks")):
        _tick(builder, tick)
    labels = {"reward_info": record["reward_info"]} if record.get("reward_info") is not None else {}
    known = ("messages", "ticks", "reward_info", "id", "task_id")
    meta = rest(record, known) | ({"around": around} if around else {})
    reason = string(record.get("termination_reason"))
    outcome = Outcome(status=_ENDED.get(reason or "", "unknown"), stop_reason=reason)
    envelope = Envelope(id=string(record.get("id")), group=string(record.get("task_id")), labels=labels, meta=meta)
    agents = (Agent(name="user", role="simulated user"),) if "user" in builder.agents() else ()
    return Log(builder, envelope, place, outcome=outcome, agents=agents)


def _tau2_message(builder: StepBuilder, message: Any) -> None:
    if not isinstance(message, dict):
        index = builder.add(Event, name="record", data=message)
        builder.note("NOT_A_RECORD", f"a message is a {type(message).__name__}, not an object", index)
        return
    inner = message.get("tool_messages")
    if isinstance(inner, list):
        for each in inner:
            _tau2_message(builder, each)
        return
    start = len(builder)
    moment = instant(message.get("timestamp"))
    if message.get("role") == "tool":
        _tau2_result(builder, message)
    else:
        usage = read_usage(message.get("usage"), cost_usd=message.get("cost"))
        left = {key: value for key, value in message.items() if key not in ("timestamp", "usage", "cost", "tool_calls")}
        calls = objects(message.get("tool_calls"))
        builder_turn = builder.new_turn()
        if left.get("content") not in (None, "") or not calls:
            openai_messages.add_message(builder, left, usage=usage, turn=builder_turn)
            usage, left = None, {}
        for call in calls:
            _tau2_call(builder, call, turn=builder_turn, usage=usage, extra=rest(left, ("role", "content")) or None)
            usage, left = None, {}
        user = message.get("role") == "user" and calls
        builder.fill(start, agent="user" if user else None)
    builder.fill(start, ts=moment.iso)


def _tau2_call(builder: StepBuilder, call: dict[str, Any], **common: Any) -> None:
    agent = "user" if call.get("requestor") == "user" else None
    extra = {**(common.pop("extra", None) or {}), **rest(call, ("id", "name", "arguments", "requestor"))} or None
    arguments = call.get("arguments", MISSING)
    builder.call(call.get("name"), arguments, call_id=call.get("id"), agent=agent, extra=extra, **common)


def _tau2_result(builder: StepBuilder, message: dict[str, Any]) -> None:
    content, structured = result_content(message.get("content"))
    failed = message.get("error")
    builder.result(
        content,
        call_id=message.get("id"),
        structured=structured,
        status="unknown" if not isinstance(failed, bool) else "error" if failed else "ok",
        agent="user" if message.get("requestor") == "user" else None,
        extra=rest(message, ("role", "id", "content", "error", "requestor", "timestamp")) or None,
    )


def _tick(builder: StepBuilder, tick: dict[str, Any]) -> None:
    """One moment of a voice run: its calls and results, and the rest as an event."""
    ts = instant(tick.get("timestamp")).iso
    calls = [key for key in tick if key.endswith("tool_calls")]
    results = [key for key in tick if key.endswith("tool_results")]
    builder.add(Event, name="tick", data=rest(tick, (*calls, *results)), ts=ts)
    for key in calls:
        for call in objects(tick[key]):
            _tau2_call(builder, call, ts=ts)
    for key in results:
        for result in objects(tick[key]):
            _tau2_result(builder, result)


def look_agentdojo(record: dict[str, Any]) -> Look | None:
    """One run."""
    if "suite_name" in record and "user_task_id" in record and "injection_task_id" in record:
        return Look("agentdojo", "run", "suite_name, user_task_id and injection_task_id")
    return None


def read_agentdojo(record: Any) -> Iterator[Log]:
    """One run; its flags `utility` and `security` are labels, and are no verdict where the run broke off."""
    builder = StepBuilder()
    for message in objects(record.get("messages")):
        _agentdojo_message(builder, message)
    error = string(record.get("error"))
    if error is not None:
        builder.add(ErrorStep, type="run", message=error)
        builder.note("LABEL_UNSAFE", "the run ended in an error: utility and security say nothing about the agent")
    if record.get("injection_task_id") is None:
        builder.note("LABEL_UNSAFE", "a run without injection: security says nothing", severity="info")
    labels = {key: record[key] for key in ("utility", "security") if key in record}
    names = [string(record.get(key)) for key in ("suite_name", "user_task_id", "injection_task_id", "attack_type")]
    group = "-".join(name for name in names[:2] if name)
    meta = rest(record, ("messages", "utility", "security", "error"))
    outcome = Outcome(status="failed", stop_reason="error") if error else None
    yield Log(
        builder, Envelope("-".join(n for n in names if n), group=group, labels=labels, meta=meta), outcome=outcome
    )


def _agentdojo_message(builder: StepBuilder, message: dict[str, Any]) -> None:
    role = message.get("role")
    if role == "tool":
        error = string(message.get("error"))
        call = mapping(message.get("tool_call"))
        content, structured = result_content(message.get("content"))
        builder.result(
            content,
            call_id=message.get("tool_call_id") or call.get("id"),
            name=string(call.get("function")),
            structured=structured,
            status="error" if error else "ok" if "error" in message else "unknown",
            error=StepError(message=error) if error else None,
            extra=rest(message, ("role", "tool_call_id", "tool_call", "error", "content")) or None,
        )
        return
    known = role if role in ("system", "user", "assistant") else "other"
    turn = builder.new_turn() if role == "assistant" else None
    calls = objects(message.get("tool_calls"))
    extra = rest(message, ("role", "content", "tool_calls")) or None
    if message.get("content") not in (None, "", []) or not calls:
        builder.message(known, read_content(message.get("content")), turn=turn, extra=extra)
    for call in calls:
        left = rest(call, ("function", "args", "id")) or None
        arguments = call.get("args", MISSING)
        builder.call(call.get("function"), arguments, call_id=call.get("id"), turn=turn, extra=left)
