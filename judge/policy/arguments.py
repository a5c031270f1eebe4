"""Values inside arguments and results, by path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from judge.types.json_equality import decoded
from judge.types.trajectory import Json, Text, ToolCall, ToolResult


def arguments_of(call: ToolCall) -> Any:
    """The arguments as a value; no arguments are {}."""
    return decoded(call.arguments)


def values_at(value: Any, path: str) -> list[Any]:
    """Every value at `path`: keys joined by dots, whole numbers for items, `*` for all; a key that holds dots first."""
    return list(_at(value, path))


def _at(value: Any, path: str) -> Iterator[Any]:
    if isinstance(value, dict) and path in value:
        yield value[path]
        return
    head, dot, rest = path.partition(".")
    inner: list[Any] = []
    if head == "*":
        inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    elif isinstance(value, dict) and head in value:
        inner = [value[head]]
    elif isinstance(value, list) and head.isdecimal() and int(head) < len(value):
        inner = [value[int(head)]]
    for one in inner:
        if dot:
            yield from _at(one, rest)
        else:
            yield one


def content_of(result: ToolResult) -> Any:
    """What a result says, as JSON: its structured part, else its only text or value where that is JSON; else None."""
    if result.structured is not None:
        return result.structured
    if len(result.content) != 1:
        return None
    part = result.content[0]
    if isinstance(part, Json):
        return part.value
    if isinstance(part, Text):
        try:
            return json.loads(part.text)
        except (ValueError, RecursionError):
            return None
    return None
