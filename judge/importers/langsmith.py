"""LangSmith runs. See `judge.importers.dialects.langsmith`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "langsmith",
    "LangSmith runs",
    versions="run trees of the 0.1 to 0.15 client, nested or one run to a line",
    reads="model runs and tool runs in order, history once, usage of model runs only, errors",
    unknowable=(
        "approvals, but for interrupts in messages",
        "zones of times: taken as UTC",
    ),
)
