"""Spans of any tracer in one form, and their order: by start, parents before children."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from judge.importers.decoding import NotJson, decode
from judge.importers.fields import MISSING
from judge.importers.times import instant
from judge.types.trajectory import StepError, Tool, Usage

Kind = Literal["llm", "tool", "agent", "chain", "other"]
_HEX = re.compile(r"[0-9a-fA-F]+$")
_INSTANT = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):?(\d\d)?(?:[.,](\d+))?(Z|[+-]\d\d:?\d*)?$")


class Span(NamedTuple):
    """One span, its attributes understood.

    Attributes:
        kind: "chain" for a span that only holds others, "other" for retrieval, embedding, guardrails.
        ts, end: ISO 8601 text.
        inputs, outputs: Payloads of a model call or of an agent, in any dialect; `MISSING` where not recorded.
        arguments, result: Of a tool.
        status: "ok" and "error" by the span's own flag; "unknown" where it has none.
        total: Usage of all spans below, as some agents' spans state it: never added to theirs.
    """

    trace: str
    id: str | None
    parent: str | None
    name: str
    kind: Kind = "chain"
    ts: str | None = None
    end: str | None = None
    inputs: Any = MISSING
    outputs: Any = MISSING
    arguments: Any = MISSING
    result: Any = MISSING
    tool: str | None = None
    call_id: str | None = None
    agent: str | None = None
    model: str | None = None
    usage: Usage | None = None
    total: Usage | None = None
    status: Literal["ok", "error", "unknown"] = "unknown"
    error: StepError | None = None
    tools: tuple[Tool, ...] = ()
    session: str | None = None
    extra: dict[str, Any] = {}


def hex_id(value: Any, size: int) -> str | None:
    """An id of `size` bytes in lower-case hexadecimal, from hex, 0x-hex or base64; other text as it is."""
    if not isinstance(value, str) or not value:
        return None
    text = value.removeprefix("0x")
    if _HEX.match(text) and len(text) in (2 * size, 2 * size - 1):
        return None if not text.strip("0") else text.lower()
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return value
    if len(raw) != size:
        return value
    return raw.hex() if any(raw) else None


def nanoseconds(iso: str | None) -> int | None:
    """A time in nanoseconds since the epoch, never through a float; None where the text is no time."""
    found = _INSTANT.match(iso or "")
    whole = instant((iso or "").split(".")[0]) if found else None
    if found is None or whole is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    try:
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return None
    zone = found[8]
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        away = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]))
        moment = moment - away if zone[0] == "+" else moment + away
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86400 + since.seconds) * 10**9 + int((found[7] or "0")[:9].ljust(9, "0"))


def seconds_of(span: Span) -> float | None:
    """Duration of a span; None where an end is not recorded or the clock ran backwards."""
    start, end = nanoseconds(span.ts), nanoseconds(span.end)
    return None if start is None or end is None or end < start else round((end - start) / 1e9, 9)


def ordered(spans: Iterable[Span]) -> list[Span]:
    """Spans of one trace by start time; of equal starts the parent first. Spans without a time keep their place."""
    listed = list(spans)
    parents = {span.id: span.parent for span in listed if span.id}
    last = 0
    keyed: list[tuple[int, int, int, Span]] = []
    for at, span in enumerate(listed):
        start = nanoseconds(span.ts)
        last = start if start is not None else last
        keyed.append((start if start is not None else last, _depth(span, parents), at, span))
    earliest = {span.id: start for start, _, _, span in keyed if span.id}
    placed = [(_not_before(start, span, parents, earliest), depth, at, span) for start, depth, at, span in keyed]
    return [span for *_, span in sorted(placed, key=lambda item: item[:3])]


def _not_before(start: int, span: Span, parents: dict[str, str | None], earliest: dict[str, int]) -> int:
    """A start no earlier than those of the spans above: clocks of two processes may differ."""
    return max((start, *(earliest[name] for name in above(span, parents) if name in earliest)))


def above(span: Span, parents: dict[str, str | None]) -> list[str]:
    """Ids of the spans above one, nearest first; none where the parents run in a circle."""
    out: list[str] = []
    seen = {span.id}
    name = span.parent
    while name is not None:
        if name in seen:
            return []
        seen.add(name)
        out.append(name)
        name = parents.get(name)
    return out


def _depth(span: Span, parents: dict[str, str | None]) -> int:
    return len(above(span, parents))


def decoded(value: Any) -> Any:
    """An attribute's value: text of JSON decoded once, and again where that is text of an object or a list."""
    for _ in range(2):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            return value
        try:
            inner = decode(value).value
        except NotJson:
            return value
        if isinstance(inner, str) and inner.lstrip()[:1] not in ("{", "["):
            return inner
        value = inner
    return value


def by_trace(spans: Sequence[Span]) -> dict[str, list[Span]]:
    """Spans of each trace, in the order in which traces are first met."""
    out: dict[str, list[Span]] = {}
    for span in spans:
        out.setdefault(span.trace, []).append(span)
    return out
