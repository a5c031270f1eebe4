"""Small log files that tests write for themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from judge.importers import load
from judge.types import Trajectory


def lines(path: Path, *records: Any) -> Path:
    """A JSON Lines file of the records."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def whole(path: Path, value: Any) -> Path:
    """A JSON file of one value."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def only(path: Path) -> Trajectory:
    """The one trajectory of a file."""
    (run,) = load(path)
    return run


def kinds(run: Trajectory) -> list[str]:
    """Kinds of the steps in order."""
    return [step.kind for step in run.steps]


def codes(run: Trajectory) -> list[str]:
    """Codes of the diagnostics in order."""
    return [note.code for note in run.diagnostics]
