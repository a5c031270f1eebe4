"""A mapping file: which names a log of another make uses. See `docs/mapping.md`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from judge.errors import TraceError
from judge.importers.dialects.names import FIELDS, TYPES, Names
from judge.types.record import Record

RUN_FIELDS = ("id", "steps", "task", "group", "labels", "meta")


class RunKeys(Record):
    """Keys of the object around the steps, where they have names of their own. Empty where they do not.

    Attributes:
        steps: Keys that hold the list of steps.
        labels: Keys that are labels, hidden from every judge.
        meta: Keys that are neither, hidden too.
    """

    id: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    meta: tuple[str, ...] = ()


class Vocabulary(Record):
    """A mapping file, checked."""

    types: dict[str, str] = {}
    fields: dict[str, tuple[str, ...]] = {}
    run: RunKeys = RunKeys()

    @property
    def names(self) -> Names:
        """What an event reader needs of it."""
        return Names(self.types, self.fields)


def read_mapping(value: Mapping[str, Any] | None) -> Vocabulary:
    """A mapping as it stands in its file, checked.

    Raises:
        TraceError: A section, type or field that does not exist, or a value that is not text.
    """
    if value is None:
        return Vocabulary()
    _known("section", value, ("types", "fields", "run"))
    types = {}
    for theirs, ours in _section(value, "types").items():
        if not isinstance(theirs, str) or not isinstance(ours, str):
            raise _not_text("types", theirs, ours)
        _known("event type", [ours], (*TYPES, "event"))
        types[theirs] = ours
    fields = _section(value, "fields")
    _known("field", fields, FIELDS)
    run = _section(value, "run")
    _known("key of a run", run, RUN_FIELDS)
    return Vocabulary(
        types=types,
        fields={ours: _keys("fields", ours, theirs) for ours, theirs in fields.items()},
        run=RunKeys(**{ours: _keys("run", ours, theirs) for ours, theirs in run.items()}),
    )


def _section(value: Mapping[str, Any], name: str) -> Mapping[Any, Any]:
    section = value.get(name)
    if section is None:
        return {}
    if not isinstance(section, Mapping):
        raise TraceError(f"Mapping: {name!r} is {type(section).__name__}, expected names with values.")
    return section


def _keys(section: str, ours: str, theirs: Any) -> tuple[str, ...]:
    keys = theirs if isinstance(theirs, list | tuple) else [theirs]
    for key in keys:
        if not isinstance(key, str) or not key:
            raise _not_text(section, ours, key)
    return tuple(keys)


def _not_text(section: str, left: Any, right: Any) -> TraceError:
    wrong = left if not isinstance(left, str) else right
    hint = "YAML reads yes, no, on and off as true and false: quote the name." if isinstance(wrong, bool) else ""
    return TraceError(f"Mapping: {section!r} holds {left!r}: {right!r}, expected text for text.", hint=hint)


def _known(what: str, found: Iterable[Any], known: Iterable[str]) -> None:
    known = tuple(known)
    for name in found:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
            raise TraceError(f"Mapping: there is no {what} {name!r}.", hint=hint)
