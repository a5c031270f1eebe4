"""ATIF, the trajectory interchange format of Harbor, versions 1.0 to 1.8, into steps."""

from __future__ import annotations

import re
from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.content import read_content
from judge.importers.dialects.openai_messages import result_content
from judge.importers.fields import MISSING, count, mapping, number, objects, rest, string
from judge.importers.times import instant
from judge.importers.usage import read_usage
from judge.types.trajectory import Agent, ContextEdit, Event, Usage

_ROLES = {"system": "system", "user": "user", "agent": "assistant"}
_STEP_KEYS = (
    "step_id",
    "timestamp",
    "source",
    "message",
    "reasoning_content",
    "tool_calls",
    "observation",
    "metrics",
    "is_copied_context",
)
LAST_VERSION = (1, 8)


def add_steps(
    builder: StepBuilder, record: dict[str, Any], *, agent: str | None = None, parent: int | None = None
) -> None:
    """The steps of one ATIF trajectory and, behind the call that refers to each, of its sub-agents."""
    pending = {
        string(child.get("trajectory_id")) or string(child.get("session_id")) or str(at): child
        for at, child in enumerate(objects(record.get("subagent_trajectories")))
    }
    steps = record.get("steps")
    for at, step in enumerate(steps if isinstance(steps, list) else []):
        if not isinstance(step, dict):
            index = builder.add(Event, name="record", data=step, agent=agent, parent=parent)
            builder.note("NOT_A_RECORD", f"steps[{at}] is not an object", index)
            continue
        for call, name in _step(builder, step, agent, parent):
            child = pending.pop(name, None)
            if child is not None:
                add_steps(builder, child, agent=agent_name(child) or name, parent=call)
    for name, child in pending.items():
        add_steps(builder, child, agent=agent_name(child) or name, parent=parent)


def _step(
    builder: StepBuilder, step: dict[str, Any], agent: str | None, parent: int | None
) -> list[tuple[int | None, str]]:
    """Adds one step; returns (delegating call, name) of the sub-agents that it refers to."""
    source = string(step.get("source"))
    copied = step.get("is_copied_context") is True
    common: dict[str, Any] = {
        "ts": instant(step.get("timestamp")).iso,
        "agent": agent,
        "parent": parent,
        "provenance": "copied_context" if copied else "recorded",
    }
    if source == "agent":
        common["turn"] = f"{agent}:{step.get('step_id')}" if agent else f"s{step.get('step_id')}"
    extra = rest(step, _STEP_KEYS)
    usage = read_usage(step.get("metrics"))
    if copied and usage is not None:
        extra["metrics"], usage = step["metrics"], None  # counted in the run that was copied from
    first: dict[str, Any] = {"usage": usage, "extra": extra or None}
    if isinstance(step.get("reasoning_content"), str) and step["reasoning_content"]:
        builder.reasoning(read_content(step["reasoning_content"]), **common, **first)
        first = {}
    edit = mapping(mapping(step.get("extra")).get("context_management"))
    calls = objects(step.get("tool_calls"))
    said = step.get("message")
    if edit:
        summary = said if isinstance(said, str) else None
        op = string(edit.get("type")) or "compaction"
        builder.add(ContextEdit, op=op, summary=summary, **common, **first)
        first = {}
    elif source not in _ROLES:
        index = builder.add(Event, name=f"source:{source}", data=step, **common)
        builder.note("UNKNOWN_ROLE", f"a step of source {source!r} was kept as an event", index)
        return []
    elif said not in (None, "", []) or not (calls or step.get("observation")):
        builder.message(_ROLES[source], read_content(said), **common, **first)
        first = {}
    made = []
    for call in calls:
        left = rest(call, ("tool_call_id", "function_name", "arguments"))
        own = {**first, "extra": {**(first.get("extra") or {}), **left} or None}
        call_id, raw = call.get("tool_call_id"), call.get("arguments", MISSING)
        made.append((call_id, builder.call(call.get("function_name"), raw, call_id=call_id, **common, **own)))
        first = {}
    return _results(builder, mapping(step.get("observation")), made, {**common, **first})


def _results(
    builder: StepBuilder, observation: dict[str, Any], calls: list[tuple[Any, int]], common: dict[str, Any]
) -> list[tuple[int | None, str]]:
    children: list[tuple[int | None, str]] = []
    waiting = list(calls)
    for result in objects(observation.get("results")):
        wanted = result.get("source_call_id")
        match = next((pair for pair in waiting if wanted is not None and pair[0] == wanted), None)
        by_id = match is not None
        if match is None and wanted is None and waiting:
            match = waiting[0]
        if match is not None:
            waiting.remove(match)
        left = rest(result, ("source_call_id", "content"))
        content, structured = result_content(result.get("content"))
        target = match[1] if match else None
        builder.result(
            content,
            call_id=wanted,
            structured=structured,
            nested_in=target,
            by_id=by_id,
            **{**common, "extra": {**(common.get("extra") or {}), **left} or None},
        )
        common = {**common, "usage": None, "extra": None}
        for ref in objects(result.get("subagent_trajectory_ref")) or [mapping(result.get("subagent_trajectory_ref"))]:
            name = string(ref.get("trajectory_id")) or string(ref.get("session_id"))
            if name:
                children.append((target, name))
    return children


def agent_name(record: dict[str, Any]) -> str | None:
    """Name of the agent of an ATIF trajectory."""
    return string(mapping(record.get("agent")).get("name"))


def read_agents(record: dict[str, Any]) -> tuple[Agent, ...]:
    """The agents of an ATIF trajectory, sub-agents after it."""
    found: list[Agent] = []
    for owner in (record, *objects(record.get("subagent_trajectories"))):
        name, agent = agent_name(owner), mapping(owner.get("agent"))
        if name:
            role = None if owner is record else "subagent"
            found.append(Agent(name=name, role=role, model=string(agent.get("model_name"))))
    return tuple(found)


def read_totals(record: dict[str, Any]) -> Usage | None:
    """Usage of the whole run as `final_metrics` states it."""
    totals = mapping(record.get("final_metrics"))
    usage = Usage(
        input_tokens=count(totals.get("total_prompt_tokens")),
        output_tokens=count(totals.get("total_completion_tokens")),
        cache_read_input_tokens=count(totals.get("total_cached_tokens")),
        cost_usd=max(price, 0.0) if (price := number(totals.get("total_cost_usd"))) is not None else None,
    )
    return usage if usage != Usage() else None


def version_note(record: dict[str, Any]) -> str | None:
    """What to say of a version newer than those known, or None."""
    version = str(record.get("schema_version"))
    found = re.match(r"ATIF-v(\d+)\.(\d+)", version)
    if found and (int(found[1][:4]), int(found[2][:4])) <= LAST_VERSION:
        return None
    return f"{version} is newer than the versions known here (up to 1.8); it was read as 1.8"
