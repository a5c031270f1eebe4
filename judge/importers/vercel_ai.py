"""Vercel AI SDK messages and UI message streams. See `judge.importers.dialects.vercel_messages`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "vercel-ai",
    "Vercel AI SDK messages and UI message streams",
    versions="UI messages of versions 4 to 6, model messages, UI stream chunks of version 6",
    reads="calls with state, approvals, results and errors; invalid input as text; chunks added up",
    unknowable=(
        "times",
        "usage",
        "the text of an error that the SDK masks as 'An error occurred.'",
    ),
)
