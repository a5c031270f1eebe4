"""A reference from JSON: the short forms that people write, read into one record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from judge.errors import UsageError
from judge.metrics.calls import CALL_EVENT, FINAL_EVENT
from judge.types.reference import ExpectedCall, Reference

_NAMES = ("name", "tool", "function")
_ARGUMENTS = ("arguments", "args", "input")
_HINT = (
    f'Give a list of "{CALL_EVENT}NAME" and "{FINAL_EVENT}", a list of {{"name", "arguments"}}, '
    f"or an object with {', '.join(Reference.model_fields)}."
)


def parse_reference(value: Any) -> Reference:
    """The reference that `value` stands for.

    Args:
        value: A list of events ("tool_call:search", "final"); a list of expected calls with their name under
            name, tool or function and their arguments (an object, or its JSON text) under arguments, args or
            input; an object with the fields of `Reference`, its `calls` and `sequence` in the same forms; or a
            Reference. An empty list expects no calls. None says nothing, which is not the same.

    Raises:
        UsageError: None of these; the message says where.
    """
    if isinstance(value, Reference):
        return value
    if value is None:
        return Reference()
    if isinstance(value, Mapping):
        return _whole(value)
    if isinstance(value, list | tuple):
        if value and all(isinstance(item, str) for item in value):
            return Reference(sequence=_sequence(value))
        return Reference(calls=_calls(value))
    raise UsageError(f"A reference is {type(value).__name__}, {value!r:.80}; needed a list or an object.", hint=_HINT)


def _whole(value: Mapping[str, Any]) -> Reference:
    fields = dict(value)
    unknown = [name for name in fields if name not in Reference.model_fields]
    if unknown:
        raise UsageError(f"A reference has the unknown key {unknown[0]!r}.", hint=_HINT)
    if fields.get("calls") is not None:
        fields["calls"] = _calls(_list("calls", fields["calls"]))
    if fields.get("sequence") is not None:
        fields["sequence"] = _sequence(_list("sequence", fields["sequence"]))
    try:
        return Reference.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"Reference field {where!r} is {first['input']!r:.80}: {first['msg']}.", hint=_HINT) from None


def _list(name: str, value: Any) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise UsageError(f"Reference field {name!r} is {value!r:.80}; needed a list.", hint=_HINT)
    return value


def _sequence(items: list[Any] | tuple[Any, ...]) -> tuple[str, ...]:
    for position, item in enumerate(items, 1):
        named = isinstance(item, str) and item.startswith(CALL_EVENT) and len(item) > len(CALL_EVENT)
        if not named and item != FINAL_EVENT:
            raise UsageError(
                f'Event {position} of a reference is {item!r:.80}; needed "{CALL_EVENT}NAME" or "{FINAL_EVENT}".',
                hint=_HINT,
            )
    return tuple(items)


def _calls(items: list[Any] | tuple[Any, ...]) -> tuple[ExpectedCall, ...]:
    return tuple([_call(position, item) for position, item in enumerate(items, 1)])


def _call(position: int, item: Any) -> ExpectedCall:
    if isinstance(item, ExpectedCall):
        return item
    where = f"Expected call {position} of a reference"
    if not isinstance(item, Mapping):
        raise UsageError(f"{where} is {item!r:.80}; needed an object with a name and arguments.", hint=_HINT)
    names = [key for key in _NAMES if key in item]
    arguments = [key for key in _ARGUMENTS if key in item]
    unknown = [key for key in item if key not in (*_NAMES, *_ARGUMENTS)]
    if unknown or len(names) != 1 or len(arguments) > 1 or not isinstance(item[names[0]], str):
        problem = f"unknown key {unknown[0]!r}" if unknown else f"keys {sorted(map(str, item))}"
        raise UsageError(
            f"{where} has {problem}; needed one of {', '.join(_NAMES)} and at most one of {', '.join(_ARGUMENTS)}.",
            hint=_HINT,
        )
    given = item[arguments[0]] if arguments else None
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError as error:
            raise UsageError(f"{where} has arguments that are not JSON: {error}.") from None
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(f"{where} has arguments {given!r:.80}; needed an object.", hint=_HINT)
    return ExpectedCall(name=item[names[0]], arguments=None if given is None else dict(given))
