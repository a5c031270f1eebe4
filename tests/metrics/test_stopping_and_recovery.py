"""How a run ended, and what the agent did after a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from judge.metrics import measure
from judge.types import (
    ErrorStep,
    Final,
    Json,
    Message,
    Outcome,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
)

Build = Callable[..., Trajectory]


def one(trajectory: Trajectory, name: str) -> Any:
    return measure(trajectory, only=[name])[name]


def test_an_answer_without_a_tool_is_named(trajectory_of: Build) -> None:
    said = Message(index=1, role="assistant", content=(Text(text="42"),))
    found = one(trajectory_of([said], final="42"), "answered_without_tool")
    assert (found.value, found.steps) == (True, (1,))
    called = one(trajectory_of([ToolCall(index=1, name="a")], final="42"), "answered_without_tool")
    assert (called.value, called.steps) == (False, ())


@pytest.mark.parametrize("final", [None, "", "  \n"])
def test_without_an_answer_there_is_nothing_to_say(final: str | None, trajectory_of: Build) -> None:
    found = one(trajectory_of([Message(index=1, role="user")], final=final), "answered_without_tool")
    assert (found.value, found.reason) == (None, "not applicable: the run gave no final answer")


@pytest.mark.parametrize(
    ("steps", "fields", "label"),
    [
        ([Final(index=1, text="done")], {}, "answered"),
        ([Message(index=1, role="assistant")], {"final": "done"}, "answered"),
        ([Message(index=1, role="assistant")], {"final": "part", "outcome": Outcome(status="limit")}, "hit_limit"),
        ([Message(index=1, role="user")], {"outcome": Outcome(status="aborted")}, "aborted"),
        ([Message(index=1, role="user"), ErrorStep(index=2)], {}, "error"),
        ([Message(index=1, role="user")], {"outcome": Outcome(status="failed")}, "error"),
        ([Final(index=1, text="done")], {"outcome": Outcome(status="failed")}, "answered"),
        ([ToolCall(index=1, name="a")], {}, "stopped_without_answer"),
        ([Final(index=1, text=" ")], {}, "stopped_without_answer"),
        ([], {}, None),
    ],
)
def test_stop_behaviour_is_read_from_structure(
    steps: list[Any], fields: dict[str, Any], label: str | None, trajectory_of: Build
) -> None:
    assert one(trajectory_of(steps, **fields), "stop_behaviour").value == label


def test_calls_left_open_at_the_end_are_named(trajectory_of: Build) -> None:
    found = one(trajectory_of([ToolCall(index=1, name="a")]), "stop_behaviour")
    assert found.detail == {"open_calls": [1]}


def attempts(*made: tuple[str, dict[str, Any] | None, str], turn: bool = False) -> list[Any]:
    """Steps for (tool, arguments, status of the result), one turn each, or all in one."""
    steps: list[Any] = []
    calls = []
    for name, arguments, status in made:
        at = len(steps) + 1
        calls.append((at, status))
        steps.append(ToolCall(index=at, name=name, arguments=arguments, turn="t" if turn else None))
        if not turn:
            steps.append(_result(at + 1, at, status))
    if turn:
        steps += [_result(len(made) + number, at, status) for number, (at, status) in enumerate(calls, 1)]
    return steps


def _result(index: int, call: int, status: Any) -> ToolResult:
    if status == "empty":
        return ToolResult(index=index, call_index=call, status="ok", content=(Text(text="[]"),))
    return ToolResult(index=index, call_index=call, status=status, content=(Text(text="Error: no such row"),))


@pytest.mark.parametrize(
    ("made", "ratio"),
    [
        ([("a", {"x": 1}, "error"), ("a", {"x": 2}, "ok")], 1),
        ([("a", {"x": 1}, "error"), ("a", {"x": 1.0}, "ok")], 0),  # the same call again, 1 equals 1.0
        ([("a", {"x": 1}, "error"), ("b", {"x": 1}, "ok")], 1),  # another tool is another attempt
        ([("a", {"x": 1}, "error")], 0),  # nothing follows
        ([("a", {"x": 1}, "timeout"), ("a", {"x": 1}, "error"), ("a", {"x": 2}, "ok")], 0.5),
        ([("a", {"x": 1}, "empty"), ("a", {"x": 2}, "ok")], 1),
        ([("a", {"x": 1}, "denied"), ("b", {}, "ok"), ("b", {}, "cancelled")], 0.5),
    ],
)
def test_recovery_is_a_changed_attempt_in_the_next_turn(made: Any, ratio: float, trajectory_of: Build) -> None:
    assert one(trajectory_of(attempts(*made)), "error_recovery").value == ratio


def test_a_call_of_the_same_turn_is_no_answer_to_a_failure(trajectory_of: Build) -> None:
    steps = attempts(("a", {"x": 1}, "error"), ("b", {}, "ok"), turn=True)
    assert one(trajectory_of(steps), "error_recovery").value == 0
    after = ToolCall(index=5, name="a", arguments={"x": 2}, turn="u")
    found = one(trajectory_of([*steps, after]), "error_recovery")
    assert (found.value, found.steps, found.detail) == (1, (1,), {"recovered": [1], "stalled": []})


def test_a_call_made_before_the_result_came_is_no_answer_to_it(trajectory_of: Build) -> None:
    steps = [
        ToolCall(index=1, name="a", arguments={"x": 1}),
        ToolCall(index=2, name="b", arguments={}),
        _result(3, 1, "error"),
        _result(4, 2, "ok"),
        ToolCall(index=5, name="a", arguments={"x": 1}),
    ]
    assert one(trajectory_of(steps), "error_recovery").detail == {"recovered": [], "stalled": [1]}


def test_words_of_a_result_never_decide_that_it_failed(trajectory_of: Build) -> None:
    steps = attempts(("a", {}, "unknown"))
    assert one(trajectory_of(steps), "error_recovery").value is None
    failed = one(trajectory_of(steps), "num_failed_calls")
    assert (failed.value, failed.reason) == (None, "not applicable: 1 of 1 calls do not say whether they failed")


def test_failed_calls_are_counted_by_status(trajectory_of: Build) -> None:
    steps = attempts(("a", {}, "error"), ("a", {}, "ok"), ("b", {}, "denied"), ("c", {}, "timeout"))
    found = one(trajectory_of(steps), "num_failed_calls")
    assert (found.value, found.steps) == (3, (1, 5, 7))
    assert one(trajectory_of(attempts(("a", {}, "ok"))), "num_failed_calls").value == 0
    mixed = one(trajectory_of(attempts(("a", {}, "error"), ("b", {}, "unknown"))), "num_failed_calls")
    assert (mixed.value, mixed.detail) == (1, {"calls_of_unknown_status": 1})


@pytest.mark.parametrize(
    ("fields", "tripped"),
    [
        ({"content": (Text(text=""),)}, True),
        ({"content": (Text(text=" [] "),)}, True),
        ({"content": (Json(value={"rows": []}),)}, True),
        ({"structured": []}, True),
        ({"structured": {"result_ids": []}}, True),
        ({"structured": {"results": [], "total": 0}}, True),
        ({"structured": {"balance": 0}}, False),
        ({"structured": {"found": False}}, False),
        ({"structured": 0}, False),
        ({}, False),  # nothing was recorded: not known to be empty
        ({"content": (Text(text="none"),)}, False),
    ],
)
def test_an_empty_result_is_one_that_was_recorded_as_empty(
    fields: dict[str, Any], tripped: bool, trajectory_of: Build
) -> None:
    steps = [ToolCall(index=1, name="a"), ToolResult(index=2, call_index=1, status="ok", **fields)]
    found = one(trajectory_of(steps), "error_recovery")
    assert found.value == (0 if tripped else None)
    assert found.detail == ({"recovered": [], "stalled": [1], "empty": [1]} if tripped else None)
