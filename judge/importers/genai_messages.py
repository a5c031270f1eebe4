"""Messages with parts. See `judge.importers.dialects.parts_messages`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "genai-messages",
    "Messages with parts: OpenTelemetry GenAI's schema, Gemini contents",
    versions="OpenTelemetry GenAI from 1.37; Gemini contents in either case",
    reads="text, media, reasoning, tool calls and their responses, in order",
    unknowable=("whether a tool failed: a response has no flag", "times", "usage", "approvals"),
)
