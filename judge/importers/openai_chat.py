"""OpenAI chat messages in all their containers. See `judge.importers.dialects.openai_messages`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format("openai-chat", "OpenAI chat messages")
