"""Step lists: calls that hold their results, then `final`. See `judge.importers.dialects.events`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "steps",
    "Step list ({type: tool_call, tool, input, ...} and {type: final, text})",
    versions="any",
    reads="tool calls with their results inside, the final answer",
    unknowable=("times", "which model call a tool call came from"),
)
