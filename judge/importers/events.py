"""Event logs, one record an event. See `judge.importers.dialects.events`; other names by a mapping file."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "events",
    "Event log (llm_call, tool_call, tool_result, approval, final ...)",
    versions="any; names of its own by a mapping file",
    reads="model calls, tool calls and results, approvals, retries, transfers, errors, final answers",
    unknowable=("whether a result without a flag succeeded",),
)
