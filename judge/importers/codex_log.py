"""Codex rollouts and exec streams. See `judge.importers.dialects`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "codex",
    "Codex rollouts and exec streams",
    versions="0.4x rollouts, older bare items, exec --json",
    reads="response items, token counts (cumulative), aborted turns, approvals, compactions, forks; exec items once",
    unknowable=("whether a plain-text result failed",),
)
