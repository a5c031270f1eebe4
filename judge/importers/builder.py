"""Steps as they are read: numbering, pairing and diagnostics, the same for every format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from judge.importers.arguments import Arguments, read_arguments
from judge.importers.content import Content
from judge.importers.decoding import Note
from judge.importers.pairing import Answered, Asked, Link, index_calls, nearest, pair
from judge.types.trajectory import (
    Approval,
    BaseStep,
    Diagnostic,
    Message,
    Reasoning,
    ResultStatus,
    Retry,
    Severity,
    Step,
    StepError,
    ToolCall,
    ToolResult,
    Usage,
)


class Built(NamedTuple):
    """What a builder made."""

    steps: tuple[Step, ...]
    diagnostics: tuple[Diagnostic, ...]


class Draft(NamedTuple):
    """One step before it has its place: what `StepBuilder.drafts` gives and `StepBuilder.adopt` takes.

    Attributes:
        at: Its index where it was made; other drafts of the same batch may name it.
        name: Of the tool, for a result whose source names it.
    """

    kind: type[BaseStep]
    at: int
    fields: dict[str, Any]
    name: str | None = None
    notes: tuple[Diagnostic, ...] = ()


class StepBuilder:
    """Collects the steps of one trajectory in the order of the source.

    Every method that adds a step returns its index, from 1. Keyword arguments named as the fields of
    `BaseStep` are common to all.
    """

    def __init__(self) -> None:
        self._drafts: list[tuple[type[BaseStep], dict[str, Any]]] = []
        self._names: dict[int, str | None] = {}
        self._diagnostics: list[Diagnostic] = []
        self._turns = 0

    def __len__(self) -> int:
        return len(self._drafts)

    def new_turn(self) -> str:
        """A turn id for a model call that the source gives none."""
        self._turns += 1
        return f"t{self._turns}"

    def add(self, kind: type[BaseStep], **fields: Any) -> int:
        """A step of any kind."""
        index = len(self._drafts) + 1
        self._drafts.append((kind, {name: value for name, value in fields.items() if value is not None}))
        return index

    def fill(self, start: int, **fields: Any) -> None:
        """Gives the steps behind the first `start` what they lack of `fields`; `extra` is joined key by key."""
        extra = fields.pop("extra", None)
        given = {name: value for name, value in fields.items() if value is not None}
        for _, own in self._drafts[start:]:
            for name, value in given.items():
                own.setdefault(name, value)
        if extra and start < len(self._drafts):
            own = self._drafts[start][1]
            own["extra"] = {**extra, **(own.get("extra") or {})}

    def set_usage(self, start: int, usage: Usage) -> None:
        """Puts a model call's usage on the first step behind the first `start`."""
        if start < len(self._drafts):
            self._drafts[start][1]["usage"] = usage

    def flag_results(self, start: int, status: ResultStatus) -> None:
        """Sets the status of the results behind the first `start` steps."""
        for kind, fields in self._drafts[start:]:
            if kind is ToolResult:
                fields["status"] = status

    def names_of_calls(self) -> list[str]:
        """Tool names of the calls so far."""
        return [fields["name"] for kind, fields in self._drafts if kind is ToolCall]

    def agents(self) -> set[str]:
        """Names of the agents that steps so far belong to."""
        return {fields["agent"] for _, fields in self._drafts if fields.get("agent")}

    def has_turn(self, turn: str) -> bool:
        """Whether a step of a model call was added already."""
        return any(fields.get("turn") == turn for _, fields in self._drafts)

    def mark_synthetic(self) -> None:
        """Marks every step so far as not recorded from a run."""
        for _, fields in self._drafts:
            fields["provenance"] = "synthetic"

    def call_id_of(self, index: int) -> str | None:
        """Call id of a step that is a call."""
        found: str | None = self._drafts[index - 1][1].get("call_id")
        return found

    def find_call(self, call_id: str, after: int = 0) -> int:
        """Index of the first call of an id behind the first `after` steps; `after` itself where there is none."""
        for index, (kind, fields) in enumerate(self._drafts[after:], start=after + 1):
            if kind is ToolCall and fields.get("call_id") == call_id:
                return index
        return after

    def message(self, role: str, content: Content, **common: Any) -> int:
        """Something said; a message with nothing at all is kept and noted."""
        return self._said(Message, content, role=role, **common)

    def reasoning(self, content: Content, *, redacted: bool = False, **common: Any) -> int:
        """Private reasoning."""
        return self._said(Reasoning, content, redacted=redacted, **common)

    def _said(self, kind: type[BaseStep], content: Content, **fields: Any) -> int:
        if content.extra:
            fields["extra"] = {**(fields.get("extra") or {}), "parts": content.extra}
        index = self.add(kind, content=content.parts, **fields)
        self.notes(content.notes, index)
        if kind is Message and not content.parts:
            self.note("EMPTY_MESSAGE", "a message without any content", index, severity="info")
        return index

    def call(
        self,
        name: Any,
        arguments: Any,
        *,
        call_id: Any = None,
        plain_text: bool = False,
        **common: Any,
    ) -> int:
        """A tool call; `arguments` as the source has them."""
        read = arguments if isinstance(arguments, Arguments) else read_arguments(arguments, plain_text=plain_text)
        index = self.add(
            ToolCall,
            call_id=_id(call_id),
            name=name if isinstance(name, str) else "",
            arguments=read.value,
            arguments_raw=read.raw,
            arguments_error=read.error,
            **common,
        )
        self.notes(read.notes, index)
        if not isinstance(name, str) or not name:
            self.note("TOOL_NAME_MISSING", "a tool call without the name of a tool", index)
        return index

    def result(
        self,
        content: Content,
        *,
        call_id: Any = None,
        name: str | None = None,
        structured: Any = None,
        status: ResultStatus = "unknown",
        error: StepError | None = None,
        nested_in: int | None = None,
        by_id: bool = False,
        **common: Any,
    ) -> int:
        """A tool result. `nested_in` is the call that holds it in the source (with `by_id`, also by its id)."""
        if content.extra:
            common["extra"] = {**(common.get("extra") or {}), "parts": content.extra}
        index = self.add(
            ToolResult,
            call_id=_id(call_id),
            content=content.parts,
            structured=structured,
            status=status,
            error=error,
            call_index=nested_in,
            pairing="none" if nested_in is None else "id" if by_id else "nested",
            **common,
        )
        self._names[index] = name
        self.notes(content.notes, index)
        return index

    def note(self, code: str, message: str, step: int | None = None, *, severity: Severity = "warning") -> None:
        """An oddity that was seen and kept."""
        self._diagnostics.append(Diagnostic(code=code, severity=severity, step=step, message=message))

    def notes(self, notes: Iterable[Note], step: int | None = None) -> None:
        """Several of them, from decoding."""
        for note in notes:
            self.note(note.code, note.message, step)

    def link_approvals(self, request: str, call: int) -> None:
        """Joins the approvals that name a request by its id to the call that was made of it."""
        for kind, fields in self._drafts:
            if kind is Approval and fields.get("call_id") == request:
                fields["call_index"] = call

    def drafts(self) -> tuple[Draft, ...]:
        """What was collected, for another builder to adopt; a scratch builder is read this way and dropped."""
        notes: dict[int | None, list[Diagnostic]] = {}
        for note in self._diagnostics:
            notes.setdefault(note.step, []).append(note)
        return tuple(
            Draft(kind, at, dict(fields), self._names.get(at), tuple(notes.get(at, ())))
            for at, (kind, fields) in enumerate(self._drafts, start=1)
        )

    def adopt(self, draft: Draft, places: dict[int, int], **common: Any) -> int:
        """A draft as the next step. `common` fills what the draft leaves open.

        Args:
            places: Index of each draft of its batch where it was made, to its index here; written to.
        """
        fields = {**{name: value for name, value in common.items() if value is not None}, **draft.fields}
        for key in ("call_index", "parent"):
            if key in draft.fields:
                fields[key] = places.get(fields[key])
        index = self.add(draft.kind, **fields)
        if draft.kind is ToolResult:
            self._names[index] = draft.name
            if fields.get("call_index") is None:
                self._drafts[-1][1]["pairing"] = "none"
        places[draft.at] = index
        for note in draft.notes:
            self.note(note.code, note.message, index, severity=note.severity)
        return index

    def amend(self, index: int, **fields: Any) -> None:
        """Fills fields of a step already added where they are empty."""
        draft = self._drafts[index - 1][1]
        for name, value in fields.items():
            if value is not None and draft.get(name) in (None, ()):
                draft[name] = value

    def settle(self, index: int, status: ResultStatus) -> None:
        """The status of a result already added, where it was not known."""
        draft = self._drafts[index - 1][1]
        if draft.get("status", "unknown") == "unknown":
            draft["status"] = status

    def build(self) -> Built:
        """The steps, with results, approvals and retries joined to their calls."""
        calls, results = self._facts()
        links = pair(calls, results)
        answered = {link.call_index for link in links.values()}
        answered.update(result.given for result in results if result.given is not None)
        for result in results:
            if result.given is None:
                self._join(result, links.get(result.step))
        asks: dict[int, str] = {}
        known = index_calls(calls)
        for index, (kind, fields) in enumerate(self._drafts, start=1):
            if kind in (Approval, Retry) and fields.get("call_index") is None:
                target = nearest(known, index, fields.get("agent"), fields.get("call_id"), fields.get("tool"))
                if target is not None:
                    fields["call_index"] = target
            if kind is Approval and fields.get("call_index"):
                asks[fields["call_index"]] = fields["state"]
        self._note_repeats(calls)
        self._note_missing(calls, answered, asks, has_results=bool(results))
        steps = tuple(kind(index=index, **fields) for index, (kind, fields) in enumerate(self._drafts, start=1))
        return Built(steps, tuple(self._diagnostics))  # type: ignore[arg-type]

    def _facts(self) -> tuple[list[Asked], list[Answered]]:
        calls: list[Asked] = []
        results: list[Answered] = []
        batch, in_row = 0, False
        for index, (kind, fields) in enumerate(self._drafts, start=1):
            if kind is ToolCall:
                batch, in_row = batch if in_row else batch + 1, True
                turn, call_id = fields.get("turn"), fields.get("call_id")
                calls.append(Asked(index, fields.get("agent"), turn, batch, call_id, fields["name"]))
            elif kind is not Approval:
                in_row = False
            if kind is ToolResult:
                name, given = self._names.get(index), fields.get("call_index")
                results.append(Answered(index, fields.get("agent"), fields.get("call_id"), name, given))
        return calls, results

    def _join(self, result: Answered, link: Link | None) -> None:
        fields = self._drafts[result.step - 1][1]
        if link is None:
            text = f"no call has the id {result.call_id!r}" if result.call_id else "no unanswered call stands before it"
            self.note("ORPHAN_RESULT", f"a tool result answers no call: {text}", result.step)
            return
        fields.update(call_index=link.call_index, pairing=link.pairing)
        if link.late:
            self.note("RESULT_BEFORE_CALL", f"the result stands before its call [S{link.call_index}]", result.step)
        if link.extra:
            self.note("SECOND_RESULT", f"call [S{link.call_index}] has a result already", result.step, severity="info")

    def _note_repeats(self, calls: list[Asked]) -> None:
        seen: dict[tuple[str | None, str], int] = {}
        for call in calls:
            if not call.call_id:
                continue
            key = (call.agent, call.call_id)
            if key in seen:
                mine, other = self._drafts[call.step - 1][1], self._drafts[seen[key] - 1][1]
                same = mine["name"] == other["name"] and mine.get("arguments") == other.get("arguments")
                what = "the same call" if same else "another call"
                text = f"call id {call.call_id!r} was used by {what} at [S{seen[key]}]"
                self.note("DUPLICATE_CALL_ID", text, call.step)
            seen[key] = call.step

    def _note_missing(self, calls: list[Asked], answered: set[int], asks: dict[int, str], *, has_results: bool) -> None:
        missing = [call for call in calls if call.step not in answered]
        if calls and not has_results and len(calls) > 1:
            self.note("NO_RESULTS_RECORDED", f"none of the {len(calls)} tool calls has a result", severity="info")
            return
        for call in missing:
            state = asks.get(call.step)
            if state in ("requested", "denied"):
                text = f"the call has no result: its approval was {state}"
            elif all(kind is ToolCall for kind, _ in self._drafts[call.step :]):
                text = "the call has no result: the record ends here"
            else:
                text = "the call has no result, and the run goes on"
            self.note("MISSING_RESULT", text, call.step, severity="info" if state else "warning")


def _id(value: Any) -> str | None:
    """A call id as text; an empty one is none at all."""
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
