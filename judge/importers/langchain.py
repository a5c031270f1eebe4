"""LangChain and LangGraph messages in any of their dumps. See `judge.importers.dialects.langchain_messages`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "langchain",
    "LangChain and LangGraph messages in any of their dumps",
    versions=(
        "langchain-core 0.x to 1.8: model_dump, messages_to_dict, dumpd, and states of LangGraph with `messages`"
    ),
    reads=(
        "calls, invalid calls with their text, status and artifact of results, usage, interrupts; provider "
        "copies of calls once"
    ),
    unknowable=(
        "times",
        "errors and invalid calls, once converted to OpenAI messages",
    ),
)
