"""Langfuse traces and observations. See `judge.importers.dialects.langfuse`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format("langfuse", "Langfuse traces and observations")
