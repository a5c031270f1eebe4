"""OpenTelemetry GenAI spans (OTLP JSON, SDK JSON) and messages. See `judge.importers.dialects.otlp`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format("otel", "OpenTelemetry GenAI spans (OTLP JSON, SDK JSON) and messages")
