"""OpenAI Responses items, stored responses and event streams. See `judge.importers.dialects.responses_items`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "openai-responses",
    "OpenAI Responses items, stored responses and event streams",
    versions=(
        "API of 2025 to 2026: message, reasoning, function, custom, MCP, shell, patch, code interpreter and "
        "search items"
    ),
    reads=(
        "items in order, calls joined by call_id, MCP approvals, results that stand inside their call, streams added up"
    ),
    unknowable=(
        "whether a function failed: outputs have no flag",
        "the results of a stored response's last calls: they are in the next request",
        "times of single items",
    ),
)
