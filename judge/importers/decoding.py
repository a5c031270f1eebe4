"""JSON text to values, with what had to be replaced said out loud."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple

MAX_DEPTH = 200
"""Deepest nesting of objects and lists that is read; deeper values cannot be written out again."""

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_A_BRACKET = bytes(set(range(256)) - set(b"[]{}"))


class Note(NamedTuple):
    """Something replaced while decoding: a diagnostic code and a sentence."""

    code: str
    message: str


class Decoded(NamedTuple):
    """A decoded value and what was replaced in it."""

    value: Any
    notes: tuple[Note, ...] = ()


class NotJson(ValueError):
    """The text is not one JSON value.

    Attributes:
        line, column: Of the first error, from 1; None where it has no place.
        cut_off: Whether the text ends in the middle of a value.
        too_deep: Whether nesting, not syntax, is the matter.
    """

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        cut_off: bool = False,
        too_deep: bool = False,
    ) -> None:
        super().__init__(message)
        self.line = line
        self.column = column
        self.cut_off = cut_off
        self.too_deep = too_deep


def decode(text: str | bytes) -> Decoded:
    """One JSON value from text.

    NaN, infinities and numbers too large for a float become null, integers of thousands of digits stay
    text, lone surrogates become U+FFFD, raw control characters inside strings are accepted, and of a
    repeated key the last value counts. All but the last two are noted.

    Raises:
        NotJson: The text is not exactly one JSON value, or nests deeper than `MAX_DEPTH`.
    """
    notes: dict[str, Note] = {}
    if isinstance(text, bytes):
        text = _text(text, notes)
    value, end = _scan(text, 0, notes)
    rest = _skip_space(text, end)
    if rest != len(text):
        line, column = _place(text, rest)
        raise NotJson(f"more text after the end of the value: {text[rest : rest + 20]!r}", line=line, column=column)
    return Decoded(value, tuple(notes.values()))


def decode_many(text: str | bytes) -> tuple[Decoded, ...]:
    """JSON values written one after another with nothing but space between.

    Raises:
        NotJson: Some part is not JSON.
    """
    first: dict[str, Note] = {}
    if isinstance(text, bytes):
        text = _text(text, first)
    out: list[Decoded] = []
    at = _skip_space(text, 0)
    while at < len(text):
        notes: dict[str, Note] = dict(first) if not out else {}
        value, at = _scan(text, at, notes)
        out.append(Decoded(value, tuple(notes.values())))
        at = _skip_space(text, at)
    return tuple(out)


def _text(raw: bytes, notes: dict[str, Note]) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        notes["INVALID_UTF8"] = Note("INVALID_UTF8", f"bytes at {error.start} are not UTF-8 and became U+FFFD")
        return raw.decode("utf-8-sig", errors="replace")


def _scan(text: str, start: int, notes: dict[str, Note]) -> tuple[Any, int]:
    def constant(name: str) -> None:
        notes["NON_FINITE"] = Note("NON_FINITE", f"{name} is not a JSON number and became null")

    def decimal(digits: str) -> float | None:
        number = float(digits)
        if math.isfinite(number):
            return number
        constant(digits[:40])
        return None

    def whole(digits: str) -> int | str:
        if len(digits) <= 4000:
            return int(digits)
        notes["BIG_INTEGER"] = Note("BIG_INTEGER", f"an integer of {len(digits)} digits was kept as text")
        return digits

    decoder = json.JSONDecoder(strict=False, parse_constant=constant, parse_float=decimal)
    start = _skip_space(text, start)
    try:
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError:
            raise
        except ValueError:  # the interpreter's limit on digits
            value, end = json.JSONDecoder(
                strict=False, parse_constant=constant, parse_float=decimal, parse_int=whole
            ).raw_decode(text, start)
    except json.JSONDecodeError as error:
        cut_off = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        raise NotJson(error.msg, line=error.lineno, column=error.colno, cut_off=cut_off) from None
    except RecursionError:
        raise _too_deep() from None
    if _may_be_deep(text[start:end] if start or end != len(text) else text) and _deeper_than(value, MAX_DEPTH):
        raise _too_deep()
    if _SURROGATE_ESCAPE.search(text, start, end) or not _encodes(text):
        value, replaced = without_surrogates(value)
        if replaced:
            notes["LONE_SURROGATE"] = Note("LONE_SURROGATE", "a lone surrogate became U+FFFD")
    return value, end


def without_surrogates(value: Any) -> tuple[Any, bool]:
    """`value` with each lone surrogate, in keys too, replaced by U+FFFD; and whether there was one."""
    if isinstance(value, str):
        clean = _SURROGATE.sub("\ufffd", value)
        return clean, clean is not value and clean != value
    if isinstance(value, list):
        items = [without_surrogates(item) for item in value]
        return [item for item, _ in items], any(changed for _, changed in items)
    if isinstance(value, dict):
        changed = False
        out: dict[str, Any] = {}
        for key, item in value.items():
            new_key, key_changed = without_surrogates(key)
            out[new_key], item_changed = without_surrogates(item)
            changed = changed or key_changed or item_changed
        return out, changed
    return value, False


def _encodes(text: str) -> bool:
    """Whether text is free of lone surrogates: faster than looking for them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _too_deep() -> NotJson:
    return NotJson(f"values nested deeper than {MAX_DEPTH} levels", too_deep=True)


def _may_be_deep(text: str) -> bool:
    """False only where no value can be deeper than the limit: pairs of brackets are peeled from inside out."""
    marks = text.encode("utf-8", "surrogatepass").translate(None, _NOT_A_BRACKET)
    for _ in range(MAX_DEPTH):
        if not marks:
            return False
        shorter = marks.replace(b"[]", b"").replace(b"{}", b"")
        if len(shorter) == len(marks):
            return len(marks) > MAX_DEPTH  # brackets inside strings do not balance: look at the value
        marks = shorter
    return bool(marks)


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit + 1):
        level = [
            item
            for parent in level
            if isinstance(parent, dict | list)
            for item in (parent.values() if isinstance(parent, dict) else parent)
        ]
        if not level:
            return False
    return True


_SPACE = re.compile(r"[ \t\r\n]*")


def _skip_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return found.end() if found else start


def _place(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
