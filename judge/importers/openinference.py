"""OpenInference spans (Phoenix), over OTLP or SDK JSON. See `judge.importers.dialects.span_attributes`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "openinference",
    "OpenInference spans (Phoenix), over OTLP or SDK JSON",
    versions="attributes of 2024 to 2026, flat with indices or nested",
    reads="messages from indexed keys in numeric order, tools, token counts, errors by status",
    unknowable=(
        "the call that a tool span without id answers: joined by name and arguments",
        "approvals",
    ),
)
