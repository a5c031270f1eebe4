"""A mean is never printed without what is missing from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from judge.errors import UsageError
from judge.types import JudgementError, RangeScale, Usage, Verdict
from judge.voting import summarise
from judge.voting.usage import add_usage

UNIT = RangeScale(min=0, max=1)


def verdict(score: float | None, status: str | None = None, *, scale: Any = UNIT, **more: Any) -> Verdict:
    state: Any = status or ("ok" if score is not None else "error")
    values = {"trajectory_id": "t", "rubric": "r", "judge": "fake/j", **more}
    return Verdict(status=state, score=score, scale=scale, **values)


def test_failures_are_neither_zero_nor_absent() -> None:
    got = summarise([verdict(0.5), verdict(1.0), verdict(None)])
    assert (got.scored, got.total, got.mean) == (2, 3, 0.75)
    assert (got.low, got.high) == (0.5, pytest.approx(2.5 / 3))  # (1.5 + 0) / 3, (1.5 + 1) / 3


def test_bounds_fill_with_the_ends_of_the_scale_not_with_zero() -> None:
    five = RangeScale(min=1, max=5)
    got = summarise([verdict(3.0, scale=five), verdict(None, scale=five)])
    assert (got.mean, got.low, got.high) == (3.0, 2.0, 4.0)  # (3 + 1) / 2, (3 + 5) / 2


def test_not_applicable_is_no_failure_and_inconclusive_is_missing() -> None:
    got = summarise([verdict(1.0), verdict(None, "not_applicable"), verdict(None, "inconclusive")])
    assert (got.coverage, got.not_applicable, got.inconclusive, got.errors) == (0.5, 1, 1, {})
    assert (got.low, got.high) == (0.5, 1.0)


def test_no_verdict_has_no_mean() -> None:
    for nothing in ([], [verdict(None)], [verdict(None, "not_applicable")]):
        got = summarise(nothing)
        assert (got.mean, got.low, got.high) == (None, None, None)
    assert summarise([]).coverage is None
    assert summarise([], min_coverage=0.5).gate == "fail"
    assert summarise([]).gate == "pass"


def test_errors_are_grouped_by_kind_with_one_example_and_a_hint() -> None:
    def failed(kind: str, name: str) -> Verdict:
        error = JudgementError(kind=kind, message=f"{name} failed", raw_head="Overall much better", attempts=3)
        return verdict(None, trajectory_id=name, errors=(error,))

    got = summarise([failed("unparsed", "t1"), failed("timeout", "t2"), failed("unparsed", "t3")])
    assert got.errors == {"unparsed": 2, "timeout": 1}
    first = got.error_groups[0]
    assert (first.kind, first.count, first.trajectory_id, first.example.raw_head) == (
        "unparsed",
        2,
        "t1",
        "Overall much better",
    )
    assert "raw_head" in first.hint


def test_an_error_of_the_judge_is_not_a_failed_gate() -> None:
    got = summarise([verdict(0.0, passed=False), verdict(None), verdict(1.0, passed=True)])
    assert (got.passed, got.failed, got.errors) == (1, 1, {"quorum": 1})


def test_rubrics_are_not_mixed() -> None:
    with pytest.raises(UsageError, match="no common mean"):
        summarise([verdict(1.0), verdict(1.0, rubric="other")])
    with pytest.raises(UsageError, match="no common mean"):
        summarise([verdict(1.0), verdict(1.0, scale=RangeScale(min=0, max=2))])


def test_unknown_cost_is_unknown_and_no_calls_cost_nothing() -> None:
    paid = verdict(1.0, calls=1, cost_usd=0.25, usage=Usage(input_tokens=10, output_tokens=2))
    unknown = verdict(1.0, calls=1, usage=Usage(input_tokens=5))
    from_cache = verdict(1.0, cached=2, cost_usd=0.0)
    got = summarise([paid, from_cache])
    assert (got.cost_usd, got.usage.input_tokens, got.calls, got.cached) == (0.25, 10, 1, 2)
    mixed = summarise([paid, unknown])
    assert (mixed.cost_usd, mixed.usage.input_tokens, mixed.usage.output_tokens) == (None, 15, None)
    assert summarise([from_cache]).usage.input_tokens == 0


def test_usage_that_one_call_did_not_report_is_not_reported_of_the_sum() -> None:
    assert add_usage([Usage(input_tokens=1), None]) == Usage()
    assert add_usage([Usage(input_tokens=1), Usage(input_tokens=2)]).input_tokens == 3


def test_g_d20_coverage(case: Callable[[str], dict[str, Any]]) -> None:
    entry = case("G-D20")
    exact, items = entry["right"]["exact"]["B"], entry["input"]["B"]
    verdicts = [verdict(score) for score in items["scored"]] + [verdict(None)] * items["errors"]
    got = summarise(verdicts, min_coverage=entry["input"]["min_coverage"])
    assert got.total == items["items"]
    assert (got.mean, got.coverage) == (exact["mean"], exact["coverage"])
    assert [got.low, got.high] == exact["bounds"]
    assert f"{got.gate}: {got.gate_reason}".startswith(exact["gate"])


def test_g_d20_votes(case: Callable[[str], dict[str, Any]]) -> None:
    from judge.types import Criterion, Vote
    from judge.voting import tally

    entry = case("G-D20")
    drawn = [
        Vote(status="ok", score=answer, sample=k) if not isinstance(answer, str) else Vote(status="unparsed", sample=k)
        for k, answer in enumerate(entry["input"]["A_votes"])
    ]
    scale: Any = {"min": 1, "max": 5}
    got = tally(drawn, Criterion(id="a", question="?", scale=scale), rule="mean")
    exact = entry["right"]["exact"]["A"]
    assert (got.score, got.n_ok, got.n_failed) == (exact["mean"], exact["ok"], exact["failed"])
