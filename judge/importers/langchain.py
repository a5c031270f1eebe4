"""LangChain and LangGraph messages, in any of four dumps. See `judge.importers.dialects.langchain_messages`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format("langchain", "LangChain and LangGraph messages, in any of four dumps")
