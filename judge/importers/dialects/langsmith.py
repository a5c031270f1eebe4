"""Runs of LangSmith into spans, nested under their parents or one to a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from judge.importers.dialects.spans import Kind, Span
from judge.importers.envelope import read_tools
from judge.importers.fields import MISSING, mapping, objects, string
from judge.importers.log import Look
from judge.importers.times import instant
from judge.importers.usage import read_usage
from judge.types.trajectory import StepError

_KINDS: dict[str, Kind] = {
    "llm": "llm",
    "tool": "tool",
    "chain": "chain",
    "prompt": "chain",
    "parser": "chain",
    "retriever": "other",
    "embedding": "other",
}


def look(record: dict[str, Any]) -> Look | None:
    """A run, with or without its children."""
    if isinstance(record.get("run_type"), str) and "inputs" in record and "start_time" in record:
        return Look("langsmith", "item", f"run_type {record['run_type']!r} with inputs and start_time", 95)
    return None


def read_spans(records: list[Any]) -> list[Span]:
    """Every run of the records and below them; a run that stands both nested and alone is one."""
    out: dict[str, Span] = {}
    for record in records:
        for at, span in enumerate(_runs(record, None, None, 0)):
            out.setdefault(span.id or f"run {len(out)} {at}", span)
    return list(out.values())


def _runs(run: Any, parent: str | None, trace: str | None, depth: int) -> Iterator[Span]:
    if not isinstance(run, dict) or depth > 100:
        return
    name = string(run.get("id"))
    trace = string(run.get("trace_id")) or trace or name or ""
    yield _span(run, name, string(run.get("parent_run_id")) or parent, trace)
    for child in objects(run.get("child_runs")):
        yield from _runs(child, name, trace, depth + 1)


def _span(run: Mapping[str, Any], name: str | None, parent: str | None, trace: str) -> Span:
    kind = _KINDS.get(str(run.get("run_type")), "chain")
    inputs, outputs = run.get("inputs"), run.get("outputs")
    error = string(run.get("error"))
    metadata = mapping(mapping(run.get("extra")).get("metadata"))
    parameters = mapping(mapping(run.get("extra")).get("invocation_params"))
    told = mapping(outputs)
    result = told.get("output", outputs) if told else outputs
    total = {"prompt_tokens": run.get("prompt_tokens"), "completion_tokens": run.get("completion_tokens")}
    usage = read_usage(total, cost_usd=run.get("total_cost"))
    return Span(
        trace=trace,
        id=name,
        parent=parent,
        name=string(run.get("name")) or "",
        kind=kind,
        ts=instant(run.get("start_time")).iso,
        end=instant(run.get("end_time")).iso,
        inputs=MISSING if inputs is None or kind == "tool" else inputs,
        outputs=MISSING if outputs is None or kind == "tool" else outputs,
        arguments=_arguments(inputs) if kind == "tool" else MISSING,
        result=MISSING if kind != "tool" or result is None else result,
        tool=string(run.get("name")) if kind == "tool" else None,
        call_id=string(mapping(inputs).get("tool_call_id") or metadata.get("tool_call_id")) if kind == "tool" else None,
        agent=string(metadata.get("lc_agent_name")),
        model=string(metadata.get("ls_model_name")),
        usage=usage if kind == "llm" else None,
        total=usage if kind != "llm" else None,
        status="error" if error else "ok" if run.get("status") == "success" else "unknown",
        error=StepError(message=error) if error else None,
        tools=read_tools(parameters.get("tools")),
        session=string(metadata.get("thread_id") or metadata.get("session_id")),
        extra={"tags": run["tags"]} if run.get("tags") else {},
    )


def _arguments(inputs: Any) -> Any:
    """A tool's input: an object as it is, or under `input`, where it may be the text of one."""
    if isinstance(inputs, dict) and set(inputs) == {"input"}:
        return inputs["input"]
    return MISSING if inputs is None else inputs
