"""Observations of Langfuse traces into spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.importers.dialects.spans import Kind, Span, decoded
from judge.importers.fields import MISSING, mapping, objects, string
from judge.importers.log import Look
from judge.importers.times import instant
from judge.importers.usage import read_usage
from judge.types.trajectory import StepError, Tool, Usage

_KINDS: dict[str, Kind] = {
    "GENERATION": "llm",
    "TOOL": "tool",
    "AGENT": "agent",
    "SPAN": "chain",
    "CHAIN": "chain",
    "EVENT": "other",
    "RETRIEVER": "other",
    "EVALUATOR": "other",
    "GUARDRAIL": "other",
    "EMBEDDING": "other",
}


def look(record: dict[str, Any]) -> Look | None:
    """A trace with its observations, or one observation."""
    if isinstance(record.get("observations"), list) and ("trace" in record or "projectId" in record):
        return Look("langfuse", "item", "a trace with its observations", 95)
    if isinstance(record.get("traceId"), str) and str(record.get("type")) in _KINDS and "startTime" in record:
        return Look("langfuse", "item", f"an observation of type {record['type']!r}", 95)
    return None


def read_spans(records: list[Any]) -> list[Span]:
    """Every observation of the records."""
    out: list[Span] = []
    for record in records:
        if not isinstance(record, dict):
            continue
        if isinstance(record.get("observations"), list):
            trace = mapping(record.get("trace")) or record
            name = string(trace.get("id")) or ""
            out.extend(_span(item, name, string(trace.get("sessionId"))) for item in objects(record["observations"]))
        else:
            out.append(_span(record, string(record.get("traceId")) or "", None))
    return out


def _span(item: Mapping[str, Any], trace: str, session: str | None) -> Span:
    kind = _KINDS.get(str(item.get("type")), "chain")
    metadata = mapping(decoded(item.get("metadata")))
    attributes = mapping(decoded(metadata.get("attributes")))
    given, made = item.get("input", MISSING), item.get("output", MISSING)
    failed = item.get("level") == "ERROR"
    text = string(item.get("statusMessage"))
    name = string(item.get("name")) or ""
    tool = string(attributes.get("gen_ai.tool.name")) or string(attributes.get("ai.toolCall.name"))
    call_id = string(attributes.get("gen_ai.tool.call.id")) or string(attributes.get("ai.toolCall.id"))
    arguments = decoded(given)
    if isinstance(arguments, dict) and set(arguments) == {"input"} and isinstance(arguments["input"], dict):
        arguments = arguments["input"]  # a wrapper that LangSmith's spans write
    return Span(
        trace=trace,
        id=string(item.get("id")),
        parent=string(item.get("parentObservationId")),
        name=name,
        kind=kind,
        ts=instant(item.get("startTime")).iso,
        end=instant(item.get("endTime")).iso,
        inputs=MISSING if kind == "tool" else given,
        outputs=MISSING if kind == "tool" else made,
        arguments=arguments if kind == "tool" and given is not None else MISSING,
        result=made if kind == "tool" and made is not None else MISSING,
        tool=(tool or name.removeprefix("execute_tool ").removeprefix("running tool: ")) if kind == "tool" else None,
        call_id=call_id if kind == "tool" else None,
        agent=string(attributes.get("gen_ai.agent.name")) or (name if kind == "agent" else None),
        model=string(item.get("model")),
        usage=_usage(item) if kind == "llm" else None,
        status="error" if failed else "unknown",
        error=StepError(type=string(attributes.get("error.type")), message=text) if failed else None,
        tools=_tools(item.get("toolDefinitions")),
        session=session,
    )


def _tools(value: Any) -> tuple[Tool, ...]:
    """Definitions by name, their schema often JSON text."""
    found = decoded(value)
    if not isinstance(found, dict):
        return ()
    bodies = {str(name): mapping(decoded(body)) for name, body in found.items()}
    return tuple(
        Tool(name=name, description=string(body.get("description")), parameters=decoded(body.get("parameters")))
        for name, body in bodies.items()
    )


def _usage(item: Mapping[str, Any]) -> Usage | None:
    """Counts out of a set of keys that is free: cached and created input are part of the total or beside it."""
    details = mapping(decoded(item.get("usageDetails"))) or mapping(item.get("usage"))

    def at(*names: str) -> Any:
        return next((details[name] for name in names if isinstance(details.get(name), int | float)), None)

    cost = mapping(decoded(item.get("costDetails"))).get("total", item.get("totalCost"))
    raw = {
        "prompt_tokens": at("input", "input_tokens", "promptTokens"),
        "completion_tokens": at("output", "output_tokens", "completionTokens"),
        "prompt_tokens_details": {
            "cached_tokens": at("input_cache_read", "prompt_details.cache_read", "cache_read_input_tokens")
        },
        "completion_tokens_details": {"reasoning_tokens": at("output_reasoning", "completion_details.reasoning")},
    }
    return read_usage(raw, cost_usd=cost or None) if details else None
