"""ATIF, versions 1.0 to 1.8. See `judge.importers.dialects.atif`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "atif",
    "ATIF (Harbor) trajectories",
    versions="1.0 to 1.8",
    reads="steps, calls and results inside one step, sub-agents, copied context, context management",
    unknowable=("whether a tool failed", "approvals", "arguments that were not an object"),
)
