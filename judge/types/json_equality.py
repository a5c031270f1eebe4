"""Equality of arguments by the meaning of JSON, not of Python and not of text.

Numbers are compared by value (1 equals 1.0), booleans are not numbers, text is not a number, the order of
object keys is free at any depth, lists are ordered, null differs from an absent key (RFC 8259).
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from typing import Any

from judge.types.trajectory import ToolCall


def json_key(value: Any) -> Hashable:
    """A hashable key: two JSON values are equal exactly when their keys are.

    Raises:
        TypeError: `value` is not JSON.
    """
    kind = type(value)
    if kind is str or value is None or kind is int:
        plain: Hashable = value
        return plain
    if kind is bool:
        return ("boolean", "true" if value else "false")
    if kind is float:
        number: Hashable = ("number", "nan") if math.isnan(value) else value
        return number
    if isinstance(value, dict):
        return ("object", frozenset((name, json_key(inner)) for name, inner in value.items()))
    if isinstance(value, list | tuple):
        return ("list", *map(json_key, value))
    raise TypeError(f"{value!r} is {kind.__name__}, which is not JSON; give text, numbers, lists and objects.")


def json_equal(left: Any, right: Any) -> bool:
    """Whether two decoded JSON values mean the same."""
    return json_key(left) == json_key(right)


def decoded(arguments: Any) -> Any:
    """Arguments as a value: the JSON text of an object is read once, at the top only; None is no arguments, {}."""
    if arguments is None:
        return {}
    if isinstance(arguments, str) and arguments.lstrip()[:1] == "{":
        try:
            return json.loads(arguments)
        except ValueError:
            return arguments
    return arguments


def arguments_equal(left: Any, right: Any) -> bool:
    """Whether two sets of arguments mean the same, either given as an object or as the JSON text of one."""
    return json_key(decoded(left)) == json_key(decoded(right))


def call_key(call: ToolCall) -> tuple[str, Hashable]:
    """(tool, key of its arguments). Arguments that did not parse equal only the same text, byte for byte."""
    if call.arguments_error is not None and call.arguments is None:
        return call.name, ("unparsed", call.arguments_raw)
    return call.name, json_key(decoded(call.arguments))
