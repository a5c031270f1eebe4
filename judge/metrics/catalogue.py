"""The metrics as a table, made from their docstrings, so that docs/metrics.md cannot say something else."""

from __future__ import annotations

from typing import NamedTuple

from judge.metrics.metric import CallMetric
from judge.registry import BUILT_IN, find

FIELDS = ("Range", "Not applicable", "Steps")


class Entry(NamedTuple):
    """One metric's page: what it is with its formula, and the fields of its docstring."""

    name: str
    unit: str
    what: str
    range: str
    not_applicable: str
    steps: str


def catalogue() -> tuple[Entry, ...]:
    """An entry for every built-in metric, in the order of the registry."""
    return tuple(_entry(find("metrics", name)) for name in BUILT_IN["metrics"])


def _entry(found: CallMetric) -> Entry:
    what, _, rest = found.page.partition("\n\n")
    fields = dict.fromkeys(FIELDS, "")
    current = ""
    for line in rest.splitlines():
        name, colon, text = line.strip().partition(": ")
        if colon and name in fields:
            current, line = name, text
        if current and line.strip():
            fields[current] = f"{fields[current]} {line.strip()}".strip()
    return Entry(found.name, found.unit, " ".join(what.split()), *(fields[name] for name in FIELDS))


def table() -> str:
    """The catalogue as a Markdown table."""
    rows = [
        ("metric", "unit", "what, and the formula", "range", "not applicable when", "steps"),
        ("---",) * 6,
        *((f"`{entry.name}`", *entry[1:]) for entry in catalogue()),
    ]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows) + "\n"
