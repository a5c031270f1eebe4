"""One entry of a list of calls, `{tool, arguments, result}`, into a call and its result."""

from __future__ import annotations

from typing import Any

from judge.importers.builder import StepBuilder
from judge.importers.dialects.events import EventReader
from judge.importers.dialects.names import FIELDS, Names
from judge.importers.envelope import ITEM_KEYS

_TOOL = ("tool", "tool_name", "toolName", "name", "function", "function_name")


def is_call(item: Any) -> bool:
    """Whether an item names a tool and says with what, or to what effect, and is nothing else."""
    if not isinstance(item, dict) or "role" in item or isinstance(item.get("type"), str):
        return False
    if any(isinstance(item.get(key), list) and item[key] for key in ITEM_KEYS):
        return False  # a whole run that has a name
    named = any(isinstance(item.get(key), str) for key in _TOOL)
    return named and any(key in item for key in (*FIELDS["arguments"], "result", "output", "observation"))


def add_call(builder: StepBuilder, item: dict[str, Any], names: Names) -> None:
    """A call, and its result where the entry holds one."""
    EventReader(builder, names).take({"type": "tool_call", **item})
