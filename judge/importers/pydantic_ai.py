"""Pydantic AI messages. See `judge.importers.dialects.pydantic_messages`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "pydantic-ai",
    "Pydantic AI messages",
    versions="2.x (outcome of a return) and 1.x (retry prompts)",
    reads="every part, instructions, usage once a response, outcome of each return",
    unknowable=("whether a call without a return waits for approval or was cut off",),
)
