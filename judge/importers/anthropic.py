"""Anthropic messages. See `judge.importers.dialects.anthropic_messages`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "anthropic",
    "Anthropic messages",
    versions="2023-06-01 API, server tools, MCP tools, programmatic calls, streamed events",
    reads="blocks in order, is_error, server tool errors, nested calls; usage with cached tokens added",
    unknowable=("whether a result without is_error succeeded", "times"),
)
