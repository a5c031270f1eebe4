"""The arguments of a tool call: decoded once, the text kept byte-exact, never repaired."""

from __future__ import annotations

from typing import Any, NamedTuple

from judge.importers.decoding import Note, NotJson, decode
from judge.importers.fields import MISSING


class Arguments(NamedTuple):
    """Arguments as JSON and as text.

    Attributes:
        value: As JSON; None where they do not parse or were not recorded.
        raw: The text of the source, byte-exact, where it gave text.
        error: Why `value` is None although the source gave something.
    """

    value: Any
    raw: str | None = None
    error: str | None = None
    notes: tuple[Note, ...] = ()


def read_arguments(value: Any, *, plain_text: bool = False) -> Arguments:
    """Arguments from an object, from JSON text of one, or from text.

    Text is decoded once, and a second time only where that gives the text of an object. Empty text and
    null are an empty object. With `plain_text`, text that does not begin like an object or a list is the
    argument itself (a query, a command) and not broken JSON.
    """
    if value is MISSING:
        return Arguments(None)
    if value is None:
        return Arguments({})
    if not isinstance(value, str):
        return Arguments(value, notes=_shape(value))
    if not value.strip():
        return Arguments({}, raw=value)
    if plain_text and value.lstrip()[:1] not in ("{", "[", '"'):
        return Arguments(value, raw=value)
    try:
        decoded = decode(value)
    except NotJson as error:
        if plain_text and value.lstrip()[:1] == '"':
            return Arguments(value, raw=value)
        return Arguments(
            None,
            raw=value,
            error=f"not JSON: {error}",
            notes=(Note("ARGS_INVALID", f"the arguments are not JSON and were kept as text: {error}"),),
        )
    notes = decoded.notes
    if isinstance(decoded.value, str):
        inner = _object_in(decoded.value)
        if inner is not None:
            doubled = Note("ARGS_DOUBLE_ENCODED", "the arguments were JSON inside a JSON string")
            return Arguments(inner.value, raw=value, notes=(*notes, *inner.notes, doubled))
    if decoded.value is None and not notes:
        return Arguments({}, raw=value)
    return Arguments(decoded.value, raw=value, notes=(*notes, *_shape(decoded.value)))


def _object_in(text: str) -> Any:
    try:
        inner = decode(text)
    except NotJson:
        return None
    return inner if isinstance(inner.value, dict) else None


def _shape(value: Any) -> tuple[Note, ...]:
    if isinstance(value, dict):
        return ()
    return (Note("ARGS_NOT_OBJECT", f"the arguments are a {type(value).__name__}, not an object"),)
