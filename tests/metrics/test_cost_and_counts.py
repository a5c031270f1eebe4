"""Counts, tokens, seconds, dollars: a total with an unknown part is unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from judge.metrics import measure
from judge.types import ErrorStep, Final, Message, Reasoning, ToolCall, ToolResult, Trajectory, Usage

Build = Callable[..., Trajectory]


def used(tokens_in: int | None = 100, tokens_out: int | None = 20, usd: float | None = None) -> Usage:
    return Usage(input_tokens=tokens_in, output_tokens=tokens_out, cost_usd=usd)


def one(trajectory: Trajectory, name: str) -> Any:
    return measure(trajectory, only=[name])[name]


def two_turns(first: Usage | None, second: Usage | None) -> list[Any]:
    return [
        Message(index=1, role="user"),
        Reasoning(index=2, turn="m1", usage=first),
        ToolCall(index=3, name="a", turn="m1"),
        ToolCall(index=4, name="b", turn="m1"),
        ToolResult(index=5, call_index=3),
        Message(index=6, role="assistant", turn="m2", usage=second),
    ]


def test_turns_count_parallel_calls_once(trajectory_of: Build) -> None:
    found = one(trajectory_of(two_turns(None, None)), "num_turns")
    assert (found.value, found.steps) == (2, (2, 6))


def test_turns_are_unknown_when_a_model_step_names_none(trajectory_of: Build) -> None:
    steps = [*two_turns(None, None), ToolCall(index=7, name="c")]
    found = one(trajectory_of(steps), "num_turns")
    assert found.value is None
    assert found.reason == "not applicable: 1 of 5 steps made by a model name no turn"
    assert found.detail == {"known_turns": 2, "steps_without_turn": 1}


def test_tokens_add_up_over_model_calls(trajectory_of: Build) -> None:
    found = one(trajectory_of(two_turns(used(100, 20), used(300, 5))), "tokens")
    assert (found.value, found.steps) == (425, (2, 6))  # 100 + 20 + 300 + 5


def test_tokens_without_turn_ids_are_counted_by_block(trajectory_of: Build) -> None:
    steps = [
        Reasoning(index=1, usage=used(10, 1)),
        ToolCall(index=2, name="a"),
        ToolResult(index=3, call_index=2),
        ToolCall(index=4, name="b", usage=used(20, 2)),
        ToolResult(index=5, call_index=4),
        Message(index=6, role="assistant", usage=used(30, 3)),
        Final(index=7, text="done"),
    ]
    found = one(trajectory_of(steps), "tokens")
    assert (found.value, found.detail) == (66, {"model_calls": 3})


@pytest.mark.parametrize("second", [None, used(300, None), used(None, 5)])
def test_a_partly_unknown_total_is_unknown_and_says_what_is_known(second: Usage | None, trajectory_of: Build) -> None:
    found = one(trajectory_of(two_turns(used(100, 20), second)), "tokens")
    assert found.value is None
    assert found.reason == "not applicable: token usage of 1 of 2 model calls is not recorded"
    assert found.detail == {"known": 120, "model_calls": 2, "unknown_from_steps": [6]}


def test_the_sources_own_total_goes_before_the_sum(trajectory_of: Build) -> None:
    found = one(trajectory_of(two_turns(used(1, 1), None), usage=used(500, 40)), "tokens")
    assert (found.value, found.detail) == (540, {"source": "total of the run"})


def test_a_price_of_zero_is_a_price_and_no_price_is_none(trajectory_of: Build) -> None:
    free = one(trajectory_of(two_turns(used(usd=0.0), used(usd=0.0))), "cost_usd")
    assert (free.value, free.reason) == (0, None)
    paid = one(trajectory_of(two_turns(used(usd=0.1), used(usd=0.2))), "cost_usd")
    assert paid.value == pytest.approx(0.3)
    unknown = one(trajectory_of(two_turns(used(), used())), "cost_usd")
    assert (unknown.value, unknown.reason) == (None, "not applicable: no price is recorded")


def test_seconds_span_the_time_stamps_with_nanoseconds_and_zones(trajectory_of: Build) -> None:
    steps = [
        Message(index=1, role="system"),
        Message(index=2, role="user", ts="2026-01-01T10:00:00.123456789Z"),
        ToolCall(index=3, name="a"),
        ToolResult(index=4, call_index=3, ts="2026-01-01T12:00:09.123456Z", seconds=1.5),
        ErrorStep(index=5, ts="2026-01-01T13:00:10.623456+01:00"),  # 12:00:10.623456Z
    ]
    found = one(trajectory_of(steps), "seconds")
    # 10:00:00.123456 to 12:00:10.623456: two hours and 10.5 s
    assert (found.value, found.steps) == (7210.5, (2, 5))


@pytest.mark.parametrize(
    ("stamps", "why"),
    [
        (("2026-01-01T10:00:00Z", None), "step 2, at an end of the run, has no time stamp"),
        (("2026-01-01T10:00:00Z", "2026-01-01T10:00:01"), "some time stamps name their zone and some do not"),
        (("2026-01-01T10:00:00Z", "later"), "the time stamp 'later' of step 2 is not an ISO 8601 time"),
    ],
)
def test_seconds_are_unknown_when_a_time_is(stamps: tuple[str | None, ...], why: str, trajectory_of: Build) -> None:
    steps = [Message(index=at, role="user", ts=ts) for at, ts in enumerate((stamps[0], stamps[0]), 1)]
    steps = [steps[0], Message(index=2, role="assistant", ts=stamps[1])]
    if stamps[1] is None:
        steps[0] = Message(index=1, role="user", ts=stamps[0], seconds=1)
    found = one(trajectory_of(steps), "seconds")
    assert (found.value, found.reason) == (None, f"not applicable: {why}")


def test_seconds_fall_back_to_the_sum_of_complete_durations(trajectory_of: Build) -> None:
    steps: list[Any] = [
        Message(index=1, role="user"),
        ToolCall(index=2, name="a"),
        ToolResult(index=3, call_index=2, seconds=0.25),
        Message(index=4, role="assistant", seconds=1.5),
    ]
    found = one(trajectory_of(steps), "seconds")
    assert (found.value, found.detail) == (1.75, {"method": "sum of durations"})
    partial = one(trajectory_of([*steps, ToolCall(index=5, name="b")]), "seconds")
    assert partial.value is None
    assert partial.detail == {"method": "sum of durations", "known": 1.75, "steps_without_duration": [5]}


@pytest.mark.parametrize("name", ["num_turns", "tokens", "seconds", "cost_usd"])
def test_nothing_recorded_is_never_zero(name: str, trajectory_of: Build) -> None:
    found = one(trajectory_of([Message(index=1, role="user")]), name)
    assert found.value is None
    assert str(found.reason).startswith("not applicable: ")
