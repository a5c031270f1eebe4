"""Field mapping: which column of somebody's file is the id, the value, the rater, the sample.

One mapping reads one file of verdicts or labels; nothing here knows any data set. Paths are
dotted ("order_ab.winner"); an id may join several.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from judge.types.record import Record


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _text_keys(value: Any) -> Any:
    return {str(key): meaning for key, meaning in value.items()} if isinstance(value, Mapping) else value


Paths = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]


class Find(Record):
    """How a value is found in a text.

    Attributes:
        pattern: Regular expression; its first group (or the whole match) is the value. Case is ignored.
        which: Which match counts when there are several.
    """

    pattern: str
    which: Literal["first", "last", "only"] = "last"

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"{value!r} is no regular expression: {error}") from None
        return value

    def apply(self, text: str) -> str | None:
        """The value in `text`, or None when there is none, or several different ones with "only"."""
        found = [m.group(1) if m.re.groups else m.group(0) for m in re.finditer(self.pattern, text, re.IGNORECASE)]
        if not found:
            return None
        if self.which == "only" and len({f.casefold() for f in found}) > 1:
            return None
        return found[0] if self.which == "first" else found[-1]


class Contains(Record):
    """A value decided by whether a text contains another, ignoring case."""

    text: str
    then: str | float
    otherwise: str | float


class Failed(Record):
    """How a file marks a judgement that failed: `path` equals a value (case and type ignored), or starts with one."""

    path: str
    equals: Any = None
    starts_with: str | None = None

    @model_validator(mode="after")
    def _says_how(self) -> Failed:
        if (self.equals is None) == (self.starts_with is None):
            raise ValueError("failed needs one of equals and starts_with")
        return self

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Whether this row is a failed judgement."""
        value = lookup(row, self.path)
        if self.starts_with is not None:
            return isinstance(value, str) and value.startswith(self.starts_with)
        return value is not None and str(value).strip().casefold() == str(self.equals).strip().casefold()


class FieldMap(Record):
    """Which field is what, in one file.

    Attributes:
        id: Path or paths that name the trajectory; several are joined with ":".
        value: Path of the score or label. A list is read as repeated samples.
        raters: Name of a rater to the path of its value, where one row holds several raters.
        orders: Name of an order ("ab", "ba") to the path of its value, for pairwise verdicts in both orders.
        source: Path of the judge's or rater's name; `source_name` is a fixed name.
        rater_kind: Path of the rater's kind; `rater_kind_name` is a fixed kind, for a file that does not say.
        cause: Path of why a row is a repeat: "sampling", "prompt" (reworded), "criteria_order" or "model_change". Rows
            of another cause than sampling show that part of the wobble and take no part in the verdict.
        explode: Path of an object with one value a key: each key becomes an item "ID/key".
        values: Text of a value to what it means on the scale; null means "not applicable", and a text that begins
            with "failed:" that the judgement failed.
        latest: Path of a time; of rows for the same item the latest counts.
        where: Path to value; other rows are left out and counted.
        slices: Name of a slice to its path, for results by agent, tool or length.
        reason: Path of the judge's reason, for reports that show it.
        judge_fingerprint: Path of what identifies the judge exactly; one source with two of them is refused.
    """

    id: Paths
    value: str | None = None
    raters: dict[str, str] = {}
    orders: dict[str, str] = {}
    explode: str | None = None
    source: str | None = None
    source_name: str | None = None
    criterion: str = "overall"
    criterion_path: str | None = None
    sample: str | None = None
    cause: str | None = None
    group: Paths | None = None
    split: str | None = None
    rater_kind: str | None = None
    rater_kind_name: str | None = None
    rubric_version: str | None = None
    probability: str | None = None
    values: Annotated[dict[str, Any], BeforeValidator(_text_keys)] = {}
    find: Find | None = None
    contains: Contains | None = None
    failed: Failed | None = None
    latest: str | None = None
    where: dict[str, Any] = {}
    slices: dict[str, str] = {}
    reason: str | None = None
    judge_fingerprint: str | None = None
    records: str | None = Field(default=None, description="Path of the list of rows inside a JSON object.")


_MISSING = object()


def lookup(row: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path, or None. A key that holds dots itself is tried first."""
    if path in row:
        return row[path]
    value: Any = row
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part, _MISSING)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
        if value is _MISSING:
            return None
    return value


def identity(row: Mapping[str, Any], paths: tuple[str, ...]) -> str | None:
    """The values at `paths` joined with ":", or None when one is missing. Numbers and texts of them are equal."""
    parts = [lookup(row, path) for path in paths]
    if any(part is None or part == "" for part in parts):
        return None
    return ":".join(str(part).strip() for part in parts)
