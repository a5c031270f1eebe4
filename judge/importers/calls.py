"""Lists of `{tool, arguments, result}`. See `judge.importers.dialects.calls`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "calls",
    "List of calls ({tool, arguments, result})",
    versions="any",
    reads="calls with arguments and results",
    unknowable=("what was said between the calls",),
)
