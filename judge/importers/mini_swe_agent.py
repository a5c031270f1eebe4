"""mini-swe-agent files. See `judge.importers.dialects`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "mini-swe-agent",
    "mini-swe-agent files",
    versions="1 with info, 2 (trajectory_format 1.1), chat and Responses variants",
    reads="messages, calls, return codes, exit message",
    unknowable=("in version 1: tool calls, which stand in the text only",),
)
