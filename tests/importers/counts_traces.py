"""Counts tool calls and results on raw JSON, by rules that know nothing of the importers. Run it for a table."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Counts(NamedTuple):
    """Calls and results of one file."""

    calls: int
    results: int


def raw(path: Path) -> list[Any]:
    """The JSON values of a file: one, or one a line."""
    text = path.read_text(encoding="utf-8")
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.split("\n") if line.strip()]


def opened(value: Any) -> Any:
    """A value with all JSON text in it decoded, at any depth; text that only looks like JSON stays."""
    if isinstance(value, str) and value[:1] in ("{", "[", '"'):
        try:
            return opened(json.loads(value))
        except ValueError:
            return value
    if isinstance(value, dict):
        return {key: opened(item) for key, item in value.items()}
    return [opened(item) for item in value] if isinstance(value, list) else value


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object at any depth."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from objects(item)


def responses(values: list[Any]) -> Counts:
    """Items of a stored response; of a stream the items that were done."""
    items = [item for value in values for item in value.get("output", [])]
    items += [value["item"] for value in values if value.get("type") == "response.output_item.done"]
    calls = [item for item in items if item["type"].endswith("_call")]
    held = [item for item in calls if item.get("output") is not None or item.get("outputs") is not None]
    return Counts(len(calls), len(held) + sum(item["type"].endswith("_call_output") for item in items))


def langchain(values: list[Any]) -> Counts:
    found = list(objects(values))
    lists = [item[key] for item in found for key in ("tool_calls", "invalid_tool_calls") if item.get(key)]
    return Counts(sum(map(len, lists)), sum("tool_call_id" in item for item in found))


def genai_spans(values: list[Any]) -> Counts:
    """Parts of output messages, and the spans of tools; the input messages repeat both."""
    calls = results = 0
    for item in objects(values):
        pairs = item.get("attributes")
        if isinstance(pairs, list):
            pairs = {pair["key"]: next(iter(pair["value"].values())) for pair in pairs}
        if not isinstance(pairs, dict):
            continue
        told = opened(pairs.get("gen_ai.output.messages", "[]"))
        calls += sum(part.get("type") == "tool_call" for part in objects(told))
        results += pairs.get("gen_ai.operation.name") == "execute_tool"
    return Counts(calls, results)


def openinference(values: list[Any]) -> Counts:
    """Ids of calls in output messages; of results the distinct ids in the inputs (the tool spans are among them)."""
    calls, results = 0, set()
    for span in objects(values):
        for key, value in (span.get("attributes") or {}).items():
            calls += key.startswith("llm.output_messages.") and key.endswith(".tool_call.id")
            if key.startswith("llm.input_messages.") and key.endswith(".message.tool_call_id"):
                results.add(value)
    return Counts(calls, len(results))


def langfuse(values: list[Any]) -> Counts:
    """Calls in the outputs of generations that hold no other; results by tool observation, else by distinct id."""
    seen = values[0]["observations"]
    generations = [item for item in seen if item["type"] == "GENERATION"]
    inner = {item["id"] for item in generations} - {item.get("parentObservationId") for item in generations}
    calls = 0
    told: set[str] = set()
    for item in generations:
        if item["id"] in inner:
            out = opened(item["output"])
            found = list(objects(out))
            calls += sum(entry.get("type") in ("tool_use", "tool_call", "function_call") for entry in found)
            calls += sum("toolCallId" in entry or "function_call" in entry for entry in found)
            calls += sum(isinstance(entry.get("function"), dict) and "id" in entry for entry in found)
        told |= {
            e["tool_call_id"] for e in objects(opened(item["input"])) if e.get("role") == "tool" and "tool_call_id" in e
        }
    tools = sum(item["type"] == "TOOL" for item in seen)
    return Counts(calls, tools or len(told))


def mlflow(values: list[Any]) -> Counts:
    """Each tool span is one call with one outcome; the model's own call is one of them."""
    kinds = [json.loads(span["attributes"]["mlflow.spanType"]) for span in values[0]["data"]["spans"]]
    return Counts(kinds.count("TOOL"), kinds.count("TOOL"))


def pydantic_ai(values: list[Any]) -> Counts:
    kinds = [part.get("part_kind") for part in objects(values)]
    return Counts(kinds.count("tool-call"), kinds.count("tool-return"))


def vercel(values: list[Any]) -> Counts:
    """Distinct call ids, and those among them that came to an output or an error."""
    found = [item for item in objects(values) if "toolCallId" in item]
    done = {i["toolCallId"] for i in found if "-output" in i["type"] or str(i.get("state")).startswith("output-")}
    return Counts(len({item["toolCallId"] for item in found}), len(done))


def nothing(values: list[Any]) -> Counts:
    return Counts(0, 0)


FILES: dict[str, Callable[[list[Any]], Counts]] = {
    **{
        f"02_openai_responses/openai-{name}": responses
        for name in (
            "apply-patch-tool.1.json",
            "code-interpreter-tool.1.json",
            "custom-tool.1.json",
            "custom-tool.1.chunks.txt",
            "local-shell-tool.1.json",
            "mcp-tool-approval.1.json",
            "mcp-tool-approval.2.json",
            "mcp-tool-approval.3.json",
            "mcp-tool-approval.4.json",
        )
    },
    **{
        f"04_langchain/{name}.json": langchain
        for name in ("convert_to_openai_messages", "dumpd", "messages_to_dict", "model_dump")
    },
    "05_otel_genai/otlp_trace_example.json": nothing,
    "05_otel_genai/pydantic_ai_otlp_protobuf_MessageToDict.json": genai_spans,
    "05_otel_genai/pydantic_ai_sdk_span_to_json.json": genai_spans,
    "06_openinference/openai_spans_sdk_to_json.json": openinference,
    **{
        f"07_langfuse/{name}.trace.json": langfuse
        for name in (
            "autogen-2025-06-06",
            "claude-agent-2025-12-22",
            "crewai-2025-07-11",
            "google-adk-2025-08-28",
            "langgraph-python-2025-08-22",
            "openai-agents-2025-09-30",
            "pydantic-ai-tools-2025-12-04",
            "vercel-aisdk-2025-11-17",
        )
    },
    "14_mlflow/trace.to_json.json": mlflow,
    "16_pydantic_ai/all_messages.json": pydantic_ai,
    "17_vercel_ai/pydantic_ai_dumped_ui_messages.json": vercel,
    "17_vercel_ai/ui_message_stream_chunks.jsonl": vercel,
    "17_vercel_ai/ui_messages.json": vercel,
}
"""Real file to the rule that counts it."""


def counted(folder: Path, name: str) -> Counts:
    """Counts of one real file."""
    return FILES[name](raw(folder / name))


def imported(path: Path) -> tuple[str, Counts]:
    """The format that a file was read in, and the counts of its trajectories."""
    from judge.importers import load

    runs = list(load(path))
    kinds = [step.kind for run in runs for step in run.steps]
    return runs[0].source.format, Counts(kinds.count("tool_call"), kinds.count("tool_result"))


def table(folder: Path) -> str:
    """Raw and imported counts of each file, as text."""
    lines = [f"{'file':62} {'format':17} raw calls/results  imported"]
    for name in FILES:
        here = counted(folder, name)
        format, there = imported(folder / name)
        lines.append(f"{name:62} {format:17} {here.calls:9}/{here.results:<7}  {there.calls}/{there.results}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
