"""Lists of `{tool, arguments, result}`. See `judge.importers.dialects.calls`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format("calls", "List of calls ({tool, arguments, result})")
