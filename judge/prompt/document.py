"""A rubric file as data that knows its lines: YAML without surprises.

YAML 1.1 turns `no` into false, `1.10` into 1.1 and lets the last of two equal keys win. Here a text stays
the text that was written, a boolean where text is wanted is an error that says "quote it", and a key may
stand once.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from judge.types.record import Record
from judge.types.rubric import Criterion, Level, RangeScale, Rubric, ViewSettings

Path_ = tuple[str | int, ...]
Severity = Literal["error", "warning"]

_BOOLEANS = frozenset({"gate", "policy", "diagnostic", "reasoning", "system"})
_NUMBERS = frozenset({"weight", "gate_min", "value", "min", "max", "step", "result_chars"})
_PLAIN_TAGS = frozenset({"str", "int", "float", "bool", "null", "timestamp", "map", "seq"})
_MOST_NODES = 20_000
"""Nodes of a file, aliases expanded: a file of aliases to aliases must not fill the memory."""


class Finding(Record):
    """One thing that is wrong, or doubtful, in a rubric file.

    Attributes:
        line: From 1.
        code: Kebab-case name; docs/rubrics.md lists them all.
        severity: An "error" keeps the rubric from loading or makes its scores wrong; a "warning" weakens it.
    """

    line: int
    code: str
    severity: Severity
    message: str


@dataclass(slots=True)
class Document:
    """A rubric file, read.

    Attributes:
        data: Built-ins, or None where the file is no YAML mapping.
        lines: Where each value begins, by its path of keys and positions.
        blocks: Paths of texts that begin on the line below their key.
        findings: What was wrong while reading.
    """

    data: dict[str, Any] | None = None
    lines: dict[Path_, int] = field(default_factory=dict)
    blocks: set[Path_] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)

    def line_in(self, path: Path_, text: str, at: int) -> int:
        """Line of the character `at` of the text at `path`; near it where the file folds lines."""
        return self.line(path) + text.count("\n", 0, max(at, 0)) + (path in self.blocks)

    def line(self, path: Path_) -> int:
        """Line of the nearest part of `path` that the file has."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def wrong(self, line: int, code: str, message: str, severity: Severity = "error") -> None:
        """Adds a finding."""
        self.findings.append(Finding(line=line, code=code, severity=severity, message=message))


def read_document(text: str) -> Document:
    """`text` as data with lines; whatever is wrong becomes a finding and not an exception."""
    document = Document()
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        document.wrong(mark.line + 1 if mark else 1, "syntax", f"This is not YAML: {problem}.")
        return document
    if not isinstance(node, yaml.MappingNode):
        document.wrong(1, "syntax", "A rubric is a YAML mapping with the keys id, version, title, intent, criteria.")
        return document
    reader = _Reader(document)
    try:
        document.data = reader.mapping(node, ())
    except _TooLarge:
        document.wrong(1, "syntax", f"The file unfolds to more than {_MOST_NODES:,} values.")
    return document


class _TooLarge(Exception):
    pass


class _Reader:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.nodes = 0

    def value(self, node: yaml.Node, path: Path_) -> Any:
        self.nodes += 1
        if self.nodes > _MOST_NODES or len(path) > 20:
            raise _TooLarge
        self.document.lines[path] = node.start_mark.line + 1
        if node.tag.rpartition(":")[2] not in _PLAIN_TAGS:
            self.document.wrong(node.start_mark.line + 1, "syntax", f"The tag {node.tag!r} is not read here.")
            return None
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, position)) for position, item in enumerate(node.value)]
        return self.scalar(node, path)

    def mapping(self, node: yaml.MappingNode, path: Path_) -> dict[str, Any]:
        out: dict[str, Any] = {}
        known = known_keys(path)
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                self.document.wrong(line, "syntax", "A key must be text.")
                continue
            key = key_node.value
            if key_node.tag == "tag:yaml.org,2002:bool" and key_node.style is None:
                self.document.wrong(line, "unquoted-boolean", _quote_it(key))
            if key in out:
                self.document.wrong(
                    line, "duplicate-key", f"The key {key!r} stands twice here; the first would be lost."
                )
                continue
            if known is not None and key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else f"Known here: {', '.join(known)}."
                self.document.wrong(line, "unknown-key", f"Unknown key {key!r}. {hint}")
                continue
            out[key] = self.value(value_node, (*path, key))
            self.document.lines[(*path, key)] = line
        return out

    def scalar(self, node: yaml.Node, path: Path_) -> Any:
        kind = node.tag.rpartition(":")[2]
        if getattr(node, "style", None) in ("|", ">"):
            self.document.blocks.add(path)
        text = str(node.value)
        key = path[-1] if path else ""
        if kind == "null":
            return None
        if key in _BOOLEANS:
            if kind == "bool":
                return text.casefold() in ("true", "yes", "on")
            return text
        if kind == "bool" and getattr(node, "style", None) is None:
            self.document.wrong(node.start_mark.line + 1, "unquoted-boolean", _quote_it(text))
            return text
        if key in _NUMBERS:
            return _number(text)
        return text


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _quote_it(text: str) -> str:
    return f'{text} without quotes is read as a boolean where text is wanted: quote it, "{text}".'


def known_keys(path: Path_) -> tuple[str, ...] | None:
    """Keys that a mapping at `path` may have, or None where any will do."""
    if path == ():
        return tuple(Rubric.model_fields)
    if path == ("view",):
        return tuple(ViewSettings.model_fields)
    if path[0] == "criteria":
        if len(path) == 2:
            return tuple(Criterion.model_fields)
        if path[2] == "scale":
            if len(path) == 3:
                return (*RangeScale.model_fields, "levels")
            return tuple(Level.model_fields)
    return None
