"""Calls that overlap an earlier one, and calls made again letter for letter."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import UsageError
from judge.metrics import measure
from judge.metrics.calls import index
from judge.metrics.redundancy import redundant_pairs, words
from judge.metrics.word_overlap import jaccard
from judge.types import Source, ToolCall, Trajectory

CallsRun = Callable[..., Trajectory]
NAMES = ["has_redundant_call", "num_redundant_calls", "num_exact_repeats"]


def search(query: Any, name: str = "search") -> dict[str, Any]:
    return {"name": name, "args": {"query": query}}


@pytest.mark.parametrize(
    ("calls", "values"),
    [
        ([search("reset my password"), search("Reset MY password!")], [True, 1, 0]),  # case and marks apart, 3 of 3
        ([search("a b"), search("b c")], [False, 0, 0]),  # 1 of 3 words
        ([search("a b c"), search("b c d")], [True, 1, 0]),  # 2 of 4 words = 0.5
        ([search("a b"), search("a b", "lookup")], [False, 0, 0]),  # another tool
        ([search("a"), search("a"), search("a")], [True, 2, 2]),
        ([search(1), search(1.0)], [True, 1, 1]),
        ([search(True), search(1)], [False, 0, 0]),
        ([{"name": "list", "args": {}}, {"name": "list", "args": {}}], [True, 1, 1]),
        ([{"name": "list", "args": {"q": "?!"}}, {"name": "list", "args": {"q": "!?"}}], [False, 0, 0]),
        ([{"name": "list", "args": {"a": None}}, {"name": "list", "args": {}}], [False, 0, 0]),
        ([{"name": "f", "args": {"a": ["x", {"b": "y"}]}}, {"name": "f", "args": {"q": "y x"}}], [True, 1, 0]),
        ([search("año nuevo"), search("AÑO nuevo")], [True, 1, 0]),
        ([], [False, 0, 0]),
        ([search("a")], [False, 0, 0]),
    ],
)
def test_overlap_of_argument_words(calls: list[dict[str, Any]], values: list[Any], calls_run: CallsRun) -> None:
    assert [result.value for result in measure(calls_run(calls), only=NAMES).values()] == values


def test_pairs_and_steps_say_which_calls(calls_run: CallsRun) -> None:
    run = calls_run([search("a b"), search("x y"), search("a b c"), search("x y")])
    found = measure(run, only=NAMES)
    assert found["has_redundant_call"].steps == (1, 2, 3, 4)
    assert found["num_redundant_calls"].steps == (3, 4)
    assert found["num_redundant_calls"].detail == {"pairs": [[1, 3], [2, 4]], "threshold": 0.5}
    assert found["num_exact_repeats"].steps == (4,)
    assert found["num_exact_repeats"].detail == {"pairs": [[2, 4]]}


def test_threshold_is_the_callers(calls_run: CallsRun) -> None:
    run = calls_run([search("a b"), search("b c")])
    assert measure(run, only=NAMES, redundancy_threshold=1 / 3)["has_redundant_call"].value is True
    for bad in (0, -0.5, 1.01, float("nan")):
        with pytest.raises(UsageError, match="redundancy threshold"):
            measure(run, redundancy_threshold=bad)


def test_arguments_that_did_not_parse_repeat_only_exactly() -> None:
    def broken(at: int, text: str) -> ToolCall:
        return ToolCall(index=at, name="search", arguments_raw=text, arguments_error="cut off")

    steps = (broken(1, '{"q": "a b'), broken(2, '{"q": "a b c'), broken(3, '{"q": "a b'))
    run = Trajectory(id="r", source=Source(format="test"), steps=steps)
    assert redundant_pairs(index(run)) == [[1, 3]]


def test_copied_history_is_not_this_runs_doing() -> None:
    old = ToolCall(index=1, name="search", arguments={"q": "a"}, provenance="copied_context")
    new = ToolCall(index=2, name="search", arguments={"q": "a"})
    found = measure(Trajectory(id="r", source=Source(format="test"), steps=(old, new)))
    assert found["num_tool_calls"].value == 1
    assert found["num_steps"].detail == {"copied": 1}
    assert found["has_redundant_call"].value is False


@given(st.lists(st.tuples(st.sampled_from("st"), st.text("abc ?", max_size=6)), max_size=30))
def test_pairs_equal_comparing_each_call_with_each(made: list[tuple[str, str]]) -> None:
    steps = tuple(ToolCall(index=at, name=n, arguments={"q": q}) for at, (n, q) in enumerate(made, 1))
    expected = []
    for at, later in enumerate(steps):
        for earlier in steps[:at]:
            left, right = words(earlier), words(later)
            alike = (
                jaccard(left, right) >= 0.5
                if left and right
                else left == right and earlier.arguments == later.arguments
            )
            if earlier.name == later.name and alike:
                expected.append([earlier.index, later.index])
                break
    assert redundant_pairs(index(Trajectory(id="r", source=Source(format="test"), steps=steps))) == expected


def test_a_long_run_gives_the_pairs_of_brute_force() -> None:
    rng = random.Random(7)
    steps = tuple(
        ToolCall(index=at, name="search", arguments={"q": " ".join(rng.choices([f"w{k}" for k in range(60)], k=5))})
        for at in range(1, 801)
    )
    found = {later: earlier for earlier, later in redundant_pairs(index(_run(steps)))}
    sets = {step.index: words(step) for step in steps}
    for later in range(1, 801):
        first = next((at for at in range(1, later) if jaccard(sets[at], sets[later]) >= 0.5), None)
        assert found.get(later) == first
    assert 50 < len(found) < 800


def _run(steps: tuple[ToolCall, ...]) -> Trajectory:
    return Trajectory(id="r", source=Source(format="test"), steps=steps)
