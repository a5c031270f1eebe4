"""AgentDojo runs. See `judge.importers.dialects`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "agentdojo",
    "AgentDojo runs",
    versions="0.1, before and after content parts",
    reads="messages, calls, results with errors; utility and security as labels",
    unknowable=("whether security means anything: not where the run broke off, nor without an injection",),
)
