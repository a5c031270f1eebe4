"""ATIF, versions 1.0 to 1.8. See `judge.importers.dialects.atif`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format("atif", "ATIF (Harbor) trajectories")
