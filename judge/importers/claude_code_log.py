"""Claude Code sessions. See `judge.importers.dialects`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "claude-code",
    "Claude Code sessions",
    versions="1.0 to 2.0 session files, stream-json",
    reads="the tree of lines, branches, sub-agents, compactions, copied history, usage once a reply",
    unknowable=(
        "whether a result without is_error succeeded",
        "a denied tool from a failed one",
    ),
)
