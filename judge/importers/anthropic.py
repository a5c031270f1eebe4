"""Anthropic messages. See `judge.importers.dialects.anthropic_messages`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format("anthropic", "Anthropic messages")
