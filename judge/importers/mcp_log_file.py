"""MCP logs (JSON-RPC). See `judge.importers.dialects`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "mcp",
    "MCP logs (JSON-RPC)",
    versions="2024-11 to 2025-06 protocol",
    reads="tool calls and results, tool lists, elicitations, protocol errors; the tool side of a run only",
    unknowable=("what the agent said, and why it called",),
)
