"""Attributes of a span into what it did: four generations of OpenTelemetry GenAI, OpenInference, MLflow and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from judge.importers.dialects.indexed_keys import flat, messages_under, tools_under
from judge.importers.dialects.spans import Kind, Span, decoded
from judge.importers.envelope import read_tools
from judge.importers.fields import MISSING, count, first, mapping, number, objects, string
from judge.importers.usage import read_usage
from judge.types.trajectory import StepError, Tool, Usage

_KINDS: dict[str, Kind] = {
    "llm": "llm",
    "chat_model": "llm",
    "chat": "llm",
    "generate_content": "llm",
    "text_completion": "llm",
    "generation": "llm",
    "tool": "tool",
    "execute_tool": "tool",
    "agent": "agent",
    "invoke_agent": "agent",
    "create_agent": "agent",
    "chain": "chain",
    "workflow": "chain",
    "task": "chain",
    "invoke_workflow": "chain",
    "prompt": "chain",
    "parser": "chain",
    "unknown": "chain",
    "retriever": "other",
    "retrieval": "other",
    "reranker": "other",
    "embedding": "other",
    "embeddings": "other",
    "guardrail": "other",
    "evaluator": "other",
}
_KIND_KEYS = (
    "openinference.span.kind",
    "mlflow.spanType",
    "gen_ai.operation.name",
    "traceloop.span.kind",
    "langsmith.span.kind",
)
_INPUT = ("gen_ai.input.messages",)
_OUTPUT = ("gen_ai.output.messages",)
_LATE_INPUT = (
    "mlflow.chat.messages",
    "ai.prompt.messages",
    "ai.prompt",
    "mlflow.spanInputs",
    "input.value",
    "traceloop.entity.input",
)
_LATE_OUTPUT = ("mlflow.spanOutputs", "output.value", "traceloop.entity.output")
_TOOL_NAME = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
_TOOL_ID = ("gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id")
_TOOL_INPUT = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "ai.toolCall.args",
    "mlflow.spanInputs",
    "input.value",
    "traceloop.entity.input",
    "tool.parameters",
)
_TOOL_OUTPUT = (
    "gen_ai.tool.call.result",
    "tool_response",
    "ai.toolCall.result",
    "mlflow.spanOutputs",
    "output.value",
    "traceloop.entity.output",
)
_ROLES = ("system", "user", "assistant", "tool")


class RawSpan(NamedTuple):
    """A span as its container has it: plain attributes, events as (name, attributes)."""

    trace: str
    id: str | None
    parent: str | None
    name: str
    ts: str | None
    end: str | None
    attributes: Mapping[str, Any]
    events: Sequence[tuple[str, Mapping[str, Any]]] = ()
    status: Literal["ok", "error", "unknown"] = "unknown"
    message: str | None = None


def understand(raw: RawSpan) -> Span:
    """What a span did. Where several generations of attributes stand side by side, the newest that has a value wins:
    GenAI messages, then events, OpenInference, indexed GenAI keys, and last the generic input and output."""
    a = flat(raw.attributes)
    kind = _kind(a, raw)
    inputs, outputs = (_inputs(a, raw), _outputs(a, raw)) if kind != "tool" else (MISSING, MISSING)
    agent = string(a.get("gen_ai.agent.name")) or string(a.get("agent_name")) or string(a.get("agent.name"))
    if agent is None and kind == "agent":
        agent = string(a.get("graph.node.id")) or string(a.get("traceloop.entity.name")) or raw.name
    used = ("gen_ai.aggregated_usage.",)
    return Span(
        trace=raw.trace,
        id=raw.id,
        parent=raw.parent,
        name=raw.name,
        kind=kind,
        ts=raw.ts,
        end=raw.end,
        inputs=inputs,
        outputs=outputs,
        arguments=_tool_value(a, _TOOL_INPUT) if kind == "tool" else MISSING,
        result=_tool_value(a, _TOOL_OUTPUT) if kind == "tool" else MISSING,
        tool=(string(_decoded_first(a, _TOOL_NAME)) or raw.name) if kind == "tool" else None,
        call_id=string(_decoded_first(a, _TOOL_ID)) if kind == "tool" else None,
        agent=agent,
        model=string(first_of(a, ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id"))),
        usage=_usage(a) if kind == "llm" else None,
        total=_summed(a, used[0]) or (_usage(a) if kind in ("agent", "chain") else None),
        status=raw.status,
        error=_error(a, raw),
        tools=_tools(a),
        session=string(first_of(a, ("gen_ai.conversation.id", "session.id", "session_id"))),
        extra=_kept(a, kind),
    )


def first_of(a: Mapping[str, Any], keys: Sequence[str]) -> Any:
    """The first value that is neither absent nor null; None where there is none."""
    return next((a[key] for key in keys if a.get(key) is not None), None)


def _decoded_first(a: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return decoded(first_of(a, keys))


def _kind(a: Mapping[str, Any], raw: RawSpan) -> Kind:
    for key in _KIND_KEYS:
        word = decoded(a.get(key))
        if isinstance(word, str) and word.lower() in _KINDS:
            return _KINDS[word.lower()]
    operation = a.get("ai.operationId")
    if isinstance(operation, str):
        return "tool" if operation == "ai.toolCall" else "llm"
    if "gen_ai.tool.name" in a or "tool.name" in a:
        return "tool"
    model = "llm.request.type" in a or "gen_ai.input.messages" in a or "gen_ai.request.model" in a
    indexed = any(key.startswith(("gen_ai.prompt.", "gen_ai.completion.", "llm.input_messages.")) for key in a)
    told = any(name.startswith(("gen_ai.content.", "gen_ai.user.", "gen_ai.choice")) for name, _ in raw.events)
    return "llm" if model or indexed or told else "chain"


def _inputs(a: Mapping[str, Any], raw: RawSpan) -> Any:
    held = {**_operation_details(raw), **{key: a[key] for key in (*_INPUT, "gen_ai.system_instructions") if key in a}}
    value = decoded(first_of(held, _INPUT))
    if value is not None:
        return [*_instructions(held), *(value if isinstance(value, list) else [value])]
    for found in (
        _event_messages(raw, "gen_ai.{}.message"),
        messages_under(a, "llm.input_messages"),
        messages_under(a, "gen_ai.prompt"),
        _content_events(raw, "gen_ai.content.prompt", "gen_ai.prompt"),
    ):
        if found:
            return found
    value = first(a, _LATE_INPUT)
    if value is MISSING:
        value = a.get("pydantic_ai.all_messages", a.get("all_messages_events", MISSING))
    return MISSING if value is MISSING else decoded(value)


def _outputs(a: Mapping[str, Any], raw: RawSpan) -> Any:
    held = {**_operation_details(raw), **{key: a[key] for key in _OUTPUT if key in a}}
    value = decoded(first_of(held, _OUTPUT))
    if value is not None:
        return value
    for found in (
        _choices(raw),
        messages_under(a, "llm.output_messages"),
        messages_under(a, "gen_ai.completion"),
        _content_events(raw, "gen_ai.content.completion", "gen_ai.completion"),
        _vercel_reply(a),
    ):
        if found:
            return found
    value = first(a, _LATE_OUTPUT)
    return MISSING if value is MISSING else decoded(value)


def _instructions(held: Mapping[str, Any]) -> list[Any]:
    value = decoded(held.get("gen_ai.system_instructions"))
    if isinstance(value, str) and value:
        return [{"role": "system", "parts": [{"type": "text", "content": value}]}]
    return [{"role": "system", "parts": value}] if isinstance(value, list) and value else []


def _operation_details(raw: RawSpan) -> dict[str, Any]:
    """Attributes of the event in which newer instrumentations put messages."""
    out: dict[str, Any] = {}
    for name, attributes in raw.events:
        if name == "gen_ai.client.inference.operation.details":
            out.update(attributes)
    return out


def _event_messages(raw: RawSpan, pattern: str) -> list[Any]:
    names = {pattern.format(role): role for role in _ROLES}
    out: list[Any] = []
    for name, attributes in raw.events:
        if name in names:
            body = _body(attributes)
            message = {"role": names[name], **body}
            if names[name] == "tool" and "tool_call_id" not in body and "id" in body:
                message["tool_call_id"] = message.pop("id")
            message.setdefault("content", None)
            out.append(message)
    return out


def _choices(raw: RawSpan) -> list[Any]:
    out: list[Any] = []
    for name, attributes in raw.events:
        if name == "gen_ai.choice":
            body = _body(attributes)
            message = decoded(body.get("message"))
            inner = message if isinstance(message, dict) else {"content": message}
            calls = inner.get("tool_calls", body.get("tool_calls"))
            out.append({"role": "assistant", "content": None, **inner, **({"tool_calls": calls} if calls else {})})
    return out


def _body(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a log event, or the same keys as attributes of a span event."""
    body = decoded(attributes.get("body", attributes.get("event_body")))
    if isinstance(body, dict):
        return body
    names = ("content", "role", "tool_calls", "id", "tool_call_id", "message", "finish_reason", "index", "name")
    return {key: decoded(value) if key != "content" else value for key, value in attributes.items() if key in names}


def _content_events(raw: RawSpan, name: str, key: str) -> list[Any]:
    out: list[Any] = []
    for event, attributes in raw.events:
        if event == name and key in attributes:
            value = decoded(attributes[key])
            out.extend(value if isinstance(value, list) else [value])
    return out


def _vercel_reply(a: Mapping[str, Any]) -> list[Any]:
    text = first_of(a, ("ai.response.text", "ai.result.text"))
    calls = decoded(first_of(a, ("ai.response.toolCalls", "ai.result.toolCalls")))
    parts: list[Any] = [{"type": "text", "text": text}] if isinstance(text, str) and text else []
    for call in objects(calls):
        parts.append({"type": "tool-call", **{key: value for key, value in call.items() if key != "type"}})
    return [{"role": "assistant", "content": parts}] if parts else []


def _tool_value(a: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return first(a, keys)


def _usage(a: Mapping[str, Any]) -> Usage | None:
    own = _summed(a, "gen_ai.usage.")
    if own is not None:
        return own
    totals = decoded(a.get("mlflow.chat.tokenUsage"))
    if isinstance(totals, dict):
        return read_usage(totals)
    found = {
        "prompt_tokens": a.get(
            "llm.token_count.prompt", first_of(a, ("ai.usage.promptTokens", "ai.usage.inputTokens"))
        ),
        "completion_tokens": a.get(
            "llm.token_count.completion", first_of(a, ("ai.usage.completionTokens", "ai.usage.outputTokens"))
        ),
        "prompt_tokens_details": {
            "cached_tokens": a.get("llm.token_count.prompt_details.cache_read"),
            "cache_write_tokens": a.get("llm.token_count.prompt_details.cache_write"),
        },
        "completion_tokens_details": {"reasoning_tokens": a.get("llm.token_count.completion_details.reasoning")},
    }
    return read_usage(found, cost_usd=number(a.get("llm.cost.total")))


def _summed(a: Mapping[str, Any], prefix: str) -> Usage | None:
    def at(*names: str) -> int | None:
        return next((n for n in (count(_whole(a.get(prefix + name))) for name in names) if n is not None), None)

    return read_usage(
        {
            "prompt_tokens": at("input_tokens", "prompt_tokens"),
            "completion_tokens": at("output_tokens", "completion_tokens"),
            "prompt_tokens_details": {
                "cached_tokens": at("cache_read.input_tokens", "cache_read_input_tokens"),
                "cache_write_tokens": at("cache_creation.input_tokens", "cache_creation_input_tokens"),
            },
            "completion_tokens_details": {
                "reasoning_tokens": at("reasoning.output_tokens", "details.reasoning_tokens")
            },
        }
    )


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdigit() and len(value) < 16 else value


def _error(a: Mapping[str, Any], raw: RawSpan) -> StepError | None:
    if raw.status != "error":
        return None
    thrown = next((attributes for name, attributes in raw.events if name == "exception"), {})
    kind = string(a.get("error.type")) or string(thrown.get("exception.type"))
    return StepError(type=kind, message=raw.message or string(thrown.get("exception.message")))


def _tools(a: Mapping[str, Any]) -> tuple[Tool, ...]:
    value = _decoded_first(a, ("gen_ai.tool.definitions", "mlflow.chat.tools", "ai.prompt.tools"))
    listed = [decoded(item) for item in value] if isinstance(value, list) else tools_under(a)
    return read_tools([item for item in listed if isinstance(item, dict)])


def _kept(a: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    names = ("pydantic_ai.tool.", "gen_ai.tool.type", "gen_ai.tool.description", "metadata", "retrieval.", "error.type")
    kept = {key: value for key, value in a.items() if key.startswith(names)}
    return kept if kind in ("tool", "other") else mapping(None)
