"""Gates before means; what is missing is never filled in; weights count as they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from judge.types import Criterion, Rubric, Vote, normalise
from judge.types.rubric import RangeScale
from judge.types.verdict import CriterionResult
from judge.voting import overall, tally

UNIT: dict[str, Any] = {"min": 0, "max": 1}


def rubric(*criteria: Criterion, **more: Any) -> Rubric:
    return Rubric(id="r", version="1", title="R", intent="", criteria=criteria, **more)


def part(name: str, weight: float = 1.0, scale: Any = UNIT, **more: Any) -> Criterion:
    return Criterion(id=name, question="?", scale=scale, weight=weight, **more)


def judged(criterion: Criterion, answer: float | str) -> CriterionResult:
    vote = (
        Vote(status=answer)  # type: ignore[arg-type]
        if isinstance(answer, str)
        else Vote(status="ok", score=answer, reason=f"because {criterion.id}")
    )
    return tally([vote], criterion)


def combined(made: Rubric, *answers: float | str) -> Any:
    return overall(made, [judged(c, a) for c, a in zip(made.criteria, answers, strict=True)])


GATE = part("safe", scale="binary", gate=True)


def test_one_criterion_keeps_its_own_scale() -> None:
    got = combined(rubric(part("quality", scale={"min": 1, "max": 5, "step": 1})), 4)
    assert (got.status, got.score, got.scale.high, got.passed, got.reason) == ("ok", 4, 5, None, "because quality")
    gate = combined(rubric(GATE), 0)
    assert (gate.score, gate.passed) == (0, False)


def test_the_mean_is_weighted_on_normalised_scores() -> None:
    made = rubric(part("a", 3.0, {"min": 1, "max": 5, "step": 1}), part("b", 1.0, "binary"))
    assert combined(made, 3, 1).score == 0.625  # (3 * (3 - 1) / 4 + 1 * 1) / 4 = 2.5 / 4
    assert combined(made, 5, 1).score == 1.0


def test_the_lowest_counts_when_the_rubric_says_min() -> None:
    made = rubric(part("a"), part("b"), aggregate="min")
    assert combined(made, 0.25, 0.75).score == 0.25


def test_a_failed_gate_is_never_averaged_away() -> None:
    made = rubric(GATE, part("a", 100.0))
    failed = combined(made, 0, 1)
    assert (failed.status, failed.score, failed.passed) == ("ok", 0.0, False)
    assert "Gate safe failed" in failed.reason
    passed = combined(made, 1, 0.5)
    assert (passed.score, passed.passed) == (0.5, True)  # a gate has no weight in the mean


@pytest.mark.parametrize("other", ["unparsed", "abstain", "provider_error"])
def test_a_proven_gate_failure_stands_whatever_else_is_missing(other: str) -> None:
    got = combined(rubric(GATE, part("a"), part("other", scale="binary", gate=True)), 0, other, other)
    assert (got.status, got.score, got.passed) == ("ok", 0.0, False)


@pytest.mark.parametrize(("answer", "status"), [("unparsed", "error"), ("abstain", "inconclusive")])
def test_a_gate_without_an_answer_leaves_no_score(answer: str, status: str) -> None:
    got = combined(rubric(GATE, part("a")), answer, 1)
    assert (got.status, got.score, got.passed) == (status, None, None)
    assert "safe" in got.reason


def test_a_criterion_that_does_not_apply_is_left_out_and_named() -> None:
    made = rubric(part("a", 1.0), part("b", 3.0, applies_when="a tool failed"), part("c", 1.0))
    got = combined(made, 1, "not_applicable", 0.5)
    assert got.score == 0.75  # (1 + 0.5) / 2: the weight of b is out
    assert "Left out as not applicable: b." in got.reason


def test_nothing_that_applies_is_not_a_number() -> None:
    got = combined(rubric(part("a"), part("b")), "not_applicable", "not_applicable")
    assert (got.status, got.score, got.passed) == ("not_applicable", None, None)
    gated = combined(rubric(GATE, part("b")), 1, "not_applicable")
    assert (gated.status, gated.score, gated.passed) == ("not_applicable", None, True)


def test_a_rubric_of_gates_scores_one_when_all_pass() -> None:
    other = part("legal", scale="binary", gate=True)
    assert combined(rubric(GATE, other), 1, 1).score == 1.0
    assert combined(rubric(GATE, other), 1, "not_applicable").score == 1.0
    assert combined(rubric(GATE, other), "not_applicable", "not_applicable").status == "not_applicable"


def test_weights_count_as_they_are_written() -> None:
    made = rubric(part("a", 0.1), part("b", 0.7), part("c", 0.2))
    assert combined(made, 1, 1, 0).score == 0.8  # .1 + .7 is 0.7999999999999999 in binary
    assert combined(made, 1, 1, 0).score >= 0.8


def test_g_d06_a_missing_criterion_is_never_renormalised(case: Callable[[str], dict[str, Any]]) -> None:
    entry = case("G-D06")
    spec, reply = entry["input"]["rubric"], entry["input"]["reply"]
    made = rubric(*(part(name, given["weight"]) for name, given in spec.items()))
    exact = entry["right"]["exact"]
    results = [judged(c, reply[c.id]["score"] if c.id in reply else "missing_criterion") for c in made.criteria]
    got = overall(made, results)
    assert (got.score, got.status) == (exact["overall"], exact["status"])
    assert [result.id for result in results if result.status == "error"] == exact["missing"]
    only_what_came = overall(made, results[:1])  # a result that is not even there counts the same
    assert (only_what_came.score, only_what_came.status) == (exact["overall"], exact["status"])
    assert all(name in only_what_came.reason for name in exact["missing"])


def test_g_d18_scores_are_moved_to_the_unit_interval_from_the_lower_end(
    case: Callable[[str], dict[str, Any]],
) -> None:
    entry = case("G-D18")
    low, high = entry["input"]["scale"]
    scale = RangeScale(min=low, max=high)
    want = entry["right"]["exact"]["normalised"]
    assert [normalise(score, scale) for score in entry["input"]["scores"]] == want
    pair = rubric(part("a", scale=scale.to_json()), part("b", scale=scale.to_json()))
    assert [combined(pair, score, score).score for score in entry["input"]["scores"]] == want
    bad_low, bad_high = entry["input"]["bad_scale"]
    with pytest.raises(ValueError, match="min < max"):
        RangeScale(min=bad_low, max=bad_high)
