"""Google ADK sessions and evalsets. See `judge.importers.dialects`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "google-adk",
    "Google ADK sessions and evalsets",
    versions="0.1 to 2.x, both spellings of keys",
    reads="events, calls, responses, transfers, confirmations, errors; an evalset as a reference, marked as such",
    unknowable=("whether a response without an error key succeeded",),
)
