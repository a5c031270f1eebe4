"""Precision, recall, F1 over the multiset of calls, and F1 by longest common subsequence."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.metrics import measure
from judge.metrics.subsequence import common_length, common_pairs
from judge.types import ExpectedCall, Reference, Source, ToolCall, Trajectory

NAMES = ["call_precision", "call_recall", "call_f1", "call_order_f1"]


def scores(called: str, expected: str) -> list[Any]:
    """Scores of runs written as letters, one tool a letter."""
    steps = tuple(ToolCall(index=at, name=name, arguments={}) for at, name in enumerate(called, 1))
    run = Trajectory(id="r", source=Source(format="test"), steps=steps)
    reference = Reference(calls=tuple(ExpectedCall(name=name, arguments={}) for name in expected))
    return [result.value for result in measure(run, reference, only=NAMES).values()]


@pytest.mark.parametrize(
    ("called", "expected", "values"),
    [
        ("ab", "ab", [1, 1, 1, 1]),
        ("ba", "ab", [1, 1, 1, 0.5]),  # common subsequence of length 1: 2 * 1 / 4
        ("abc", "ab", [2 / 3, 1, 0.8, 0.8]),
        ("aab", "ab", [2 / 3, 1, 0.8, 0.8]),
        ("a", "aab", [1, 1 / 3, 0.5, 0.5]),
        ("xaybz", "ab", [0.4, 1, 4 / 7, 4 / 7]),
        ("c", "ab", [0, 0, 0, 0]),
        ("", "", [None, None, 1, 1]),
        ("", "a", [None, 0, 0, 0]),
        ("a", "", [0, None, 0, 0]),
    ],
)
def test_scores_match_hand_counts(called: str, expected: str, values: list[float | None]) -> None:
    assert scores(called, expected) == [None if v is None else pytest.approx(v) for v in values]


@pytest.mark.parametrize("name", ["called_1", "called_2", "called_3"])
def test_published_case_equal_calls_are_a_multiset(
    name: str,
    case: Callable[[str], dict[str, Any]],
    calls_run: Callable[..., Trajectory],
    expecting: Callable[[Any], Reference],
) -> None:
    entry = case("G-D25")
    found = measure(calls_run(entry["input"][name]), expecting(entry["input"]["expected"]))
    for key, value in entry["right"]["exact"][name].items():
        assert found[f"call_{key}"].value == pytest.approx(value, abs=1e-7)


def test_extra_calls_show_in_every_result_that_has_full_recall(
    calls_run: Callable[..., Trajectory], expecting: Callable[[Any], Reference]
) -> None:
    run = calls_run([{"name": "a", "args": {}}, {"name": "delete_all", "args": {}}])
    recall = measure(run, expecting([{"name": "a", "args": {}}]), only=["call_recall"])["call_recall"]
    assert recall.value == 1
    assert recall.detail is not None
    assert recall.detail["precision"] == 0.5
    assert recall.steps == (2,)


def test_a_true_zero_is_zero_and_not_absent(
    calls_run: Callable[..., Trajectory], expecting: Callable[[Any], Reference]
) -> None:
    found = measure(calls_run([{"name": "b", "args": {}}]), expecting([{"name": "a", "args": {}}]))
    for name in ("call_precision", "call_recall", "call_f1", "call_order_f1", "reference_overlap"):
        assert found[name].value == 0
        assert found[name].reason is None
        assert found[name].to_json()["value"] == 0


LETTERS = st.text("abc", max_size=12)


@given(LETTERS, LETTERS)
def test_scores_are_in_range_and_f1_is_symmetric(called: str, expected: str) -> None:
    precision, recall, f1, order_f1 = scores(called, expected)
    assert all(value is None or 0 <= value <= 1 for value in (precision, recall, f1, order_f1))
    assert order_f1 <= f1
    assert scores(expected, called)[2:] == [f1, order_f1]
    joined = sum((Counter(called) & Counter(expected)).values())
    assert f1 == (2 * joined / len(called + expected) if called + expected else 1)


@given(LETTERS, LETTERS, st.randoms(use_true_random=False))
def test_multiset_scores_do_not_depend_on_order(called: str, expected: str, rng: Any) -> None:
    other = "".join(rng.sample(called, len(called)))
    assert scores(called, expected)[:3] == scores(other, expected)[:3]


def table_length(fits: list[list[bool]], width: int) -> int:
    """The textbook table, for any relation of fitting."""
    above = [0] * (width + 1)
    for row in fits:
        now = [0]
        for column, fit in enumerate(row):
            now.append(above[column] + 1 if fit else max(above[column + 1], now[column]))
        above = now
    return above[width]


@settings(deadline=None)
@given(
    st.integers(0, 9).flatmap(
        lambda w: st.tuples(st.just(w), st.lists(st.lists(st.booleans(), min_size=w, max_size=w), max_size=9))
    )
)
def test_common_subsequence_equals_the_textbook_table(given_case: tuple[int, list[list[bool]]]) -> None:
    width, fits = given_case
    rows = [sum(1 << column for column, fit in enumerate(row) if fit) for row in fits]
    pairs = common_pairs(rows, width)
    assert common_length(rows, width) == table_length(fits, width)
    assert pairs is not None
    assert len(pairs) == common_length(rows, width)
    assert all(fits[row][column] for row, column in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(pairs))


def test_pairs_are_not_read_back_from_more_memory_than_allowed() -> None:
    assert common_pairs([1] * 20_000, 40_000) is None


def test_steps_outside_the_common_subsequence_are_named() -> None:
    steps = tuple(ToolCall(index=at, name=name, arguments={}) for at, name in enumerate("axb", 1))
    run = Trajectory(id="r", source=Source(format="test"), steps=steps)
    reference = Reference(calls=(ExpectedCall(name="a"), ExpectedCall(name="b")))
    assert measure(run, reference, only=["call_order_f1"])["call_order_f1"].steps == (2,)
