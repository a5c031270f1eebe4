"""OpenAI chat messages in all their containers. See `judge.importers.dialects.openai_messages`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "openai-chat",
    "OpenAI chat messages",
    versions="current and legacy chat API, fine-tuning files, ShareGPT, tau-bench, LiteLLM logs, streamed chunks",
    reads="messages, tool calls (arguments byte-exact), results, reasoning_content, usage of responses",
    unknowable=("whether a tool failed", "times", "in mini-swe-agent 1 files: commands, which stand in the text"),
)
