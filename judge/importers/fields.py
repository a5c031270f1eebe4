"""Values of the expected type out of untrusted JSON: anything else counts as absent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MISSING: Any = object()
"""What `first` gives where no key is present: a key that holds null is present."""


def string(value: Any) -> str | None:
    """Text that is not empty, or the digits of a whole number; None for all else."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def mapping(value: Any) -> dict[str, Any]:
    """`value` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; nothing where `value` is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def number(value: Any) -> float | None:
    """A number that is not a boolean, or a decimal string; None for all else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) < 1e300 else None
    if isinstance(value, str):
        try:
            return number(float(value))
        except ValueError:
            return None
    return None


def count(value: Any) -> int | None:
    """A whole number of at least 0; None for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value >= 0 and value == int(value) else None


def first(record: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """The value under the first key that is present, or `MISSING`."""
    for key in keys:
        if key in record:
            return record[key]
    return MISSING


def rest(record: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """What is left of a record without the known keys and without nulls."""
    skip = frozenset(known)
    return {key: value for key, value in record.items() if key not in skip and value is not None}
