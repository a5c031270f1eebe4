"""SWE-agent .traj files. See `judge.importers.dialects`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "swe-agent",
    "SWE-agent .traj files",
    versions="1.0 and 1.1, demonstrations",
    reads="history with its calls and results; times from `trajectory`; "
    "demonstrations inside a history as copied context",
    unknowable=("whether a command failed",),
)
