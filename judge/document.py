"""A file that people write (a rubric, a policy, a suite) as data that knows its lines: YAML without surprises.

YAML 1.1 turns `no` into false, `1.10` into 1.1 and lets the last of two equal keys win. Here a `Form` says what
stands where: a text stays the text that was written, a boolean where text is wanted is an error that says
"quote it", and a key may stand once.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from judge.errors import UsageError
from judge.types.record import Record

Path_ = tuple[str | int, ...]
Severity = Literal["error", "warning"]
ScalarKind = Literal["text", "number", "boolean", "json"]

_PLAIN_TAGS = frozenset({"str", "int", "float", "bool", "null", "timestamp", "map", "seq"})
_MOST_NODES = 20_000
"""Nodes of a file, aliases expanded: a file of aliases to aliases must not fill the memory."""
_MOST_BYTES = 1_000_000
_DECIMAL_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")


class Finding(Record):
    """One thing that is wrong, or doubtful, in a file.

    Attributes:
        line: From 1.
        code: Kebab-case name; the page of the file's kind lists them all (docs/rubrics.md, docs/policies.md).
        severity: An "error" keeps the file from loading or makes its results wrong; a "warning" weakens them.
    """

    line: int
    code: str
    severity: Severity
    message: str


@dataclass(frozen=True, slots=True)
class Form:
    """What a kind of file looks like.

    Attributes:
        shape: One sentence for a file that is no mapping at all.
        keys: Keys that the mapping at a path may have, or None where any will do.
        kind: What a plain value at a path is read as. "text" keeps what was written; "number" is a number where it
            can be one; "boolean" takes true and false in every spelling of YAML; "json" takes numbers, true, false,
            null and text, and nothing else that YAML guesses (no dates, no yes and no, no octal).
    """

    shape: str
    keys: Callable[[Path_], tuple[str, ...] | None]
    kind: Callable[[Path_], ScalarKind]


@dataclass(slots=True)
class Document:
    """A file, read.

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


def read_text(path: Path, what: str, failure: type[UsageError]) -> str:
    """The text of a file.

    Args:
        what: The kind of file, for messages, e.g. "rubric".

    Raises:
        UsageError: As `failure`: it cannot be read, is too large or is not UTF-8.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise failure(f"{path} cannot be read: {error.strerror}.") from None
    if len(raw) > _MOST_BYTES:
        raise failure(f"{path} has {len(raw):,} bytes; a {what} has at most {_MOST_BYTES:,}.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise failure(f"{path}:{line}: not UTF-8 text.", hint="Save the file as UTF-8.") from None


def read_document(text: str, form: Form) -> Document:
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
        document.wrong(1, "syntax", form.shape)
        return document
    reader = _Reader(document, form)
    try:
        document.data = reader.mapping(node, ())
    except _TooLarge:
        document.wrong(1, "syntax", f"The file unfolds to more than {_MOST_NODES:,} values.")
    return document


class _TooLarge(Exception):
    pass


class _Reader:
    def __init__(self, document: Document, form: Form) -> None:
        self.document = document
        self.form = form
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
        known = self.form.keys(path)
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
                self.document.wrong(line, "unknown-key", f"Unknown key {key!r}. {suggestion(key, known)}")
                continue
            out[key] = self.value(value_node, (*path, key))
            self.document.lines[(*path, key)] = line
        return out

    def scalar(self, node: yaml.Node, path: Path_) -> Any:
        kind = node.tag.rpartition(":")[2]
        if getattr(node, "style", None) in ("|", ">"):
            self.document.blocks.add(path)
        text = str(node.value)
        wanted = self.form.kind(path)
        if kind == "null":
            return None
        if wanted == "boolean":
            return text.casefold() in ("true", "yes", "on") if kind == "bool" else text
        if kind == "bool" and getattr(node, "style", None) is None:
            if wanted == "json" and text in ("true", "false"):
                return text == "true"
            self.document.wrong(node.start_mark.line + 1, "unquoted-boolean", _quote_it(text))
            return text
        if wanted == "number":
            return _number(text)
        if wanted == "json" and kind in ("int", "float"):
            return _json_number(text)
        return text


def suggestion(name: str, known: tuple[str, ...]) -> str:
    """The nearest known name, or all of them."""
    near = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"Known here: {', '.join(known)}."


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _json_number(text: str) -> int | float | str:
    """A decimal number; octal, sexagesimal and infinite ones of YAML stay the text that was written."""
    if _DECIMAL_INTEGER.fullmatch(text):
        return int(text)
    if not any(digit.isdigit() for digit in text):
        return text
    try:
        return float(text)
    except ValueError:
        return text


def _quote_it(text: str) -> str:
    return f'{text} without quotes is read as a boolean where text is wanted: quote it, "{text}".'
