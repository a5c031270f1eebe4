"""When a call's arguments fit an expected call's, and what differs when they do not.

Modes, set per tool: "exact" (JSON-equal), "subset" (every argument given is expected, with an equal value),
"superset" (every expected argument is given, with an equal value), "ignore" (any will do), or a function
(given, expected) → bool. An expected call without arguments accepts any.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

from judge.errors import UsageError
from judge.types.json_equality import call_key, decoded, json_equal, json_key
from judge.types.reference import ExpectedCall
from judge.types.trajectory import ToolCall

NamedMode = Literal["exact", "subset", "superset", "ignore"]
ArgumentMode = NamedMode | Callable[[Any, Any], bool]
Modes = Mapping[str, ArgumentMode]
"""Tool name → mode; tools that are not named use "exact"."""
EXACT: Modes = {}
_NAMED = ("exact", "subset", "superset", "ignore")
_SHOWN = 80


def checked_modes(modes: Modes) -> Modes:
    """`modes`, once every one is known.

    Raises:
        UsageError: A mode is neither a known name nor a function.
    """
    for tool, mode in modes.items():
        if not callable(mode) and mode not in _NAMED:
            raise UsageError(
                f"Argument mode of tool {tool!r} is {mode!r}; needed one of {', '.join(_NAMED)}.",
                hint="Or give a function (given, expected) -> bool.",
            )
    return modes


def by_key(tool: str, modes: Modes) -> bool:
    """Whether fitting calls of `tool` can be found by equal keys alone, without comparing each with each."""
    return modes.get(tool, "exact") in ("exact", "ignore")


def fits(call: ToolCall, expected: ExpectedCall, modes: Modes = EXACT) -> bool:
    """Whether `call` is what `expected` asks for."""
    if call.name != expected.name:
        return False
    mode = modes.get(call.name, "exact")
    if expected.arguments is None or mode == "ignore":
        return True
    if call.arguments is None and call.arguments_error is not None:
        return False
    if mode == "exact":
        return call_key(call) == (expected.name, json_key(expected.arguments))
    given = decoded(call.arguments)
    if callable(mode):
        return bool(mode(given, expected.arguments))
    if not isinstance(given, dict):
        return False
    small, large = (given, expected.arguments) if mode == "subset" else (expected.arguments, given)
    return all(name in large and json_equal(value, large[name]) for name, value in small.items())


def difference(call: ToolCall | None, expected: ExpectedCall | None, modes: Modes = EXACT) -> dict[str, Any]:
    """What differs between a call and the expected one, for `detail`: step, tool, argument and a sentence.

    Args:
        call: None when the expected call was not made.
        expected: None when no further call was expected.
    """
    if call is None:
        wanted = "a call" if expected is None else _shown_call(expected.name, expected.arguments)
        return {"tool": expected.name if expected else None, "text": f"expected {wanted}, which was not made"}
    found: dict[str, Any] = {"step": call.index, "tool": call.name}
    if expected is None:
        return found | {"text": f"step {call.index}: {_shown_call(call.name, call.arguments)} was not expected"}
    if call.name != expected.name:
        text = f"step {call.index}: called {call.name!r}, expected {expected.name!r}"
        return found | {"expected_tool": expected.name, "text": text}
    if call.arguments is None and call.arguments_error is not None:
        return found | {"text": f"step {call.index}: {call.name}: the arguments did not parse: {call.arguments_error}"}
    given, wanted_arguments = decoded(call.arguments), expected.arguments or {}
    if not isinstance(given, dict):
        return found | {"text": f"step {call.index}: {call.name}: the arguments are {_shown(given)}, not an object"}
    mode = modes.get(call.name, "exact")
    for name in dict.fromkeys([*wanted_arguments, *given]):
        where = f"step {call.index}: {call.name}: argument {name!r}"
        if name not in given:
            if mode != "subset":
                return found | {
                    "argument": name,
                    "text": f"{where} is missing, expected {_shown(wanted_arguments[name])}",
                }
        elif name not in wanted_arguments:
            if mode != "superset":
                return found | {"argument": name, "text": f"{where} is {_shown(given[name])}, which was not expected"}
        elif not json_equal(given[name], wanted_arguments[name]):
            text = f"{where} is {_shown(given[name])}, expected {_shown(wanted_arguments[name])}"
            return found | {"argument": name, "text": text}
    return found | {"text": f"step {call.index}: {call.name}: the arguments do not fit the expected ones"}


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


def _shown_call(name: str, arguments: Any) -> str:
    return f"{name}({'' if arguments is None else _shown(arguments)})"
