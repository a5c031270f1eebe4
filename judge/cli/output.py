"""Where output goes: one JSON document or plain text on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from typing import Any


def emit(document: Any) -> None:
    """One JSON document on stdout, UTF-8, keys in the order given."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def say(text: str = "") -> None:
    """A line for people on stdout."""
    sys.stdout.write(printable(text) + "\n")


def note(text: str) -> None:
    """A line on stderr: progress, warnings, hints."""
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()


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
