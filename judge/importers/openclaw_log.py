"""OpenClaw telemetry. See `judge.importers.dialects`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "openclaw",
    "OpenClaw telemetry",
    versions="2026-03",
    reads="messages of finished agents, else tool events",
    unknowable=("the result of a tool whose agent has not ended",),
)
