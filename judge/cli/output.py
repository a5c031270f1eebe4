"""Where output goes: one JSON document or plain text on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Self

from judge.errors import UsageError


def emit(document: Any) -> None:
    """One JSON document on stdout, UTF-8, keys in the order given."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
    sys.stdout.flush()  # of a command that goes on, too


class ResultStream:
    """One JSON document {KEY: [...]} written item by item, so that a long list is never in memory.

    The document is closed also when the work between stops with an error: what was done stands in it.
    """

    def __init__(self, wanted: bool, key: str) -> None:
        """
        Args:
            wanted: False writes nothing at all.
            key: Name of the list.
        """
        self._wanted = wanted
        self._key = key
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def add(self, item: Any) -> None:
        """Writes one item."""
        lead = ",\n" if self._count else self._head()
        self._count += 1
        sys.stdout.write(lead + json.dumps(item, ensure_ascii=False, allow_nan=False))

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._wanted and (self._count or error is None):
            sys.stdout.write("\n]}\n" if self._count else f"{self._head()}]}}\n")

    def _head(self) -> str:
        return f"{{{json.dumps(self._key)}: [\n"


def say(text: str = "") -> None:
    """A line for people on stdout."""
    sys.stdout.write(printable(text) + "\n")


def note(text: str) -> None:
    """A line on stderr: progress, warnings, hints."""
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()


def check_target(out: str | None, *, folder: bool) -> None:
    """Refuses, before anything is paid for, a place where reports (a folder) or a file cannot be written.

    Raises:
        UsageError: It is the other of the two, or lies where nothing can be written.
    """
    if out is None:
        return
    at = Path(out)
    wrong = "is a file" if folder and at.is_file() else "is a folder" if not folder and at.is_dir() else None
    while wrong is None and not at.exists() and at.parent != at:
        at = at.parent
        if not at.exists():
            continue
        wrong = None if at.is_dir() else f"lies below {str(at)!r}, which is no folder"
    if wrong is None and not os.access(at, os.W_OK):
        wrong = f"cannot be written: no permission for {str(at)!r}"
    if wrong is not None:
        raise UsageError(f"--out {out!r} {wrong}.", hint=f"Name another {'folder' if folder else 'file'}.")


def printable(text: str) -> str:
    """`text` with control characters made visible, so that a trace cannot drive the terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def table(rows: list[list[str]], *, header: list[str] | None = None) -> str:
    """Aligned plain columns, two spaces between; the last column is not padded."""
    body = [header, *rows] if header else rows
    if not body:
        return ""
    widths = [max(len(row[i]) for row in body if i < len(row)) for i in range(max(map(len, body)))]
    lines = []
    for row in body:
        cells = [cell.ljust(widths[i]) if i < len(row) - 1 else cell for i, cell in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    if header:
        lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
