"""Spans out of OTLP JSON, of the OpenTelemetry SDK's own JSON and of MLflow traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from judge.importers.dialects.span_attributes import RawSpan, understand
from judge.importers.dialects.spans import Span, decoded, hex_id
from judge.importers.fields import first, mapping, objects, string
from judge.importers.log import Look
from judge.importers.times import instant

_SPANS = ("resourceSpans", "resource_spans")
_LOGS = ("resourceLogs", "resource_logs")


def look(record: dict[str, Any]) -> Look | None:
    """OTLP exports, single SDK spans and MLflow traces; OpenInference by its own attribute."""
    for key in (*_SPANS, *_LOGS):
        if isinstance(record.get(key), list):
            inside = "openinference" if _mentions(record[key]) else "otel"
            return Look(inside, "item", f"{key!r} of an OTLP export", 100)
    context = record.get("context")
    if isinstance(context, dict) and "attributes" in record and "span_id" in context:
        keys = mapping(record["attributes"])
        inside = "openinference" if any(key.startswith(("openinference", "llm.")) for key in keys) else "otel"
        return Look(inside, "item", "context, parent and attributes of an SDK span", 90)
    if _mlflow_spans(record) is not None:
        return Look("mlflow", "item", "info and data.spans of an MLflow trace", 100)
    return None


def _mentions(value: Any, depth: int = 0) -> bool:
    """Whether an attribute key of OpenInference stands in the first spans of an export."""
    if depth > 8:
        return False
    if isinstance(value, dict):
        if str(value.get("key")).startswith("openinference."):
            return True
        return any(_mentions(item, depth + 1) for item in value.values() if isinstance(item, dict | list))
    return isinstance(value, list) and any(_mentions(item, depth + 1) for item in value[:60])


def _mlflow_spans(record: Mapping[str, Any]) -> list[Any] | None:
    spans = mapping(record.get("data")).get("spans")
    return spans if isinstance(record.get("info"), dict) and isinstance(spans, list) else None


def read_spans(records: list[Any]) -> list[Span]:
    """Every span of the records, log records of the same span joined to it."""
    raws: list[RawSpan] = []
    logs: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for record in records:
        if not isinstance(record, dict):
            continue
        inner = _mlflow_spans(record)
        if inner is not None:
            raws.extend(_mlflow(span, string(mapping(record["info"]).get("trace_id"))) for span in objects(inner))
        elif "context" in record:
            raws.append(_sdk(record))
        else:
            raws.extend(_otlp(record))
            for span_id, event in _log_events(record):
                logs.setdefault(span_id, []).append(event)
    known = {raw.id for raw in raws}
    joined = [raw._replace(events=[*raw.events, *logs[raw.id]]) if raw.id in logs else raw for raw in raws if raw]
    loose = [event for span_id, events in logs.items() if span_id not in known for event in events]
    if loose:  # a log file without its spans
        joined.append(RawSpan("logs", None, None, "log records", None, None, {}, loose))
    return [understand(raw) for raw in joined]


def _otlp(record: Mapping[str, Any]) -> Iterator[RawSpan]:
    for key in _SPANS:
        for resource in objects(record.get(key)):
            scopes = first(
                resource,
                ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans"),
            )
            for scope in objects(scopes):
                for span in objects(scope.get("spans")):
                    yield _otlp_span(span)


def _otlp_span(span: Mapping[str, Any]) -> RawSpan:
    def at(*names: str) -> Any:
        return next((span[name] for name in names if name in span), None)

    status = mapping(span.get("status"))
    return RawSpan(
        trace=hex_id(at("traceId", "trace_id"), 16) or "",
        id=hex_id(at("spanId", "span_id"), 8),
        parent=hex_id(at("parentSpanId", "parent_span_id"), 8),
        name=string(span.get("name")) or "",
        ts=instant(at("startTimeUnixNano", "start_time_unix_nano")).iso,
        end=instant(at("endTimeUnixNano", "end_time_unix_nano")).iso,
        attributes=_attributes(span.get("attributes")),
        events=[
            (string(event.get("name")) or "", _attributes(event.get("attributes")))
            for event in objects(span.get("events"))
        ],
        status=_status(status.get("code")),
        message=string(status.get("message")),
    )


def _attributes(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    return {str(item["key"]): _value(item.get("value")) for item in objects(value) if isinstance(item.get("key"), str)}


def _value(value: Any) -> Any:
    """An OTLP value: the only key says its type; integers come as text."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    name = kind.replace("_", "").lower()
    if name == "intvalue":
        return int(inner) if isinstance(inner, str) and inner.lstrip("-").isdigit() and len(inner) < 20 else inner
    if name == "arrayvalue":
        listed = mapping(inner).get("values", [])
        return [_value(item) for item in listed] if isinstance(listed, list) else []
    if name == "kvlistvalue":
        return _attributes(mapping(inner).get("values"))
    return inner if name in ("stringvalue", "boolvalue", "doublevalue", "bytesvalue") else value


def _log_events(record: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, Mapping[str, Any]]]]:
    for key in _LOGS:
        for resource in objects(record.get(key)):
            for scope in objects(first(resource, ("scopeLogs", "scope_logs"))):
                for entry in objects(first(scope, ("logRecords", "log_records"))):
                    attributes = _attributes(entry.get("attributes"))
                    name = string(entry.get("eventName")) or string(entry.get("event_name"))
                    name = name or string(attributes.get("event.name"))
                    body = _value(entry.get("body"))
                    if name:
                        span = hex_id(entry.get("spanId", entry.get("span_id")), 8) or ""
                        yield span, (name, {**attributes, **({"body": body} if body is not None else {})})


def _status(code: Any) -> Literal["ok", "error", "unknown"]:
    text = str(code).upper()
    if text == "2" or text.endswith("ERROR"):
        return "error"
    return "ok" if text == "1" or text.endswith("OK") else "unknown"


def _sdk(record: Mapping[str, Any]) -> RawSpan:
    context, status = mapping(record.get("context")), mapping(record.get("status"))
    events = [(string(e.get("name")) or "", mapping(e.get("attributes"))) for e in objects(record.get("events"))]
    code = status.get("status_code", record.get("status_code", status.get("code")))
    return RawSpan(
        trace=hex_id(context.get("trace_id"), 16) or "",
        id=hex_id(context.get("span_id"), 8),
        parent=hex_id(record.get("parent_id"), 8),
        name=string(record.get("name")) or "",
        ts=instant(record.get("start_time")).iso,
        end=instant(record.get("end_time")).iso,
        attributes={**_own_kind(record), **mapping(record.get("attributes"))},
        events=events,
        status=_status(code),
        message=string(status.get("description")) or string(record.get("status_message")),
    )


def _own_kind(record: Mapping[str, Any]) -> dict[str, Any]:
    """Phoenix writes the kind of its spans beside the attributes."""
    kind = record.get("span_kind")
    return {"openinference.span.kind": kind} if isinstance(kind, str) else {}


def _mlflow(span: Mapping[str, Any], trace: str | None) -> RawSpan:
    context = mapping(span.get("context"))
    status = span.get("status")
    code = mapping(status).get("code", span.get("status_code", status))
    events = [(string(e.get("name")) or "", mapping(e.get("attributes"))) for e in objects(span.get("events"))]
    attributes = {str(key): decoded(value) for key, value in mapping(span.get("attributes")).items()}
    return RawSpan(
        trace=trace or hex_id(span.get("trace_id", context.get("trace_id")), 16) or "",
        id=hex_id(span.get("span_id", context.get("span_id")), 8),
        parent=hex_id(span.get("parent_span_id", span.get("parent_id")), 8),
        name=string(span.get("name")) or "",
        ts=instant(span.get("start_time_unix_nano", span.get("start_time"))).iso,
        end=instant(span.get("end_time_unix_nano", span.get("end_time"))).iso,
        attributes=attributes,
        events=events,
        status=_status(code),
        message=string(mapping(status).get("message")),
    )
