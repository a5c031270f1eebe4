"""The formats that have a reader of their own: how each is recognised, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from judge.importers.log import Log, Look

LOOKS: tuple[Callable[[dict[str, Any]], Look | None], ...] = ()
"""Each says whether an object is of its format; the first that does decides."""

READERS: dict[str, Callable[[Any], Iterator[Log]]] = {}
"""Format to reader. It gets the object of a "run", or the list of the records of one run."""


def look(record: dict[str, Any]) -> Look | None:
    """What an object is by its own marks; None where no format of this table knows it."""
    for each in LOOKS:
        found = each(record)
        if found is not None:
            return found
    return None
