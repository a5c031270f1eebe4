"""A run against the expected sequence of events, and the reading of references."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import UsageError
from judge.metrics import measure, parse_reference
from judge.types import ExpectedCall, Final, Reference, Source, ToolCall, Trajectory

CLEAN = ["tool_call:search_docs", "final"]


def run(letters: str, *, final_step: bool = True, answer: str | None = "yes", turn: str | None = None) -> Trajectory:
    steps: list[Any] = [ToolCall(index=at, name=name, arguments={}, turn=turn) for at, name in enumerate(letters, 1)]
    if final_step and answer is not None:
        steps.append(Final(index=len(steps) + 1, text=answer))
    return Trajectory(id="r", source=Source(format="test"), steps=tuple(steps), final=answer)


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        ("num_tool_calls", {"clean": 1, "wasteful": 3, "no_search": 0}),
        ("has_redundant_call", {"clean": False, "wasteful": True, "no_search": False}),
        ("matches_reference", {"clean": True, "wasteful": False, "no_search": False}),
        ("answered_without_tool", {"clean": False, "wasteful": False, "no_search": True}),
    ],
)
def test_three_docs_runs(metric: str, values: dict[str, Any], docs_runs: dict[str, Trajectory]) -> None:
    reference = parse_reference(CLEAN)
    found = {name: measure(trajectory, reference)[metric].value for name, trajectory in docs_runs.items()}
    assert found == values


@pytest.mark.parametrize(
    ("letters", "sequence", "matches"),
    [
        ("ab", ["tool_call:a", "tool_call:b", "final"], True),
        ("ba", ["tool_call:a", "tool_call:b", "final"], False),
        ("a", ["tool_call:a"], False),  # the final answer is an event too
        ("", ["final"], True),
        ("aa", ["tool_call:a", "final"], False),
    ],
)
@pytest.mark.parametrize("final_step", [True, False])
def test_events_are_compared_in_order(letters: str, sequence: list[str], matches: bool, final_step: bool) -> None:
    found = measure(run(letters, final_step=final_step), parse_reference(sequence), only=["matches_reference"])
    assert found["matches_reference"].value is matches


def test_order_inside_one_turn_is_free() -> None:
    reference = parse_reference(["tool_call:a", "tool_call:b", "final"])
    assert measure(run("ba", turn="t"), reference)["matches_reference"].value is True
    assert measure(run("bb", turn="t"), reference)["matches_reference"].value is False


def test_expected_calls_must_match_with_their_arguments_too() -> None:
    both = Reference(sequence=("tool_call:a", "final"), calls=(ExpectedCall(name="a", arguments={"x": 1}),))
    found = measure(run("a"), both)["matches_reference"]
    assert found.value is False
    assert found.detail is not None
    assert found.detail["difference"]["text"] == "step 1: a: argument 'x' is missing, expected 1"
    assert measure(run("a"), parse_reference([{"name": "a", "args": {}}]))["matches_reference"].value is True
    assert measure(run(""), parse_reference([]))["matches_reference"].value is True


@pytest.mark.parametrize(
    ("letters", "sequence", "text"),
    [
        ("ac", ["tool_call:a", "tool_call:b", "final"], "step 2: found 'tool_call:c', expected 'tool_call:b'"),
        ("aa", ["tool_call:a", "final"], "step 2: found 'tool_call:a', expected 'final'"),
        ("a", ["tool_call:a"], "step 2: found 'final', expected the end of the run"),
        ("a", ["tool_call:a", "final", "final"], "event 3: found the end of the run, expected 'final'"),
    ],
)
def test_a_mismatch_names_the_first_step(letters: str, sequence: list[str], text: str) -> None:
    found = measure(run(letters), parse_reference(sequence), only=["matches_reference"])["matches_reference"]
    assert found.detail is not None
    assert found.detail["difference"]["text"] == text


@pytest.mark.parametrize("reference", [None, Reference(), Reference(answer="yes")])
def test_without_a_path_nothing_is_measured(reference: Reference | None) -> None:
    found = measure(run("a"), reference, only=["matches_reference", "reference_overlap"])
    assert {result.value for result in found.values()} == {None}
    why = "no reference is given" if reference is None else "the reference names neither a sequence nor calls"
    assert {result.reason for result in found.values()} == {f"not applicable: {why}"}


@pytest.mark.parametrize(
    ("letters", "sequence", "value"),
    [
        ("a", ["tool_call:a", "final"], 1),
        ("aaa", ["tool_call:a", "final"], 0.5),  # 2 shared of 4
        ("ba", ["tool_call:a", "tool_call:b", "final"], 1),  # order apart
        ("", ["tool_call:a", "final"], 0.5),  # final of {a, final}
        ("b", ["tool_call:a"], 0),
    ],
)
def test_reference_overlap_is_multiset_jaccard(letters: str, sequence: list[str], value: float) -> None:
    assert measure(run(letters), parse_reference(sequence))["reference_overlap"].value == value


def test_overlap_with_calls_compares_their_arguments() -> None:
    reference = parse_reference([{"tool": "a", "input": {}}, {"tool": "b", "input": {"x": 1}}])
    assert measure(run("ab"), reference)["reference_overlap"].value == pytest.approx(1 / 3)  # 1 of 3 distinct
    assert measure(run("", answer=None), parse_reference([]))["reference_overlap"].value == 1


@given(st.text("ab", max_size=6), st.text("ab", max_size=6))
def test_reference_overlap_is_symmetric_and_in_range(left: str, right: str) -> None:
    def overlap(made: str, expected: str) -> Any:
        reference = Reference(sequence=(*(f"tool_call:{name}" for name in expected), "final"))
        return measure(run(made), reference, only=["reference_overlap"])["reference_overlap"].value

    assert overlap(left, right) == overlap(right, left)
    assert 0 < overlap(left, right) <= 1


@pytest.mark.parametrize(
    ("value", "reference"),
    [
        (CLEAN, Reference(sequence=("tool_call:search_docs", "final"))),
        ([], Reference(calls=())),
        (None, Reference()),
        ([{"name": "a", "args": {"x": 1}}], Reference(calls=(ExpectedCall(name="a", arguments={"x": 1}),))),
        ([{"tool": "a", "input": {}}], Reference(calls=(ExpectedCall(name="a", arguments={}),))),
        ([{"function": "a", "arguments": '{"x": 1}'}], Reference(calls=(ExpectedCall(name="a", arguments={"x": 1}),))),
        ([{"name": "a"}], Reference(calls=(ExpectedCall(name="a"),))),
        ({"answer": "yes", "status": "one_acceptable"}, Reference(answer="yes", status="one_acceptable")),
        (
            {"sequence": ["final"], "calls": [{"tool": "a"}]},
            Reference(sequence=("final",), calls=(ExpectedCall(name="a"),)),
        ),
    ],
)
def test_short_forms_of_a_reference_are_read(value: Any, reference: Reference) -> None:
    assert parse_reference(value) == reference
    assert parse_reference(reference) is reference
    assert parse_reference(json.loads(json.dumps(reference.to_json()))) == reference


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("final", "A reference is str"),
        (["search_docs"], "Event 1 of a reference is 'search_docs'"),
        (["final", "tool_call:"], "Event 2 of a reference is 'tool_call:'"),
        (["final", {"name": "a"}], "Expected call 1 of a reference is 'final'"),
        ([{"name": "a", "arg": {}}], "Expected call 1 of a reference has unknown key 'arg'"),
        ([{"args": {}}], "Expected call 1 of a reference has keys"),
        ([{"name": "a", "args": [1]}], r"has arguments \[1\]; needed an object"),
        ([{"name": "a", "args": "{"}], "has arguments that are not JSON"),
        ({"sequense": []}, "unknown key 'sequense'"),
        ({"calls": "a"}, "Reference field 'calls' is 'a'; needed a list"),
        ({"status": "maybe"}, "Reference field 'status' is 'maybe'"),
    ],
)
def test_what_is_no_reference_is_refused_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_reference(value)
