"""History: the calls of one run, each with what became of it, looked up once for all rules.

Steps that a fork or a continuation repeats (`copied_context`) are not this run's doing and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from judge.types.trajectory import Approval, Final, Retry, Step, ToolCall, ToolResult, Trajectory

UnknownStatus = Literal["succeeded", "failed"]
_SHOWN = 12
"""Steps named in one sentence; the record holds them all."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A tool call, and what became of it.

    Attributes:
        result: The last result of the call, or None.
        succeeded: Whether what was asked for happened: see `history`.
    """

    call: ToolCall
    result: ToolResult | None
    succeeded: bool

    @property
    def index(self) -> int:
        """Index of the call."""
        return self.call.index

    @property
    def ended(self) -> int | None:
        """Index of the result, or None."""
        return None if self.result is None else self.result.index

    @property
    def status(self) -> str:
        """Status of the result in words."""
        return "no result" if self.result is None else self.result.status

    def known_by(self, step: int) -> bool:
        """Whether the call had succeeded, and the result was there, before step `step`."""
        return self.succeeded and self.ended is not None and self.ended < step


@dataclass(frozen=True, slots=True)
class History:
    """A trajectory, sorted for rules.

    Attributes:
        steps: The steps of this run, without copied context.
        attempts: Its tool calls in order.
        by_tool: The same by tool.
    """

    trajectory: Trajectory
    steps: tuple[Step, ...]
    attempts: tuple[Attempt, ...]
    by_tool: dict[str, list[Attempt]]
    approvals: tuple[Approval, ...]
    retries: tuple[Retry, ...]
    finals: tuple[Final, ...]

    def of(self, names: Iterable[str] | None) -> list[Attempt]:
        """Attempts of the tools that one of `names` matches, in order; all for None."""
        if names is None:
            return list(self.attempts)
        tools = [tool for tool in self.by_tool if matches(tool, names)]
        found = [attempt for tool in tools for attempt in self.by_tool[tool]]
        return sorted(found, key=lambda attempt: attempt.index) if len(tools) > 1 else found


def history(trajectory: Trajectory, unknown_status: UnknownStatus = "succeeded") -> History:
    """The history of a run, in one pass over its steps.

    A call succeeded when its last result says "ok". A result of status "unknown" counts as `unknown_status` says.
    An error, a denial, a cancellation, a time-out, a result marked missing and no result at all are no success.
    """
    steps = trajectory.steps
    if any(step.provenance == "copied_context" for step in steps):
        steps = tuple(step for step in steps if step.provenance != "copied_context")
    calls: list[ToolCall] = []
    results: dict[int, ToolResult] = {}
    approvals: list[Approval] = []
    retries: list[Retry] = []
    finals: list[Final] = []
    for step in steps:
        if step.kind == "tool_call":
            calls.append(step)
        elif step.kind == "tool_result":
            if step.call_index is not None:
                results[step.call_index] = step
        elif step.kind == "approval":
            approvals.append(step)
        elif step.kind == "retry":
            retries.append(step)
        elif step.kind == "final":
            finals.append(step)
    happened = ("ok", "unknown") if unknown_status == "succeeded" else ("ok",)
    attempts: list[Attempt] = []
    by_tool: dict[str, list[Attempt]] = {}
    for call in calls:
        result = results.get(call.index)
        attempt = Attempt(call, result, result is not None and result.status in happened)
        attempts.append(attempt)
        by_tool.setdefault(call.name, []).append(attempt)
    return History(trajectory, steps, tuple(attempts), by_tool, tuple(approvals), tuple(retries), tuple(finals))


def is_pattern(name: str) -> bool:
    """Whether a name of a policy stands for several."""
    return any(mark in name for mark in "*?[")


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether one of `patterns` is `name` or matches it; case counts."""
    return any(pattern == name or (is_pattern(pattern) and fnmatchcase(name, pattern)) for pattern in patterns)


def succeeded(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Those that succeeded."""
    return [attempt for attempt in attempts if attempt.succeeded]


def indices(attempts: Iterable[Attempt]) -> tuple[int, ...]:
    """Indices of the calls."""
    return tuple([attempt.index for attempt in attempts])


def places(steps: Iterable[int]) -> str:
    """[S2] [S5], at most a dozen."""
    listed = list(steps)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return " ".join(f"[S{step}]" for step in listed[:_SHOWN]) + more


def counted(count: int, what: str) -> str:
    """ "1 call", "3 calls"."""
    return f"{count} {what if count == 1 else what + 's'}"


def named(patterns: Iterable[str]) -> str:
    """Names for a sentence: "a", "a or b"."""
    return " or ".join(patterns)


def unsure(attempts: Iterable[Attempt]) -> str:
    """What to add to a sentence where a success is taken for granted because no status is recorded, or ""."""
    guessed = [attempt.index for attempt in attempts if attempt.succeeded and attempt.status == "unknown"]
    return f"; the status of {places(guessed)} is not recorded and taken as succeeded" if guessed else ""


def blocked(attempts: Iterable[Attempt]) -> str:
    """What to add to a sentence about attempts of which some did not succeed, or ""."""
    failed = [f"[S{attempt.index}] {attempt.status}" for attempt in attempts if not attempt.succeeded]
    if not failed:
        return ""
    more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
    return f"; an attempt counts also where it did not succeed ({', '.join(failed[:_SHOWN])}{more})"
