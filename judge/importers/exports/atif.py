"""A trajectory as ATIF (Harbor), version 1.7, which readers of 1.8 take too."""

from __future__ import annotations

from collections import Counter
from typing import Any

from judge.importers.exports.exported import Block, Exported, blocks, count_unwritten, result_text, text_of
from judge.types.trajectory import (
    ContextEdit,
    Final,
    Message,
    Reasoning,
    Step,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
)

VERSION = "ATIF-v1.7"
_SOURCES = {"user": "user", "system": "system", "developer": "system"}


def to_atif(trajectory: Trajectory) -> Exported:
    """ATIF of one trajectory. Results stand in the step that called; a call without an id gets one.

    ATIF has no place for approvals, retries, errors, transfers, statuses of results, arguments that are not
    an object, and labels: these are counted in `lost`. Sub-agents stand among the steps, named in `extra`.
    """
    lost: Counter[str] = Counter()
    home: dict[int, dict[str, Any]] = {}
    steps: list[dict[str, Any]] = []
    names: dict[int, str] = {}
    for block in blocks(trajectory):
        first = block.steps[0]
        if isinstance(first, ToolResult):
            _result(first, home, names, steps, lost)
        elif block.agent:
            step = _agent_step(block, names, lost)
            home.update({each.index: step for each in block.steps if isinstance(each, ToolCall)})
            steps.append(step)
        else:
            _other(first, steps, lost)
    if not steps:
        steps.append({"source": "system", "message": ""})
    for number, step in enumerate(steps, start=1):
        step["step_id"] = number
    if trajectory.labels:
        lost["labels"] += len(trajectory.labels)
    agent = trajectory.agents[0] if trajectory.agents else None
    about: dict[str, Any] = {"name": agent.name if agent else "unknown", "version": "unknown"}
    if agent and agent.model:
        about["model_name"] = agent.model
    if trajectory.tools:
        about["tool_definitions"] = [_tool(tool.name, tool.description, tool.parameters) for tool in trajectory.tools]
    value: dict[str, Any] = {
        "schema_version": VERSION,
        "session_id": trajectory.id,
        "agent": about,
        "steps": [_ordered(step) for step in steps],
    }
    totals = _totals(trajectory.usage)
    if totals:
        value["final_metrics"] = totals
    return Exported(value, dict(sorted(lost.items())))


def _agent_step(block: Block, names: dict[int, str], lost: Counter[str]) -> dict[str, Any]:
    first = block.steps[0]
    step: dict[str, Any] = {"source": "agent", "message": "", **_common(first)}
    thoughts = [text_of(each.content, lost) for each in block.steps if isinstance(each, Reasoning)]
    if thoughts:
        step["reasoning_content"] = "\n".join(thoughts)
    calls: list[dict[str, Any]] = []
    for each in block.steps:
        if isinstance(each, Message):
            step["message"] = text_of(each.content, lost)
        elif isinstance(each, Final):
            step["message"] = each.text
        elif isinstance(each, ToolCall):
            calls.append(_call(each, calls, names, lost))
    if calls:
        step["tool_calls"] = calls
    usage = next((each.usage for each in block.steps if each.usage is not None), None)
    metrics = _metrics(usage)
    if metrics:
        step["metrics"] = metrics
    return step


def _call(call: ToolCall, before: list[dict[str, Any]], names: dict[int, str], lost: Counter[str]) -> dict[str, Any]:
    name = call.call_id or f"call-{call.index}"
    if any(other["tool_call_id"] == name for other in before):
        name = f"{name}-{call.index}"
        lost["repeated call ids"] += 1
    names[call.index] = name
    arguments = call.arguments
    if not isinstance(arguments, dict):
        lost["arguments that are no object"] += 1
        arguments = {"raw": call.arguments_raw} if call.arguments_raw is not None else {"value": arguments}
    return {"tool_call_id": name, "function_name": call.name, "arguments": arguments}


def _result(
    result: ToolResult,
    home: dict[int, dict[str, Any]],
    names: dict[int, str],
    steps: list[dict[str, Any]],
    lost: Counter[str],
) -> None:
    text = result_text(result, lost)
    step = home.get(result.call_index or 0)
    if step is None:
        steps.append({"source": "system", "message": "", "observation": {"results": [_content(result, text)]}})
        lost["places of results that answer no call"] += 1
        return
    entry = {"source_call_id": names[result.call_index or 0], **_content(result, text)}
    step.setdefault("observation", {"results": []})["results"].append(entry)


def _content(result: ToolResult, text: str) -> dict[str, Any]:
    return {"content": text} if text or result.content else {}


def _other(step: Step, steps: list[dict[str, Any]], lost: Counter[str]) -> None:
    if isinstance(step, Message):
        source = _SOURCES.get(step.role, "system")
        if step.role not in _SOURCES:
            lost[f"role {step.role!r}"] += 1
        steps.append({"source": source, "message": text_of(step.content, lost), **_common(step)})
    elif isinstance(step, ContextEdit):
        edit = {"context_management": {"type": step.op}}
        common = _common(step)
        extra = {**common.pop("extra", {}), **edit}
        steps.append({"source": "system", "message": step.summary or "", **common, "extra": extra})
    else:
        count_unwritten(step, lost)


def _common(step: Step) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if step.ts is not None:
        out["timestamp"] = step.ts
    if step.provenance == "copied_context":
        out["is_copied_context"] = True
    if step.agent is not None:
        out["extra"] = {"agent": step.agent}
    return out


def _metrics(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    found = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "cached_tokens": usage.cache_read_input_tokens,
        "cost_usd": usage.cost_usd,
    }
    return {key: value for key, value in found.items() if value is not None}


def _totals(usage: Usage | None) -> dict[str, Any]:
    names = {"prompt_tokens": "total_prompt_tokens", "completion_tokens": "total_completion_tokens"}
    names |= {"cached_tokens": "total_cached_tokens", "cost_usd": "total_cost_usd"}
    return {names[key]: value for key, value in _metrics(usage).items()}


def _tool(name: str, description: str | None, parameters: Any) -> dict[str, Any]:
    body = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": {key: value for key, value in body.items() if value is not None}}


def _ordered(step: dict[str, Any]) -> dict[str, Any]:
    return {"step_id": step["step_id"], **{key: value for key, value in step.items() if key != "step_id"}}
