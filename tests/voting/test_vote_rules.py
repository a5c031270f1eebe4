"""Vote rules and the tally: hand-worked results, ties, quorum, and what can never move a score."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.types import BinaryScale, Criterion, Level, LevelScale, RangeScale, Vote
from judge.types.verdict import VoteRule
from judge.voting import tally

FIVE = LevelScale(levels=tuple(Level(value=n, name=f"level-{n}") for n in range(1, 6)))


def criterion(scale: Any = FIVE, **more: Any) -> Criterion:
    return Criterion(id="quality", question="How good was the path?", scale=scale, **more)


def ok(score: float, sample: int = 0, **more: Any) -> Vote:
    return Vote(status="ok", score=score, sample=sample, reason=f"reason {sample}", evidence=(sample + 1,), **more)


def votes(*scores: float | str) -> list[Vote]:
    """A number is a valid vote; a text is the status of one that has no score."""
    return [
        ok(score, sample) if not isinstance(score, str) else Vote(status=score, sample=sample, reason="said so")  # type: ignore[arg-type]
        for sample, score in enumerate(scores)
    ]


@pytest.mark.parametrize(
    ("rule", "scores", "expected"),
    [
        ("median", (5, 3, 4), 4),
        ("median", (2, 4, 2, 4), 3),  # (2 + 4) / 2
        ("median", (1, 1, 5), 1),
        ("mean", (80, 60), 70),  # 140 / 2
        ("mean", (0.1, 0.1, 0.1), 0.1),  # binary sums give 0.09999999999999999
        ("majority", (2, 4, 4), 4),
        ("trimmed_mean", (1, 4, 5), 4),  # without 1 and 5
        ("trimmed_mean", (1, 5), 3),  # too few to trim
        ("trimmed_mean", tuple(range(10)), 4.5),  # without 0, 1, 8, 9: (2 + ... + 7) / 6
    ],
)
def test_a_rule_gives_its_hand_worked_result(rule: VoteRule, scores: Sequence[float], expected: float) -> None:
    got = tally(votes(*scores), criterion(RangeScale(min=0, max=100)), rule=rule)
    assert (got.status, got.score, got.rule) == ("ok", expected, rule)


def test_auto_is_majority_on_a_binary_scale_and_median_elsewhere() -> None:
    binary = tally(votes(1, 0, 1), criterion(BinaryScale()))
    ordinal = tally(votes(1, 5, 2), criterion())
    assert (binary.rule, binary.score) == ("majority", 1)
    assert (ordinal.rule, ordinal.score) == ("median", 2)


def test_expected_uses_the_probabilities_and_says_when_it_could_not() -> None:
    both = [ok(4, 0, expected=3.5), ok(3, 1, expected=3.0)]
    got = tally(both, criterion(), rule="expected")
    assert (got.score, got.rule) == (3.25, "expected")  # (3.5 + 3.0) / 2
    fallen_back = tally([both[0], ok(3, 1)], criterion(), rule="expected")
    assert (fallen_back.score, fallen_back.rule) == (3.5, "mean")  # (4 + 3) / 2, and named "mean"


@pytest.mark.parametrize("order", [(1, 0, 1, 0), (0, 1, 0, 1), (0, 0, 1, 1)])
def test_a_label_tie_is_inconclusive_in_any_order(order: tuple[int, ...]) -> None:
    got = tally(votes(*order), criterion(BinaryScale(), gate=True))
    assert (got.status, got.score, got.tie, got.passed, got.agreement) == ("inconclusive", None, True, None, 0.5)
    assert got.reason == "The votes tie: 2 for 0, 2 for 1."


def test_a_tie_left_by_a_failed_vote_is_a_tie() -> None:
    got = tally(votes(1, 0, "unparsed"), criterion(BinaryScale()))
    assert (got.status, got.tie, got.n_ok, got.n_failed) == ("inconclusive", True, 2, 1)


def test_three_way_plurality_is_a_result_and_equal_tops_are_not() -> None:
    assert tally(votes(2, 2, 3, 4, 5), criterion(), rule="majority").score == 2
    assert tally(votes(2, 2, 3, 3, 5), criterion(), rule="majority").status == "inconclusive"


def test_a_gate_split_in_half_is_inconclusive_under_every_rule() -> None:
    rules: tuple[VoteRule, ...] = ("auto", "mean", "median", "trimmed_mean", "majority", "expected")
    gate = criterion(BinaryScale(), gate=True)
    assert {tally(votes(1, 0), gate, rule=rule).status for rule in rules} == {"inconclusive"}
    assert tally(votes(1, 0), criterion(BinaryScale()), rule="mean").score == 0.5  # a share, no verdict


@pytest.mark.parametrize(
    ("given_votes", "status", "n_ok", "n_failed"),
    [
        ((4, "unparsed", 5), "ok", 2, 1),
        ((4, "unparsed", "refusal"), "error", 1, 2),  # 1 of 3 is no quorum
        ((4, "unparsed"), "error", 1, 1),  # half is not more than half
        (("provider_error",), "error", 0, 1),
        ((), "error", 0, 0),
        ((4, "abstain", "abstain"), "inconclusive", 1, 2),
        (("abstain",), "inconclusive", 0, 1),
        ((4, "not_applicable"), "inconclusive", 1, 0),
        ((4, 4, "not_applicable"), "ok", 2, 0),
        ((4, "not_applicable", "not_applicable"), "not_applicable", 1, 0),
        (("not_applicable",), "not_applicable", 0, 0),
        (("not_applicable", "unparsed"), "error", 0, 1),
    ],
)
def test_quorum_and_status(given_votes: tuple[float | str, ...], status: str, n_ok: int, n_failed: int) -> None:
    got = tally(votes(*given_votes), criterion(applies_when="a tool failed"))
    assert (got.status, got.n_ok, got.n_failed) == (status, n_ok, n_failed)
    assert (got.score is None) == (status != "ok")
    assert got.reason


def test_a_quorum_that_is_asked_for_replaces_the_default() -> None:
    three = votes(4, "unparsed", "refusal")
    assert tally(three, criterion(), quorum=1).score == 4
    assert tally(votes(4, 4, "unparsed"), criterion(), quorum=3).status == "error"


def test_reason_and_evidence_come_from_the_vote_at_the_result() -> None:
    got = tally(votes(5, 3, 4), criterion())
    assert (got.reason, got.evidence) == ("reason 2", (3,))
    between = tally(votes(4, 2), criterion())  # median 3, both are 1 away: the lower one speaks
    assert (between.score, between.reason) == (3, "reason 1")


def test_spread_and_agreement() -> None:
    got = tally(votes(5, 3, 3, 4), criterion())
    assert (got.spread, got.agreement) == (2, 0.5)  # 5 - 3; two of four say 3
    single = tally(votes(5), criterion())
    assert (single.spread, single.agreement) == (None, 1.0)
    none = tally(votes("empty"), criterion())
    assert (none.spread, none.agreement) == (None, None)


def test_a_gate_on_levels_passes_at_its_lowest_passing_value() -> None:
    gate = criterion(gate=True, gate_min=3)
    assert [tally(votes(n), gate).passed for n in (2, 3, 4)] == [False, True, True]
    assert tally(votes(3), criterion()).passed is None


FAILURES = ("abstain", "refusal", "content_filter", "truncated", "unparsed", "out_of_range", "empty", "provider_error")
RULES: tuple[VoteRule, ...] = ("auto", "median", "mean", "majority", "trimmed_mean", "expected")
ANY_VOTE = st.one_of(st.integers(1, 5), st.sampled_from((*FAILURES, "not_applicable")))


@given(st.lists(ANY_VOTE, max_size=7), st.sampled_from(RULES), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_the_order_of_votes_never_changes_a_tally(given_votes: list[Any], rule: VoteRule, random: Any) -> None:
    drawn = votes(*given_votes)
    shuffled = random.sample(drawn, len(drawn))
    assert tally(drawn, criterion(), rule=rule) == tally(shuffled, criterion(), rule=rule)


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=5),
    st.lists(st.sampled_from(FAILURES), max_size=5),
    st.sampled_from(RULES),
)
@settings(max_examples=200, deadline=None)
def test_failed_votes_never_move_a_score(scores: list[int], failures: list[str], rule: VoteRule) -> None:
    alone = tally(votes(*scores), criterion(), rule=rule)
    mixed = tally(votes(*scores, *failures), criterion(), rule=rule)
    assert mixed.score in (alone.score, None)
    if len(scores) > len(failures):
        assert mixed.score == alone.score
    assert (mixed.n_ok, mixed.n_failed) == (len(scores), len(failures))


def test_g_d19_ties(case: Callable[[str], dict[str, Any]]) -> None:
    entry = case("G-D19")
    exact, given_input = entry["right"]["exact"], entry["input"]
    value = {"pass": 1, "fail": 0}
    for key in ("label_votes", "label_votes_reordered"):
        got = tally(votes(*(value[label] for label in given_input[key])), criterion(BinaryScale()))
        assert (got.status, got.agreement, got.score) == (exact["label"], exact["agreement"], None)
    numeric = tally(votes(*given_input["numeric_votes"]), criterion())
    assert (numeric.score, numeric.tie) == (exact["numeric_median"], False)
    assert numeric.spread == 2


def test_g_d04_a_vote_outside_the_scale_never_reaches_the_mean(case: Callable[[str], dict[str, Any]]) -> None:
    entry = case("G-D04")
    low, high = entry["input"]["scale"]
    scale = RangeScale(min=low, max=high)
    given_scores = [json.loads(sample)["score"] for sample in entry["input"]["samples"]]
    drawn = [
        ok(score, k) if scale.contains(score) else Vote(status="out_of_range", sample=k)
        for k, score in enumerate(given_scores)
    ]
    got = tally(drawn, criterion(scale), rule="mean")
    exact = entry["right"]["exact"]
    assert (got.n_ok, got.n_failed, got.score) == (exact["samples_ok"], exact["samples_failed"], exact["mean"])
