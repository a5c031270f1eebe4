"""Small spans of every tracer that is read, as records of their own."""

from __future__ import annotations

import json
from typing import Any

START = 1_796_000_000_000_000_000
"""Nanoseconds: 2026-11-30 in UTC."""


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def call(call_id: str | None, name: str, arguments: Any) -> dict[str, Any]:
    part = {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [part]}


def response(call_id: str | None, value: Any, name: str | None = None) -> dict[str, Any]:
    part = {"type": "tool_call_response", "id": call_id, "response": value, "name": name}
    return {"role": "tool", "parts": [part]}


def otlp_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": otlp_attributes(value)}}
    return {"stringValue": value}


def otlp_attributes(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": otlp_value(value)} for key, value in attributes.items()]


def span(
    number: int, attributes: dict[str, Any], *, parent: int | None = None, at: int | None = None, **more: Any
) -> dict[str, Any]:
    """An OTLP span; its id is its number, its start one millisecond later for each number."""
    start = START + (number if at is None else at) * 1_000_000
    return {
        "traceId": f"{1:032x}",
        "spanId": f"{number:016x}",
        "parentSpanId": "" if parent is None else f"{parent:016x}",
        "name": f"span {number}",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 500_000),
        "attributes": otlp_attributes(attributes),
        **more,
    }


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "t"}, "spans": list(spans)}]}]}


def chat(inputs: list[Any], outputs: list[Any], **more: Any) -> dict[str, Any]:
    """Attributes of a model call, version 1.37: messages as JSON text."""
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(inputs),
        "gen_ai.output.messages": json.dumps(outputs),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 2,
        **more,
    }


def run_tool(name: str, call_id: str | None, arguments: Any, result: Any) -> dict[str, Any]:
    """Attributes of a tool's span."""
    made = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.arguments": arguments}
    if call_id is not None:
        made["gen_ai.tool.call.id"] = call_id
    return made if result is None else {**made, "gen_ai.tool.call.result": result}


def sdk(otlp_span: dict[str, Any]) -> dict[str, Any]:
    """The same span as the SDK's own JSON writes it: ids with 0x, times as text, attributes as an object."""
    plain = {item["key"]: next(iter(item["value"].values())) for item in otlp_span["attributes"]}
    parent = otlp_span["parentSpanId"]
    return {
        "name": otlp_span["name"],
        "context": {"trace_id": "0x" + otlp_span["traceId"], "span_id": "0x" + otlp_span["spanId"]},
        "parent_id": f"0x{parent}" if parent else None,
        "start_time": f"2026-11-30T00:53:20.{int(otlp_span['startTimeUnixNano']) // 1000 % 1_000_000:06d}Z",
        "end_time": None,
        "status": {"status_code": "UNSET"},
        "attributes": plain,
        "events": [],
    }


def observation(number: int, type: str, **more: Any) -> dict[str, Any]:
    """A Langfuse observation; it starts one second later for each number."""
    return {
        "id": f"o{number}",
        "traceId": "t1",
        "parentObservationId": None,
        "type": type,
        "name": f"o {number}",
        "startTime": f"2026-01-01T00:00:{number:02d}.000Z",
        "endTime": f"2026-01-01T00:00:{number:02d}.500Z",
        "level": "DEFAULT",
        **more,
    }


def langfuse(*observations: dict[str, Any]) -> dict[str, Any]:
    return {"trace": {"id": "t1", "projectId": "p"}, "observations": list(observations)}


def langsmith(number: int, run_type: str, inputs: Any, outputs: Any, **more: Any) -> dict[str, Any]:
    """A LangSmith run without children."""
    return {
        "id": f"r{number}",
        "trace_id": "r1",
        "parent_run_id": None if number == 1 else "r1",
        "run_type": run_type,
        "name": f"run {number}",
        "inputs": inputs,
        "outputs": outputs,
        "error": None,
        "start_time": f"2026-01-01T00:00:{number:02d}",
        "end_time": f"2026-01-01T00:00:{number:02d}.5",
        **more,
    }


def mlflow(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"info": {"trace_id": "tr-1", "state": "OK"}, "data": {"spans": list(spans)}}


def mlflow_span(number: int, type: str, inputs: Any, outputs: Any, **more: Any) -> dict[str, Any]:
    """An MLflow span: every attribute is JSON text."""
    attributes = {"mlflow.spanType": json.dumps(type), "mlflow.spanInputs": json.dumps(inputs)}
    if outputs is not None:
        attributes["mlflow.spanOutputs"] = json.dumps(outputs)
    return {
        "trace_id": "",
        "span_id": f"{number:016x}",
        "parent_span_id": None if number == 1 else f"{1:016x}",
        "name": f"tool{number}",
        "start_time_unix_nano": START + number,
        "end_time_unix_nano": START + number + 1,
        "attributes": attributes,
        "events": [],
        "status": {"code": "STATUS_CODE_OK"},
        **more,
    }
