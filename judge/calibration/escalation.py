"""When a verdict should go to a second judge or a person, and the guarantee that the rest may stand.

Reasons are read off one verdict. The threshold below which confidence is too low is chosen on dev labels with
`judge.calibration.threshold`, and what it promises is checked once on test labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.proportions import clopper_pearson_lower, share
from judge.calibration.ratings import numbers
from judge.calibration.threshold import GuardedThreshold, guarded_threshold
from judge.errors import StatisticsError
from judge.types.escalation import EscalationReason, EscalationRules
from judge.types.estimate import Statistic, undefined
from judge.types.record import Record
from judge.types.verdict import CriterionResult, Verdict


def escalation_reasons(verdict: Verdict, rules: EscalationRules | None = None) -> tuple[EscalationReason, ...]:
    """Why a verdict should not stand alone; empty when it may.

    The audit depends on the run's content, the judge and the rules' seed alone, so that it cannot be dodged by judging
    again.
    """
    used = rules or EscalationRules()
    if verdict.status == "not_applicable":
        return ()
    if verdict.score is None:
        return ("no_score",)
    passed = verdict_passes(verdict, used)
    out: list[EscalationReason] = []
    if any(_split(result, used, verdict) for result in verdict.criteria):
        out.append("split_votes")
    if used.least_confidence is not None and vote_confidence(verdict, used) < used.least_confidence - 1e-9:
        out.append("low_confidence")
    if any(vote.status == "invalid_evidence" for result in verdict.criteria for vote in result.votes):
        out.append("invalid_evidence")
    if passed and any(_names_wrong_step(result) for result in verdict.criteria):
        out.append("pass_with_wrong_step")
    calibrated = verdict.trust.calibrated
    if calibrated is not None and abs(calibrated.probability - used.cut) < used.near:
        out.append("near_the_cut")
    if verdict.truncated:
        out.append("truncated_trace")
    if passed and used.mode != "balanced":
        out.append("second_look_at_a_pass")
    if passed and not out and _drawn(verdict, used):
        out.append("random_audit")
    return tuple(out)


def vote_confidence(verdict: Verdict, rules: EscalationRules) -> float:
    """Share of all votes drawn, failed ones included, that are on the verdict's side; 0 without a score.

    With several criteria, or without a pass mark on a scale that is not binary, sides are equal scores, and the
    criterion with the smallest share counts.
    """
    if verdict.score is None or not verdict.criteria:
        return 0.0
    return min(_share_on_side(result, rules, verdict) for result in verdict.criteria)


def _share_on_side(result: CriterionResult, rules: EscalationRules, verdict: Verdict) -> float:
    votes = [vote for vote in result.votes if vote.status != "not_applicable"]
    scores = [vote.score for vote in votes if vote.status == "ok" and vote.score is not None]
    if not scores:
        return 0.0 if votes else 1.0
    if len(verdict.criteria) == 1 and rules.pass_mark is not None:
        mark, passed = rules.pass_mark, verdict_passes(verdict, rules)
        return sum((score >= mark) == passed for score in scores) / len(votes)
    return max(scores.count(score) for score in set(scores)) / len(votes)


def verdict_passes(verdict: Verdict, rules: EscalationRules) -> bool:
    """Whether the verdict says that the run passed, by its gates and the pass mark."""
    if verdict.passed is False or verdict.score is None:
        return False
    mark = rules.pass_mark if rules.pass_mark is not None else verdict.scale.high
    return verdict.score >= mark


def _split(result: CriterionResult, rules: EscalationRules, verdict: Verdict) -> bool:
    """Whether valid votes fall on both sides of the mark; of several criteria, whether they differ at all."""
    scores = [vote.score for vote in result.votes if vote.status == "ok" and vote.score is not None]
    if len(verdict.criteria) == 1 and rules.pass_mark is not None:
        return len({score >= rules.pass_mark for score in scores}) > 1
    return len(set(scores)) > 1


def _names_wrong_step(result: CriterionResult) -> bool:
    return any(bool((vote.detail or {}).get("wrong_steps")) for vote in result.votes if vote.status == "ok")


def _drawn(verdict: Verdict, rules: EscalationRules) -> bool:
    name = f"{verdict.fingerprints.get('trajectory', verdict.trajectory_id)} {verdict.judge} {verdict.rubric}"
    name += f" {rules.seed}" if rules.seed else ""
    return int(hashlib.sha256(name.encode("utf-8")).hexdigest()[:12], 16) < rules.audit * 16**12


class Escalation(Record):
    """A threshold that was chosen on dev labels, and what became of its promise on test labels.

    Attributes:
        chosen: On dev: verdicts at or above `chosen.threshold` are kept.
        coverage, agreement: On test: share kept, and share of the kept that people agree with.
        holds: Whether the lower bound of `agreement`, at 1 - delta, reaches 1 - allowed; None without a threshold.
    """

    omit_none: ClassVar[bool] = False

    chosen: GuardedThreshold
    coverage: Statistic
    agreement: Statistic
    holds: bool | None
    reason: str = ""


def choose_and_check(
    dev: tuple[ArrayLike, ArrayLike],
    test: tuple[ArrayLike, ArrayLike],
    *,
    allowed: float = 0.1,
    delta: float = 0.05,
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
) -> Escalation:
    """The lowest safe threshold on dev labels, and its coverage and agreement on test labels, which chose nothing.

    Args:
        dev, test: (confidence of each verdict, 1 where people agree with it, else 0).
        allowed, delta: With chance 1 - delta, at most `allowed` of the kept verdicts are wrong.
        groups: Task of each test item.

    Raises:
        StatisticsError: As `guarded_threshold`.

    Source: Jung, Brahman & Choi 2024, arXiv 2407.18370.
    """
    chosen = guarded_threshold(*dev, allowed=allowed, delta=delta)
    confidence, good = numbers(test[0], what="confidence"), numbers(test[1], what="agrees")
    if len(confidence) != len(good):
        raise StatisticsError(
            f"{len(confidence)} confidences and {len(good)} labels on test: give one for each verdict."
        )
    n = len(confidence)
    if chosen.threshold is None:
        why = f"no threshold was safe on dev: {chosen.reason}"
        nothing = undefined(why, n=n)
        return Escalation(chosen=chosen, coverage=nothing, agreement=nothing, holds=None, reason=why)
    kept = confidence >= chosen.threshold
    tasks = list(groups) if groups is not None else list(range(n))
    agreement = share(
        good[kept],
        groups=[task for task, keep in zip(tasks, kept, strict=True) if keep],
        rng=rng,
        confidence=1 - delta,
    )
    holds = agreement.lower is not None and agreement.lower >= 1 - allowed
    reason = "" if holds else f"on test the bound {agreement.lower} does not reach {1 - allowed:g}"
    return Escalation(
        chosen=chosen,
        coverage=share(kept.astype(np.float64), groups=tasks, rng=rng, confidence=1 - delta),
        agreement=agreement,
        holds=holds,
        reason=reason,
    )


class Cascade(Record):
    """Whether a cheap judge may go first. Only its FAIL can stand; its PASS always goes up.

    Attributes:
        precision: Share of its failed runs that people fail too, with bounds.
        allowed: Whether the lower bound reaches `needed`.
        saved: Share of runs that the strong judge need not see; None where the cascade is not allowed.
    """

    omit_none: ClassVar[bool] = False

    allowed: bool
    precision: Statistic
    needed: float
    saved: float | None
    reason: str


def cheap_first(
    cheap_passed: ArrayLike,
    people_passed: ArrayLike,
    *,
    needed: float = 0.9,
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
) -> Cascade:
    """Whether labels show the cheap judge's FAIL to be precise enough to stand.

    Args:
        cheap_passed, people_passed: 1 passed, 0 failed; shape (n,), of the same labelled runs.
        needed: Least share of its fails that must be right.

    Raises:
        StatisticsError: Lengths differ or a value is not 0 or 1.
    """
    cheap, people = numbers(cheap_passed, what="cheap verdicts"), numbers(people_passed, what="labels")
    if len(cheap) != len(people) or not np.isin(cheap, (0, 1)).all() or not np.isin(people, (0, 1)).all():
        raise StatisticsError("Cheap verdicts and labels must be complete, of one length, each 0 or 1.")
    failed = cheap == 0
    tasks = list(groups) if groups is not None else list(range(len(cheap)))
    if not failed.any():
        nothing = undefined("the cheap judge fails no labelled run", n=0, clusters=0)
        return Cascade(allowed=False, precision=nothing, needed=needed, saved=None, reason=str(nothing.reason))
    precision = share(
        1 - people[failed], groups=[task for task, out in zip(tasks, failed, strict=True) if out], rng=rng
    )
    fine = precision.lower is not None and precision.lower >= needed
    reason = (
        "its FAIL may stand, its PASS goes up"
        if fine
        else f"its FAIL is not shown to be right in {needed:.0%}: every run goes to the strong judge"
    )
    return Cascade(
        allowed=fine, precision=precision, needed=needed, saved=float(failed.mean()) if fine else None, reason=reason
    )


def labels_for_fail_precision(needed: float = 0.9, confidence: float = 0.95) -> int:
    """Fewest labelled fails of the cheap judge, all of them right, that show it: an exact bound, one run a task."""
    n = 1
    while clopper_pearson_lower(n, n, confidence) < needed:
        n += 1
    return n
