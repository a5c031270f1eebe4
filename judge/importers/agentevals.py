"""agentevals graph trajectories. See `judge.importers.dialects.agentevals`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "agentevals",
    "agentevals graph trajectories",
    versions="{inputs, results, steps}, by its source; its message lists read as openai-chat",
    reads="the names of the nodes that ran, inputs and results",
    unknowable=(
        "messages, tools, arguments and errors: the file names nodes only",
        "usage",
        "times",
    ),
)
