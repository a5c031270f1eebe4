"""Calls against expected calls: modes, turns, argument modes, multisets, and what differs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.errors import UsageError
from judge.metrics import match_calls, match_metric, measure
from judge.metrics.arguments import fits
from judge.metrics.assignment import assign
from judge.types import ExpectedCall, Reference, ToolCall, Trajectory

CallsRun = Callable[..., Trajectory]
Expecting = Callable[[Any], Reference]
MATCHES = ["match_strict", "match_in_order", "match_any_order", "match_subset", "match_superset"]


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args}


A, B, C = call("a", x=1), call("b", x=1), call("c", x=1)


@pytest.mark.parametrize(
    ("called", "expected", "outcome"),
    [  # strict, in order, any order, subset, superset
        ([A, B], [A, B], [True, True, True, True, True]),
        ([B, A], [A, B], [False, False, True, True, True]),
        ([A, C, B], [A, B], [False, True, False, False, True]),
        ([A], [A, B], [False, False, False, True, False]),
        ([A, A], [A], [False, True, False, False, True]),
        ([A], [A, A], [False, False, False, True, False]),
        ([B, C, A], [A, B], [False, False, False, False, True]),
        ([C], [A], [False, False, False, False, False]),
        ([call("a", x=2)], [A], [False, False, False, False, False]),
        ([call("a")], [call("a")], [True, True, True, True, True]),
        ([], [], [True, True, True, True, True]),
        ([], [A], [False, False, False, True, False]),
        ([A], [], [False, True, False, False, True]),
    ],
)
def test_modes_agree_with_their_definitions(
    called: Any, expected: Any, outcome: list[bool], calls_run: CallsRun, expecting: Expecting
) -> None:
    found = measure(calls_run(called), expecting(expected), only=MATCHES)
    assert [found[name].value for name in MATCHES] == outcome


def test_without_expected_calls_nothing_is_measured(calls_run: CallsRun) -> None:
    for reference in (None, Reference(), Reference(answer="yes")):
        found = measure(calls_run([A]), reference, only=[*MATCHES, "call_precision", "call_f1", "call_order_f1"])
        assert {result.value for result in found.values()} == {None}
        assert {result.reason for result in found.values()} == {"not applicable: no expected calls are given"}


def test_a_sequence_names_expected_calls_with_any_arguments(calls_run: CallsRun) -> None:
    reference = Reference(sequence=("tool_call:a", "tool_call:b", "final"))
    assert measure(calls_run([A, B]), reference, only=["match_strict"])["match_strict"].value is True
    assert measure(calls_run([A, C]), reference, only=["match_strict"])["match_strict"].value is False


def test_order_inside_one_turn_is_free_unless_asked_for(calls_run: CallsRun, expecting: Expecting) -> None:
    swapped, expected = calls_run([B, A], turn="t1"), expecting([A, B])
    found = measure(swapped, expected, only=["match_strict", "match_in_order", "call_order_f1"])
    assert [result.value for result in found.values()] == [True, True, 1.0]
    asked = match_metric("strict_in_turn", "strict", turn_order=True).measure(swapped, expected)
    assert asked.value is False
    across = calls_run([{**B, "turn": "t1"}, {**A, "turn": "t2"}])
    assert measure(across, expected, only=["match_strict"])["match_strict"].value is False


def test_a_turn_may_give_several_of_the_next_expected_calls(calls_run: CallsRun, expecting: Expecting) -> None:
    # turn 1 makes c, b, a; the first two expected calls are a, b; turn 2 brings the third
    run = calls_run([{**C, "turn": "1"}, {**B, "turn": "1"}, {**A, "turn": "1"}, {**C, "turn": "2"}])
    assert measure(run, expecting([A, B, C]), only=["match_in_order"])["match_in_order"].value is True
    assert measure(run, expecting([A, B, C, C]), only=["match_in_order"])["match_in_order"].value is True
    assert measure(run, expecting([A, B, C, A]), only=["match_in_order"])["match_in_order"].value is False


@pytest.mark.parametrize(
    ("mode", "given", "wanted", "fit"),
    [
        ("exact", {"q": "x", "k": 5}, {"q": "x"}, False),
        ("subset", {"q": "x"}, {"q": "x", "k": 5}, True),
        ("subset", {"q": "x", "k": 5}, {"q": "x"}, False),
        ("subset", {}, {"q": "x"}, True),
        ("superset", {"q": "x", "k": 5}, {"q": "x"}, True),
        ("superset", {"q": "y", "k": 5}, {"q": "x"}, False),
        ("superset", {"q": 1.0}, {"q": 1}, True),
        ("ignore", {"q": "y"}, {"q": "x"}, True),
        (lambda got, want: got["q"].lower() == want["q"].lower(), {"q": "X"}, {"q": "x"}, True),
        (lambda got, want: got["q"].lower() == want["q"].lower(), {"q": "Y"}, {"q": "x"}, False),
    ],
)
def test_argument_modes_hold_for_their_tool_only(mode: Any, given: Any, wanted: Any, fit: bool) -> None:
    made = [ToolCall(index=1, name="search", arguments=given), ToolCall(index=2, name="other", arguments=given)]
    expected = [ExpectedCall(name="search", arguments=wanted), ExpectedCall(name="other", arguments=wanted)]
    found = match_calls(made[:1], expected[:1], "any_order", arguments={"search": mode})
    assert found.matched is fit
    assert match_calls(made[1:], expected[1:], "any_order", arguments={"search": mode}).matched is (given == wanted)


def test_an_unknown_mode_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="Argument mode of tool 'search' is 'fuzzy'"):
        match_metric("mine", "strict", arguments={"search": "fuzzy"})  # type: ignore[dict-item]
    with pytest.raises(UsageError, match="Match mode is 'loose'"):
        match_calls([], [], "loose")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("called", "expected", "metric", "step", "argument", "text"),
    [
        ([A, call("b", x=9)], [A, B], "match_strict", 2, "x", "step 2: b: argument 'x' is 9, expected 1"),
        ([A, C], [A, B], "match_strict", 2, None, "step 2: called 'c', expected 'b'"),
        ([A], [A, B], "match_strict", None, None, 'expected b({"x": 1}), which was not made'),
        ([A, C], [A], "match_strict", 2, None, 'step 2: c({"x": 1}) was not expected'),
        ([call("a")], [A], "match_any_order", 1, "x", "step 1: a: argument 'x' is missing, expected 1"),
        ([call("a", x=1, y=2)], [A], "match_subset", 1, "y", "step 1: a: argument 'y' is 2, which was not expected"),
        ([C, call("a", x=3)], [A], "match_superset", 2, "x", "step 2: a: argument 'x' is 3, expected 1"),
        ([B, call("a", x=3)], [A], "match_in_order", 2, "x", "step 2: a: argument 'x' is 3, expected 1"),
    ],
)
def test_a_mismatch_names_the_first_step_and_argument(
    called: Any,
    expected: Any,
    metric: str,
    step: int | None,
    argument: str | None,
    text: str,
    calls_run: CallsRun,
    expecting: Expecting,
) -> None:
    result = measure(calls_run(called), expecting(expected), only=[metric])[metric]
    assert result.value is False
    assert result.detail is not None
    difference = result.detail["difference"]
    assert (difference.get("step"), difference.get("argument"), difference["text"]) == (step, argument, text)


def test_vacuous_matches_say_so(calls_run: CallsRun, expecting: Expecting) -> None:
    subset = measure(calls_run([]), expecting([A]), only=["match_subset"])["match_subset"]
    superset = measure(calls_run([A]), expecting([]), only=["match_superset"])["match_superset"]
    assert subset.detail is not None
    assert subset.detail["vacuous"] == "nothing was called"
    assert superset.detail is not None
    assert superset.detail["vacuous"] == "nothing was expected"


def test_published_case_parallel_calls(
    case: Callable[[str], dict[str, Any]], calls_run: CallsRun, expecting: Expecting
) -> None:
    given, exact = case("G-D26")["input"], case("G-D26")["right"]["exact"]
    one = measure(calls_run(given["called"], turn="t"), expecting(given["expected"]))
    two = measure(calls_run(given["called_2"], turn="t"), expecting(given["expected_2"]))
    assert one["match_any_order"].value is exact["pair_1"]["unordered_match"]
    assert one["match_strict"].value is True
    assert one["call_f1"].value == exact["pair_1"]["f1"]
    assert two["match_any_order"].value is exact["pair_2"]["unordered_match"]
    for name in ("precision", "recall", "f1"):
        assert two[f"call_{name}"].value == exact["pair_2"][name]


def test_published_case_empty_and_absent_lists(
    case: Callable[[str], dict[str, Any]], calls_run: CallsRun, expecting: Expecting
) -> None:
    entry = case("G-D27")
    found = [measure(calls_run(one["called"]), expecting(one["expected"])) for one in entry["input"]["cases"]]
    exact = entry["right"]["exact"]
    names = {
        "f1": "call_f1",
        "strict": "match_strict",
        "subset_called_in_expected": "match_subset",
        "superset_called_covers_expected": "match_superset",
    }
    for listed, name in names.items():
        assert [one[name].value for one in found] == exact[listed]
    assert found[3]["call_f1"].reason == "not applicable: no expected calls are given"


SMALL = st.lists(st.builds(call, st.sampled_from("ab"), x=st.sampled_from([0, 1, 2])), max_size=6)
MODE = st.sampled_from(["exact", "subset", "superset", "ignore"])


def made_of(calls: list[dict[str, Any]]) -> list[ToolCall]:
    return [ToolCall(index=at, name=one["name"], arguments=one["args"]) for at, one in enumerate(calls, 1)]


LOOSE = st.lists(
    st.builds(
        lambda name, args: {"name": name, "args": args},
        st.sampled_from("ab"),
        st.dictionaries(st.sampled_from("xy"), st.integers(0, 1), max_size=2),
    ),
    max_size=5,
)


@settings(deadline=None)
@given(LOOSE, LOOSE, MODE, st.booleans())
def test_assignment_is_the_largest_possible(called: Any, expected: Any, mode: Any, any_arguments: bool) -> None:
    modes = {"a": mode, "b": mode}
    made = made_of(called)
    wanted = [
        ExpectedCall(name=one["name"], arguments=None if any_arguments and at % 2 else one["args"])
        for at, one in enumerate(expected)
    ]
    partners = assign(made, wanted, modes)
    taken = [partner for partner in partners if partner is not None]
    assert len(taken) == len(set(taken))
    assert all(fits(made[at], wanted[to], modes) for at, to in enumerate(partners) if to is not None)
    # brute force over every way to hand the expected calls out
    places: list[int | None] = [*range(len(wanted)), *[None] * len(made)]
    best = max(
        sum(to is not None and fits(one, wanted[to], modes) for one, to in zip(made, way, strict=True))
        for way in set(itertools.permutations(places[: len(wanted) + max(0, len(made) - len(wanted))], len(made)))
    )
    assert len(taken) == best


@settings(deadline=None)
@given(SMALL, SMALL, st.randoms(use_true_random=False))
def test_unordered_modes_do_not_depend_on_order(called: Any, expected: Any, rng: Any) -> None:
    other_called, other_expected = rng.sample(called, len(called)), rng.sample(expected, len(expected))

    def outcomes(left: Any, right: Any) -> list[bool]:
        wanted = [ExpectedCall(name=one["name"], arguments=one["args"]) for one in right]
        return [match_calls(made_of(left), wanted, mode).matched for mode in ("any_order", "subset", "superset")]

    assert outcomes(called, expected) == outcomes(other_called, other_expected)


@settings(deadline=None)
@given(SMALL, SMALL)
def test_modes_imply_each_other(called: Any, expected: Any) -> None:
    wanted = [ExpectedCall(name=one["name"], arguments=one["args"]) for one in expected]
    modes = ("strict", "in_order", "any_order", "subset", "superset")
    strict, in_order, any_order, subset, superset = (match_calls(made_of(called), wanted, m).matched for m in modes)
    assert any_order == (subset and superset)
    assert not strict or (in_order and any_order)
    assert not in_order or superset
    assert strict == (called == expected)
