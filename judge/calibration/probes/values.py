"""Single values of a call exchanged for others of the same form, in the call and where its result repeats them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import numpy as np

from judge.types.trajectory import Json, Text, ToolCall, ToolResult

Path = tuple[str | int, ...]
"""Keys and places that lead to a value inside arguments."""

OTHER_WORDS = "annual report archive"
OTHER_FILE = "annual-report"
SHORT_WORD, LONG_WORD, SHORT_TEXT = 24, 64, 120
"""Most characters of words with digits in them, of one such word (an id), and of a text that may name one thing."""
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?!\d)(.*)", re.DOTALL)
_TELLING = 2
"""Fewest characters by which a number is known again under another key."""


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every text, number, flag and null inside objects and lists, with the way to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, (*path, place))
    else:
        yield path, value


def exchanged_at(value: Any, path: Path, new: Any) -> Any:
    """The value with another one at the end of the path."""
    if not path:
        return new
    head, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {key: exchanged_at(inner, rest, new) if key == head else inner for key, inner in value.items()}
    return [exchanged_at(inner, rest, new) if place == head else inner for place, inner in enumerate(value)]


def key_of(path: Path) -> str:
    """The innermost name on a way; "" without one."""
    return next((part for part in reversed(path) if isinstance(part, str)), "")


def other_text(value: str, rng: np.random.Generator) -> str:
    """Another text of the same form: a later day, other digits, another name in a path or address, or other words."""
    turn = int(rng.integers(1, 9))
    day = _DATE.fullmatch(value)
    if day is not None:
        try:
            return f"{date.fromisoformat(day.group(1)) + timedelta(weeks=turn)}{day.group(2)}"
        except (ValueError, OverflowError):
            pass  # digits in the form of a day that is none
    if _has_digits(value):
        first = next(c for c in value if _is_digit(c))
        if first != "0" and (int(first) + turn) % 10 == 0:
            turn += 1  # a number does not begin with 0
        return "".join(str((int(c) + turn) % 10) if _is_digit(c) else c for c in value)
    if _is_address(value):
        name, _, place = value.partition("@")
        return f"{'someone.else' if name != 'someone.else' else 'another.one'}@{place}"
    if _is_path(value):
        return _other_path(value)
    return OTHER_WORDS if value != OTHER_WORDS else f"{OTHER_WORDS} of last year"


def _other_path(value: str) -> str:
    bare = value.rstrip("/")
    folder, slash, name = bare.rpartition("/")
    dot, ending = name.rpartition(".")[1:]
    other = OTHER_FILE if not name.startswith(OTHER_FILE) else f"{OTHER_FILE}-2"
    return f"{folder}{slash}{other}{dot}{ending if dot else ''}{value[len(bare) :]}"


def likely(value: str) -> int:
    """How well a text says which thing is meant: 0 an id, a number, a day, an address or a path; 1 short; 2 long."""
    if _has_digits(value) or _is_address(value) or _is_path(value):
        return 0
    return 1 if len(value) <= SHORT_TEXT else 2


def _has_digits(value: str) -> bool:
    one_word = not any(c.isspace() for c in value)
    return any(_is_digit(c) for c in value) and len(value) <= (LONG_WORD if one_word else SHORT_WORD)


def _is_address(value: str) -> bool:
    return "@" in value and " " not in value


def _is_path(value: str) -> bool:
    return "/" in value.rstrip("/") and not any(c.isspace() for c in value) and len(value) <= SHORT_TEXT


def _is_digit(char: str) -> bool:
    return char.isascii() and char.isdigit()


def in_words(text: str, old: str, new: str) -> str:
    """The text with `old` exchanged where it stands as a word of its own: 4 is not found in 40, nor in 4.5 or INV-4."""
    return re.sub(rf"(?<![\w-])(?<!\w[.,]){re.escape(old)}(?![\w-]|[.,]\w)", lambda _: new, text)


def with_arguments(call: ToolCall, arguments: Any) -> ToolCall:
    """The call with other arguments, its raw text kept in step."""
    raw = json.dumps(arguments, ensure_ascii=False) if call.arguments_raw is not None else None
    return call.model_copy(update={"arguments": arguments, "arguments_raw": raw})


def with_values(result: ToolResult, key: str, old: Any, new: Any) -> ToolResult:
    """The result with every value equal to `old` changed to `new`, as data, in its JSON text and in its words.

    A number of one digit is changed under the same key only: it may stand for anything elsewhere.
    """
    return result.model_copy(
        update={
            "structured": _exchanged(result.structured, key, old, new),
            "content": tuple(
                part.model_copy(update={"text": _in_text(part.text, key, old, new)})
                if isinstance(part, Text)
                else part.model_copy(update={"value": _exchanged(part.value, key, old, new)})
                if isinstance(part, Json)
                else part
                for part in result.content
            ),
        }
    )


def _in_text(text: str, key: str, old: Any, new: Any) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return in_words(text, str(old), str(new)) if _is_telling(old) else text
    changed = _exchanged(value, key, old, new)
    return text if changed == value else json.dumps(changed, ensure_ascii=False)


def _exchanged(value: Any, key: str, old: Any, new: Any, under: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _exchanged(inner, key, old, new, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_exchanged(inner, key, old, new, under) for inner in value]
    if type(value) is type(old) and value == old:
        return new if under == key or _is_telling(old) else value
    if isinstance(value, str) and isinstance(old, str) and likely(old) == 0 and _is_telling(old):
        return in_words(value, old, str(new))
    return value


def _is_telling(value: Any) -> bool:
    return len(str(value)) >= _TELLING
