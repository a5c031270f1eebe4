"""What a run is compared with: an expected answer, an expected end state, expected calls."""

from __future__ import annotations

from typing import Any, Literal

from judge.types.record import Record

ReferenceStatus = Literal["authoritative", "one_acceptable", "none"]


class ExpectedCall(Record):
    """A tool call that a good run makes. `arguments` None means that any will do."""

    name: str
    arguments: dict[str, Any] | None = None


class Reference(Record):
    """The expected outcome or path of a task; every part is optional.

    Attributes:
        status: "authoritative" when nothing else is right; "one_acceptable" when others may be.
        answer: Expected final answer, in words.
        state: Expected end state, as JSON.
        sequence: Expected events in order, e.g. ("tool_call:search_docs", "final").
        calls: Expected tool calls. An empty tuple expects none; None says nothing.
    """

    status: Literal["authoritative", "one_acceptable"] = "authoritative"
    answer: str | None = None
    state: Any = None
    sequence: tuple[str, ...] | None = None
    calls: tuple[ExpectedCall, ...] | None = None
