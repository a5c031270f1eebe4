"""LangSmith runs. See `judge.importers.dialects.langsmith`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format("langsmith", "LangSmith runs")
