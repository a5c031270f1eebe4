"""tau2 results and simulations. See `judge.importers.dialects`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "tau2",
    "tau2 results and simulations",
    versions="2025 to 2026 files, voice ticks",
    reads="messages, calls and results of agent and simulated user; rewards as labels",
    unknowable=(),
)
