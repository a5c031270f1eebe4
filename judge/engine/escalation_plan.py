"""Choose and check, on a labelled set, which verdicts of a judge may stand and which are sent on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from judge.calibration.dataset import cut_at, join
from judge.calibration.escalation import (
    Cascade,
    cheap_first,
    choose_and_check,
    escalation_reasons,
    verdict_passes,
    vote_confidence,
)
from judge.calibration.observations import Observation
from judge.calibration.proportions import share
from judge.calibration.sets import load_set
from judge.config import Settings
from judge.engine.calibrating import set_criterion, set_labels
from judge.engine.facade import rubric_of, score_many
from judge.engine.guarantee import EscalationPlan, ReasonRow
from judge.errors import TooFewLabels, UsageError
from judge.types.calibration_set import CalibrationSet, SetCriterion
from judge.types.escalation import EscalationReason, EscalationRules
from judge.types.estimate import Statistic, undefined
from judge.types.rubric import Rubric
from judge.types.verdict import Verdict


@dataclass(frozen=True, slots=True)
class _Row:
    """One labelled run."""

    verdict: Verdict
    passed: bool
    people_passed: bool
    confidence: float
    split: str
    task: str

    @property
    def agrees(self) -> bool:
        """Whether people say the same; they never say that there is no score."""
        return self.verdict.score is not None and self.passed == self.people_passed


def plan_escalation(
    label_set: str | Path | CalibrationSet,
    *,
    settings: Settings,
    rubric: str | Path | Rubric | None = None,
    criterion: str | None = None,
    allowed: float = 0.1,
    delta: float = 0.05,
    cheap: bool = False,
    needed: float = 0.9,
    policy: str | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> EscalationPlan:
    """Judges the set's labelled runs (cached) and holds verdicts, confidence and reasons against people.

    The threshold is chosen on one run of each dev task, since its bound is exact for independent runs; the check on
    test labels is clustered by task. Whether the judge may go first needs no choice, so all labels speak to it.

    Args:
        rubric: None for the one that the set's criterion names; it must ask one criterion.
        criterion: One of the set's; None for the first that decides between passed and failed.
        allowed, delta: With chance 1 - delta, at most `allowed` of the verdicts that stand are wrong.
        cheap: Also say whether the judge may go first, its fails standing alone, if `needed` of them are right.
        seed: Of the draw of one run a task, and of the bounds.

    Raises:
        UsageError: The set's criterion does not say passed or failed, or the rubric asks several.
        TooFewLabels: The set has no labelled run, no dev split or no test split.
    """
    chosen = label_set if isinstance(label_set, CalibrationSet) else load_set(label_set)
    asked = set_criterion(chosen, criterion)
    used = rubric_of(rubric if rubric is not None else asked.rubric, settings)
    if len(used.criteria) > 1:
        raise UsageError(
            f"Rubric {used.id!r} asks {len(used.criteria)} criteria, and which verdicts stand is chosen for one.",
            hint="Take a rubric with one criterion.",
        )
    rules = settings.escalate.model_copy(update={"pass_mark": asked.pass_mark, "least_confidence": None})
    rng = np.random.default_rng(seed)
    labelled = {label.trajectory_id for label in chosen.labels if label.criterion == asked.id}
    verdicts: dict[str, Verdict] = {}
    runs = [run for run in chosen.trajectories if run.id in labelled]
    for verdict in score_many(runs, used, settings=settings, policy=policy):
        verdicts[verdict.trajectory_id] = verdict
        if progress is not None:
            progress(len(verdicts))
    rows, left_out = _rows(chosen, asked, used, verdicts, rules)
    dev = _one_a_task([row for row in rows if row.split == "dev"], rng)
    test = [row for row in rows if row.split == "test"]
    if not dev or not test:
        raise TooFewLabels(
            f"{chosen.name}: {len(dev)} dev tasks and {len(test)} test runs: one split chooses, the other checks.",
            hint="Give labels the split dev or test, by task.",
        )
    guarantee = choose_and_check(
        _pair(dev), _pair(test), allowed=allowed, delta=delta, groups=[row.task for row in test], rng=rng
    )
    reasons = [escalation_reasons(row.verdict, rules) for row in test]
    stands = [row for row, why in zip(test, reasons, strict=True) if not why]
    first = next(iter(verdicts.values()))
    return EscalationPlan(
        judge=first.judge,
        rubric=used.id,
        criterion=asked.id,
        label_set=chosen.name,
        pass_mark=asked.pass_mark,
        dev_tasks=len(dev),
        test=len(test),
        guarantee=guarantee,
        reasons=_reason_rows(test, reasons, rng),
        sent_on=share([float(bool(why)) for why in reasons], groups=[row.task for row in test], rng=rng),
        agreement=_agreeing(stands, rng),
        cascade=_cascade(rows, needed, rng) if cheap else None,
        left_out=left_out,
        fingerprints={name: first.fingerprints[name] for name in ("judge", "rubric")},
    )


def _rows(
    chosen: CalibrationSet, asked: SetCriterion, used: Rubric, verdicts: dict[str, Verdict], rules: EscalationRules
) -> tuple[list[_Row], dict[str, int]]:
    own = used.criteria[0]
    labels, stale = set_labels(chosen.labels, asked, used.version, chosen.clusters())
    said = [
        Observation(
            item=name,
            criterion=own.id,
            source=verdict.judge,
            value=verdict.score,
            failed=None if verdict.score is not None else f"failed: {verdict.status}",
            group=chosen.clusters().get(name),
        )
        for name, verdict in verdicts.items()
    ]
    judge = next((verdict.judge for verdict in verdicts.values()), "")
    scale = asked.scale or own.scale
    data = join(
        said,
        labels,
        judge=judge,
        criterion=asked.id,
        scale=scale,
        vote=lambda scores: scores[0],
        judged_by=own.id,
        left_out=stale,
    )
    if asked.pass_mark is not None:
        data = cut_at(data, asked.pass_mark, own.scale)
    if data.scale.type != "binary":
        raise UsageError(
            f"Criterion {asked.id!r} of {chosen.name} does not say whether a run passed.",
            hint="Name one with a binary scale with --criterion, or give it judged_by and pass_mark in set.yaml.",
        )
    rows = []
    for item, label, split, task in zip(data.items, data.labels, data.splits, data.groups, strict=True):
        verdict = verdicts[item]
        passed = verdict_passes(verdict, rules)
        rows.append(_Row(verdict, passed, label == 1, vote_confidence(verdict, rules), split, task))
    return rows, dict(data.left_out)


def _one_a_task(rows: Sequence[_Row], rng: np.random.Generator) -> list[_Row]:
    by_task: dict[str, list[_Row]] = {}
    for row in rows:
        by_task.setdefault(row.task, []).append(row)
    return [of_task[int(rng.integers(len(of_task)))] for of_task in by_task.values()]


def _pair(rows: Sequence[_Row]) -> tuple[list[float], list[float]]:
    return [row.confidence for row in rows], [float(row.agrees) for row in rows]


def _agreeing(rows: Sequence[_Row], rng: np.random.Generator) -> Statistic:
    if not rows:
        return undefined("every test run is sent on", n=0, clusters=0)
    return share([float(row.agrees) for row in rows], groups=[row.task for row in rows], rng=rng)


def _reason_rows(
    rows: Sequence[_Row], reasons: Sequence[tuple[EscalationReason, ...]], rng: np.random.Generator
) -> tuple[ReasonRow, ...]:
    out = []
    for name in dict.fromkeys(reason for why in reasons for reason in why):
        sent = [row for row, why in zip(rows, reasons, strict=True) if name in why]
        scored = [row for row in sent if row.verdict.score is not None]
        wrong = (
            share([float(not row.agrees) for row in scored], groups=[row.task for row in scored], rng=rng)
            if scored
            else undefined("none of them has a score", n=0, clusters=0)
        )
        out.append(ReasonRow(reason=name, n=len(sent), wrong=wrong))
    return tuple(sorted(out, key=lambda row: -row.n))


def _cascade(rows: Sequence[_Row], needed: float, rng: np.random.Generator) -> Cascade:
    """Over every run with a score: one without goes to the strong judge in any case."""
    scored = [row for row in rows if row.verdict.score is not None]
    return cheap_first(
        [float(row.passed) for row in scored],
        [float(row.people_passed) for row in scored],
        needed=needed,
        groups=[row.task for row in scored],
        rng=rng,
    )
