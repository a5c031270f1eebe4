"""OpenAI Responses items, stored responses and their event streams. See `judge.importers.dialects.responses_items`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format("openai-responses", "OpenAI Responses items, stored responses and their event streams")
