"""Our own JSON and JSON Lines, `judge.trajectory/1`. Read strictly: see `judge.importers.dialects.native`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "native",
    "judge.trajectory/1, JSON or JSON Lines",
    versions="judge.trajectory/1",
    reads="every field, each key checked",
    unknowable=(),
)
