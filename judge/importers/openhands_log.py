"""OpenHands events. See `judge.importers.dialects`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "openhands",
    "OpenHands events",
    versions="V0 event lists, V1 SDK event folders, output.jsonl with history",
    reads="messages, actions, observations by cause, errors, rejections, condensations",
    unknowable=("in V0: whether a tool without an exit code failed",),
)
