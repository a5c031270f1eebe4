"""Vercel AI SDK messages and UI message streams. See `judge.importers.dialects.vercel_messages`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format("vercel-ai", "Vercel AI SDK messages and UI message streams")
