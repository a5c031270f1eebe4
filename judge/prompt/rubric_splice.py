"""Changes in the text of a rubric file that leave its comments and everything else as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

Path = Sequence[str | int]
"""Keys and places from the top of the file to a value, e.g. ("criteria", 0, "question")."""


def replaced(text: str, values: Mapping[tuple[str | int, ...], Any], *, note: str) -> str | None:
    """The YAML with some values replaced and a line added to its changelog; None where that cannot be told apart.

    Args:
        values: New value (a text or a list of texts) by its path; each path must be there.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    edits: list[tuple[int, int, str]] = []
    for path, value in values.items():
        node = _at(root, path)
        if node is None:
            return None
        start, end = _span(text, node)
        edits.append((start, end, _written(value)))
    log = _at(root, ("changelog",))
    line = _written(note)
    if log is None:
        edits.append((len(text.rstrip()), len(text), f"\nchangelog:\n  - {line}\n"))
    elif isinstance(log, yaml.SequenceNode) and log.value and not log.flow_style:
        last_start, end = _span(text, log.value[-1])
        dash = text.rfind("-", 0, last_start)
        column = dash - (text.rfind("\n", 0, dash) + 1)
        edits.append((end, end, f"\n{' ' * column}- {line}"))
    elif isinstance(log, yaml.SequenceNode):
        end = log.end_mark.index - 1
        edits.append((end, end, f"{', ' if log.value else ''}{line}"))
    else:
        return None
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _at(node: Any, path: Path) -> Any:
    """The node at a path, or None."""
    for step in path:
        if isinstance(node, yaml.MappingNode):
            node = next((value for key, value in node.value if key.value == str(step)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
        else:
            return None
    return node


def _span(text: str, node: Any) -> tuple[int, int]:
    """Where a value stands, without the line breaks after a block of text."""
    start, end = node.start_mark.index, node.end_mark.index
    return start, start + len(text[start:end].rstrip())


def _written(value: Any) -> str:
    """JSON in one line, which is YAML too."""
    return json.dumps(value, ensure_ascii=False)
