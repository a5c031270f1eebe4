"""Pydantic AI messages. See `judge.importers.dialects.pydantic_messages`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format("pydantic-ai", "Pydantic AI messages")
