"""AutoGen and AG2. See `judge.importers.dialects`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "autogen",
    "AutoGen and AG2",
    versions="AutoGen 0.4 to 0.7 task results and saved states, AG2 chat results",
    reads="messages by agent, thoughts, calls, results with is_error, handoffs",
    unknowable=("in AG2 chats: whether a call failed",),
)
