"""One small run written in each format: turns in, a file's records out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from chat_records import asks, tool
from trace_records import call, chat, langfuse, langsmith, mlflow, mlflow_span, observation, otlp, response, span, text

Turn = tuple[Any, ...]
"""("user", text), ("assistant", text), ("call", id, name, arguments) or ("result", id, name, text)."""
Turns = Sequence[Turn]


def openai(turns: Turns) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for kind, *rest in turns:
        if kind == "call":
            out.append(asks((rest[0], rest[1], rest[2])))
        elif kind == "result":
            out.append(tool(rest[0], rest[2], name=rest[1]))
        else:
            out.append({"role": kind, "content": rest[0]})
    return out


def responses(turns: Turns) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for kind, *rest in turns:
        if kind == "call":
            out.append({"type": "function_call", "call_id": rest[0], "name": rest[1], "arguments": rest[2]})
        elif kind == "result":
            out.append({"type": "function_call_output", "call_id": rest[0], "output": rest[2]})
        else:
            out.append({"role": kind, "content": rest[0]})
    return out


def langchain(turns: Turns) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    common = {"additional_kwargs": {}, "response_metadata": {}}
    for kind, *rest in turns:
        if kind == "call":
            made = {"id": rest[0], "name": rest[1], "args": rest[2], "type": "tool_call"}
            out.append({"type": "ai", "content": "", "tool_calls": [made], **common})
        elif kind == "result":
            out.append({"type": "tool", "tool_call_id": rest[0], "name": rest[1], "content": rest[2], **common})
        else:
            out.append({"type": "human" if kind == "user" else "ai", "content": rest[0], **common})
    return out


def constructors(turns: Turns) -> list[dict[str, Any]]:
    names = {"ai": "AIMessage", "human": "HumanMessage", "tool": "ToolMessage"}
    return [
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", names[made["type"]]], "kwargs": made}
        for made in langchain(turns)
    ]


def dicts(turns: Turns) -> list[dict[str, Any]]:
    return [{"type": made["type"], "data": made} for made in langchain(turns)]


def pydantic(turns: Turns) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for kind, *rest in turns:
        if kind == "call":
            part = {"part_kind": "tool-call", "tool_call_id": rest[0], "tool_name": rest[1], "args": rest[2]}
        elif kind == "result":
            part = {"part_kind": "tool-return", "tool_call_id": rest[0], "tool_name": rest[1], "content": rest[2]}
        else:
            part = {"part_kind": "user-prompt" if kind == "user" else "text", "content": rest[0]}
        out.append({"kind": "response" if kind in ("call", "assistant") else "request", "parts": [part]})
    return out


def vercel(turns: Turns) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for kind, *rest in turns:
        if kind == "call":
            part = {"type": "tool-call", "toolCallId": rest[0], "toolName": rest[1], "input": rest[2]}
            out.append({"role": "assistant", "content": [part]})
        elif kind == "result":
            part = {"type": "tool-result", "toolCallId": rest[0], "toolName": rest[1], "output": rest[2]}
            out.append({"role": "tool", "content": [part]})
        else:
            out.append({"role": kind, "content": [{"type": "text", "text": rest[0]}]})
    return out


def parts(turns: Turns) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for kind, *rest in turns:
        if kind == "call":
            out.append(call(rest[0], rest[1], rest[2]))
        elif kind == "result":
            out.append(response(rest[0], rest[2], rest[1]))
        else:
            out.append(text(kind, rest[0]))
    return out


def model_calls(messages: list[dict[str, Any]]) -> list[tuple[list[Any], list[Any]]]:
    """Input and output of the model calls that a list of messages came from: each repeats all before it."""
    made = [(messages[:at], [message]) for at, message in enumerate(messages) if message["role"] == "assistant"]
    return made if messages[-1]["role"] == "assistant" else [*made, (messages, [])]


def otel(turns: Turns) -> list[dict[str, Any]]:
    spans = [span(at, chat(*pair)) for at, pair in enumerate(model_calls(parts(turns)), start=1)]
    return [otlp(*reversed(spans))]


def openinference(turns: Turns) -> list[dict[str, Any]]:
    spans = []
    for at, (inputs, outputs) in enumerate(model_calls(openai(turns)), start=1):
        keys: dict[str, Any] = {"openinference.span.kind": "LLM"}
        for side, messages in (("llm.input_messages", inputs), ("llm.output_messages", outputs)):
            for n, message in enumerate(messages):
                for key, value in message.items():
                    if key == "tool_calls":
                        entry = value[0]
                        start = f"{side}.{n}.message.tool_calls.0.tool_call"
                        keys[f"{start}.id"] = entry["id"]
                        keys[f"{start}.function.name"] = entry["function"]["name"]
                        keys[f"{start}.function.arguments"] = entry["function"]["arguments"]
                    elif value is not None:
                        keys[f"{side}.{n}.message.{key}"] = value
        spans.append(span(at, {key: value for key, value in keys.items() if value is not None}))
    return [otlp(*spans)]


def observations(turns: Turns) -> list[dict[str, Any]]:
    found = enumerate(model_calls(openai(turns)), start=1)
    return [langfuse(*[observation(at, "GENERATION", input=json.dumps(i), output=o or None) for at, (i, o) in found])]


def runs(turns: Turns) -> list[dict[str, Any]]:
    found = enumerate(model_calls(constructors_with_roles(turns)), start=1)
    return [langsmith(at, "llm", {"messages": [strip(i)]}, {"output": strip(o)} if o else None) for at, (i, o) in found]


def constructors_with_roles(turns: Turns) -> list[dict[str, Any]]:
    roles = {"AIMessage": "assistant", "HumanMessage": "user", "ToolMessage": "tool"}
    return [{**made, "role": roles[made["id"][-1]]} for made in constructors(turns)]


def strip(messages: list[Any]) -> list[Any]:
    return [{key: value for key, value in made.items() if key != "role"} for made in messages]


def mlflow_spans(turns: Turns) -> list[dict[str, Any]]:
    found = enumerate(model_calls(openai(turns)), start=1)
    return [mlflow(*[mlflow_span(at, "CHAT_MODEL", {"messages": i}, o or None) for at, (i, o) in found])]


WRITERS: dict[str, tuple[str, Callable[[Turns], list[dict[str, Any]]]]] = {
    "responses": ("openai-responses", responses),
    "langchain": ("langchain", langchain),
    "langchain constructors": ("langchain", constructors),
    "langchain dicts": ("langchain", dicts),
    "pydantic-ai": ("pydantic-ai", pydantic),
    "vercel-ai": ("vercel-ai", vercel),
    "genai-messages": ("genai-messages", parts),
    "otel": ("otel", otel),
    "openinference": ("openinference", openinference),
    "langfuse": ("langfuse", observations),
    "langsmith": ("langsmith", runs),
    "mlflow": ("mlflow", mlflow_spans),
}
"""Name to the format that is detected and the writer."""
