"""What goes to a second judge or a person, and what a threshold promises on labels that did not choose it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from judge.calibration.escalation import (
    EscalationRules,
    cheap_first,
    choose_and_check,
    escalation_reasons,
    labels_for_fail_precision,
)
from judge.errors import StatisticsError
from judge.types.rubric import BinaryScale, RangeScale
from judge.types.verdict import Calibrated, CriterionResult, Trust, Verdict, Vote

FIVE = RangeScale(min=1, max=5, step=1)
NO_AUDIT = EscalationRules(audit=1e-9)
"""An audit that draws none of these few; there is no way to turn it off."""


def test_the_audit_of_unanimous_passes_cannot_be_turned_off() -> None:
    with pytest.raises(ValueError, match="audit"):
        EscalationRules(audit=0.0)


def verdict(*votes: Vote, score: float | None = 1.0, binary: bool = True, **more: Any) -> Verdict:
    scale = BinaryScale() if binary else FIVE
    result = CriterionResult(
        id="a",
        status="ok",
        score=score,
        scale=scale,
        votes=votes,
        n_ok=sum(vote.status == "ok" for vote in votes),
        n_failed=sum(vote.status != "ok" for vote in votes),
        rule="majority",
    )
    keys: dict[str, Any] = {"status": "ok" if score is not None else "error", "trajectory_id": "t", **more}
    return Verdict(rubric="r", judge="a/b", score=score, scale=scale, criteria=(result,), **keys)


def ok(score: float, **more: Any) -> Vote:
    return Vote(status="ok", score=score, **more)


def test_a_unanimous_clean_verdict_stands() -> None:
    assert escalation_reasons(verdict(ok(1), ok(1)), NO_AUDIT) == ()
    assert escalation_reasons(verdict(ok(0), ok(0), score=0.0), NO_AUDIT) == ()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (verdict(ok(1), ok(0), ok(1)), "split_votes"),
        (verdict(ok(1), Vote(status="invalid_evidence")), "invalid_evidence"),
        (verdict(ok(1, detail={"wrong_steps": [{"step": 3, "why": "?"}]})), "pass_with_wrong_step"),
        (verdict(ok(1), truncated=True), "truncated_trace"),
        (
            verdict(ok(1), trust=Trust(state="certified", calibrated=Calibrated(probability=0.6, low=0.4, high=0.8))),
            "near_the_cut",
        ),
        (verdict(Vote(status="unparsed"), score=None), "no_score"),
    ],
)
def test_each_reason_is_given(given: Verdict, reason: str) -> None:
    assert escalation_reasons(given, NO_AUDIT) == (reason,)


def test_a_wrong_step_in_a_failed_run_is_no_contradiction() -> None:
    failed = verdict(ok(0, detail={"wrong_steps": [{"step": 3, "why": "?"}]}), score=0.0)
    assert escalation_reasons(failed, NO_AUDIT) == ()


def test_scores_split_at_the_pass_mark_and_not_beside_it() -> None:
    rules = EscalationRules(audit=1e-9, pass_mark=4)
    assert escalation_reasons(verdict(ok(4), ok(5), score=4.5, binary=False), rules) == ()
    assert escalation_reasons(verdict(ok(3), ok(4), score=3.5, binary=False), rules) == ("split_votes",)


def test_screening_looks_twice_at_every_pass_and_at_no_fail() -> None:
    screen = EscalationRules(mode="screen", audit=1e-9)
    assert escalation_reasons(verdict(ok(1)), screen) == ("second_look_at_a_pass",)
    assert escalation_reasons(verdict(ok(0), score=0.0), screen) == ()


def test_a_share_of_unanimous_passes_is_audited_and_the_same_ones_each_time() -> None:
    rules = EscalationRules(audit=0.1)
    drawn = [bool(escalation_reasons(verdict(ok(1), fingerprints={"trajectory": f"{k}"}), rules)) for k in range(2000)]
    assert 160 <= sum(drawn) <= 240  # 200 expected, sd 13.4
    again = [bool(escalation_reasons(verdict(ok(1), fingerprints={"trajectory": f"{k}"}), rules)) for k in range(2000)]
    assert again == drawn
    failed = [escalation_reasons(verdict(ok(0), score=0.0, trajectory_id=f"{k}"), rules) for k in range(200)]
    assert set(failed) == {()}


def labelled(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Confidence that says how often people agree: .5 to 1."""
    confidence = rng.choice([0.5, 0.6, 0.8, 0.95, 1.0], n)
    chance = np.select([confidence >= 0.95, confidence >= 0.8], [0.98, 0.9], 0.6)
    return confidence, (rng.random(n) < chance).astype(float)


def test_a_threshold_chosen_on_dev_is_checked_on_test() -> None:
    rng = np.random.default_rng(4)
    found = choose_and_check(labelled(rng, 300), labelled(rng, 300), allowed=0.1, rng=rng)
    # .8 and above are right in (.9 + .98 + .98) / 3 = .953, .6 and above in .865
    assert found.chosen.threshold == 0.8
    assert found.holds is True
    assert found.coverage.value == pytest.approx(0.6, abs=0.08)
    assert found.agreement.lower is not None
    assert found.agreement.lower >= 0.9


def test_a_promise_that_test_labels_break_is_said() -> None:
    rng = np.random.default_rng(4)
    confidence, _ = labelled(rng, 300)
    found = choose_and_check(labelled(rng, 300), (confidence, np.zeros(300)), allowed=0.1, rng=rng)
    assert found.holds is False
    assert found.agreement.value == 0.0
    assert "does not reach 0.9" in found.reason


def test_without_a_safe_threshold_nothing_is_kept_and_nothing_claimed() -> None:
    rng = np.random.default_rng(4)
    found = choose_and_check(([0.9] * 10, [1] * 10), labelled(rng, 50), rng=rng)
    assert (found.holds, found.agreement.value, found.coverage.value) == (None, None, None)
    assert "29 needed" in found.reason


def test_the_promise_holds_as_often_as_it_says() -> None:
    """Wrong among the kept above 10 % in at most 5 % of the choices (400 drawn; sd 1.1 %)."""
    rng = np.random.default_rng(9)
    truth = {0.5: 0.6, 0.6: 0.6, 0.8: 0.9, 0.95: 0.98, 1.0: 0.98}
    broken = kept = 0
    for _ in range(400):
        confidence, good = labelled(rng, 150)
        found = choose_and_check((confidence, good), (confidence[:5], good[:5]), allowed=0.1, rng=rng).chosen
        if found.threshold is not None:
            kept += 1
            above = [chance for level, chance in truth.items() if level >= found.threshold]
            broken += np.mean(above) < 0.9
    assert kept > 200
    assert broken <= 32


def test_a_cheap_judge_may_go_first_only_where_its_fail_is_shown_to_be_right() -> None:
    rng = np.random.default_rng(1)
    people = np.asarray([0] * 40 + [1] * 60)
    sure = cheap_first(np.asarray([0] * 40 + [1] * 60), people, rng=rng)
    assert (sure.allowed, sure.saved) == (True, 0.4)
    loose = cheap_first(np.asarray([0] * 60 + [1] * 40), people, rng=rng)
    assert (loose.allowed, loose.saved) == (False, None)
    assert loose.precision.value == pytest.approx(40 / 60)
    never = cheap_first(np.ones(100), people, rng=rng)
    assert (never.allowed, never.precision.value) == (False, None)


def test_few_fails_are_not_enough_even_when_all_are_right() -> None:
    assert labels_for_fail_precision(0.9) == 29  # .9^29 < .05
    rng = np.random.default_rng(1)
    assert not cheap_first(np.asarray([0] * 28), np.zeros(28), rng=rng).allowed
    assert cheap_first(np.asarray([0] * 29), np.zeros(29), rng=rng).allowed


def test_malformed_labels_are_refused() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(StatisticsError, match="one length"):
        cheap_first([0, 1], [1], rng=rng)
    with pytest.raises(StatisticsError, match="on test"):
        choose_and_check(labelled(rng, 300), ([0.5], [1, 0]), rng=rng)
