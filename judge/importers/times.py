"""Points in time and durations out of the many ways to write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

_ISO = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)(?:[Tt ](?P<time>\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)"
    r"\s*(?P<zone>[Zz]|[+-]\d\d(?::?\d\d)?)?)?$"
)
_DIGITS = re.compile(r"\d{9,20}(\.\d+)?$")
_YEARS = range(2015, 2101)


class Instant(NamedTuple):
    """A point in time.

    Attributes:
        iso: ISO 8601 text, or None where the value is not a time between 2015 and 2100.
        assumed_utc: Whether the source gave no zone.
    """

    iso: str | None
    assumed_utc: bool = False


def instant(value: Any) -> Instant:
    """A time from ISO 8601 text or from epoch seconds, milliseconds, microseconds or nanoseconds.

    The unit of a number follows from its size; digits are kept, nanoseconds too, and never pass
    through a float. Text without a zone is taken as UTC.
    """
    if isinstance(value, str):
        text = value.strip()
        if _DIGITS.match(text):
            return Instant(_epoch(text))
        found = _ISO.match(text)
        if not found:
            return Instant(None)
        time, zone = found["time"] or "00:00:00", found["zone"]
        iso = f"{found['date']}T{time}{zone or 'Z'}"
        return Instant(iso if _plausible(iso) else None, assumed_utc=zone is None)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Instant(None)
    return Instant(_epoch(format(value, "f") if isinstance(value, float) else str(value)))


def _epoch(digits: str) -> str | None:
    whole, _, fraction = digits.partition(".")
    if not whole.isdigit() or len(whole) > 20:
        return None
    size = int(whole)
    places = 0 if size < 10**11 else 3 if size < 10**14 else 6 if size < 10**17 else 9
    seconds, below = divmod(size, 10**places)
    part = (f"{below:0{places}d}" if places else "") + fraction.rstrip("0")
    if places and not below and not fraction.strip("0"):
        part = "0" * places
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    if moment.year not in _YEARS:
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + (f".{part[:9]}" if part else "") + "Z"


def _plausible(iso: str) -> bool:
    try:
        moment = datetime.fromisoformat(re.sub(r"[.,]\d+", "", iso).replace("t", "T").replace("z", "Z"))
    except ValueError:
        return False
    return moment.year in _YEARS
