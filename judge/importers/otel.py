"""OpenTelemetry GenAI spans (OTLP JSON, SDK JSON). See `judge.importers.dialects.otlp`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "otel",
    "OpenTelemetry GenAI spans (OTLP JSON, SDK JSON)",
    versions=(
        "four generations: OpenLLMetry indexed keys, content events up to 1.27, message events 1.28 to 1.36, "
        "message attributes from 1.37; Vercel and Logfire attributes"
    ),
    reads=("model calls and tools in order of time, ids in hex or base64, history and usage once, errors by status"),
    unknowable=(
        "approvals: there is no convention",
        "message content, where the tracer did not capture it",
        "whether a tool with status UNSET failed",
    ),
)
