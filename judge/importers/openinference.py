"""OpenInference spans (Phoenix), over OTLP or SDK JSON. See `judge.importers.dialects.span_attributes`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format("openinference", "OpenInference spans (Phoenix), over OTLP or SDK JSON")
