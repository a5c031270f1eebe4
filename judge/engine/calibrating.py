"""Calibrate a judge: run it on a set, or take recorded verdicts, and hand over to `certifying`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from judge.calibration.dataset import Dataset, join, refuse_mark, sources
from judge.calibration.examine import Beside
from judge.calibration.fields import FieldMap
from judge.calibration.observations import Observation, Reading, Scales, criterion_of, observe, read_rows
from judge.calibration.sets import load_set
from judge.config import Settings
from judge.engine.bench import make_bench
from judge.engine.budget import Budget
from judge.engine.certifying import SEED, Calibration, Judged, Terms, finish, panel_of, voter
from judge.engine.facade import budget_of, open_judge, rubric_of, score_many, settings_of
from judge.engine.jury_report import heard
from judge.engine.jury_votes import draw_jury
from judge.engine.loop import PRIVATE
from judge.engine.recorded_jury import cut_labels, seat_recorded
from judge.errors import LabelError, UsageError
from judge.metrics import measure
from judge.prompt import view
from judge.registry import unknown
from judge.types.calibration_set import CalibrationSet, Population, SetCriterion
from judge.types.comparison import Work
from judge.types.jury import Jury
from judge.types.label import Label
from judge.types.rubric import BinaryScale, Rubric, ViewSettings
from judge.types.trajectory import Trajectory
from judge.types.verdict import JudgeSpec, Verdict, VoteRule


def calibrate(
    label_set: str | Path | CalibrationSet,
    *,
    judge: str | None = None,
    rubric: str | Path | Rubric | None = None,
    criterion: str | None = None,
    repeats: int | None = None,
    save: str | Path | None = None,
    settings: Settings | None = None,
    **options: Any,
) -> Calibration:
    """Runs a judge on a calibration set and certifies, refuses or leaves it undecided.

    Args:
        label_set: A shipped set's name, a folder, or a set in memory.
        judge: The judge's name; None for the configured one.
        repeats: Samples a run, to see the wobble.
        save: Folder that the certificate is written to; None keeps it in memory.
        options: Settings for this call, as for `judge.score`.

    Raises:
        LabelError: The set is inconsistent. TooFewLabels: nothing to compare.
    """
    chosen = settings_of(settings, {"judge": judge, **options})
    return calibrate_set(
        label_set,
        settings=chosen,
        now=datetime.now(UTC),
        rubric=rubric,
        criterion=criterion,
        repeats=repeats,
        terms=lambda terms: replace(terms, save=Path(save) if save is not None else None),
    )


def calibrate_set(
    name: str | Path | CalibrationSet,
    *,
    settings: Settings,
    now: datetime,
    rubric: str | Path | Rubric | None = None,
    criterion: str | None = None,
    repeats: int | None = None,
    terms: Callable[[Terms], Terms] = lambda terms: terms,
    progress: Callable[[int], None] | None = None,
    budget: Budget | None = None,
) -> Calibration:
    """Runs the judge of `settings` on a set (cached) and calibrates it on the set's test split.

    Args:
        rubric: None for the one that the set's criterion names.
        criterion: One of the set's; None for the first that decides between passed and failed.
        repeats: Samples a run, for wobble; the verdict still takes the votes that `settings` asks for. Of a jury,
            votes of one sample a member.
        terms: Changes what the set itself demands, e.g. the profile.
        budget: Of a larger piece of work that this is part of; None for one of its own.

    Raises:
        LabelError, UsageError: The set is inconsistent, or has no such criterion.
        TooFewLabels: Nothing to compare.
    """
    chosen = name if isinstance(name, CalibrationSet) else load_set(name)
    asked = set_criterion(chosen, criterion)
    used = rubric_of(rubric if rubric is not None else asked.rubric, settings)
    judged = judge_set(chosen, asked, used, settings, repeats, progress, budget=budget)
    fixed = chosen.settings
    held = terms(
        Terms(
            label_set=chosen.name,
            design=fixed.sampling_design,
            profile=fixed.profile,
            claims=fixed.claims,
            kinds=fixed.label_kinds_allowed,
            population=_population(chosen),
        )
    )
    labels, stale = set_labels(chosen.labels, asked, used.version, chosen.clusters())
    scale = asked.scale or used.criteria[0].scale
    own = next((c.scale for c in used.criteria if c.id == (asked.judged_by or asked.id)), scale)
    judged = replace(judged, left_out={**judged.left_out, **stale})
    return finish(judged, labels, asked.id, scale, held, now, judged_by=asked.judged_by, mark=asked.pass_mark, own=own)


def calibrate_files(
    verdicts: Path,
    labels: Path,
    *,
    verdict_fields: FieldMap,
    label_fields: FieldMap,
    scale: Scales,
    terms: Terms,
    now: datetime,
    judge_name: str | None = None,
    jury: Jury | None = None,
    criterion: str | None = None,
    pass_mark: float | None = None,
    vote: VoteRule = "auto",
) -> Calibration:
    """Calibrates a judge from recorded verdicts and labels of any form.

    Args:
        scale: Of both files' values.
        judge_name: Which judge of the file; may be left out when there is one.
        jury: Judges of the file that are calibrated as one, in place of `judge_name`. They vote on scores, and the vote
            is cut at the pass mark, as a live jury's is.
        pass_mark: Lowest value that counts as passed, on an ordinal scale.

    Raises:
        LabelError: A file does not read, holds duplicates, or values outside the scale.
        UsageError: The file holds several judges and none was named, or the mark is outside the scale.
    """
    refuse_mark(pass_mark, scale)
    said = observe(read_rows(verdicts, verdict_fields.records), verdict_fields, scale, what=str(verdicts))
    given = observe_labels(labels, label_fields, scale, criterion)
    if not said.observations:
        raise LabelError(f"{verdicts} has no verdict: {_why(said.left_out)}.", hint="Check the map of its columns.")
    if not given.observations:
        raise LabelError(f"{labels} has no label: {_why(given.left_out)}.", hint="Check the map of its columns.")
    only = only_criterion(label_fields, given.observations, labels) if criterion is None else criterion
    judged_by = None if verdict_fields.criterion_path else verdict_fields.criterion
    left_out = {**_named(said.left_out, "verdicts"), **_named(given.left_out, "labels")}
    if jury is not None:
        return _calibrate_jury(
            jury, said.observations, given.observations, only, scale, terms, now,
            judged_by=judged_by, pass_mark=pass_mark, vote=vote, left_out=left_out,
        )  # fmt: skip
    known = sources(said.observations)
    if judge_name is None and len(known) > 1:
        raise UsageError(
            f"{verdicts} holds {len(known)} judges: {', '.join(known)}.", hint="Name one with --judge, or compare them."
        )
    name = judge_name or known[0]
    if name not in known:
        raise unknown("judge in the file", name, known)
    judged = Judged(
        spec=JudgeSpec(name=name, provider="recorded", model=name, vote=vote),
        rubric=only,
        rubric_version="",
        rubric_fingerprint="",
        vote=vote,
        observations=said.observations,
        left_out=left_out,
        beside=Beside(reasons={o.item: o.reason for o in said.observations if o.source == name and o.reason}),
    )
    return finish(
        judged,
        given.observations,
        only,
        scale,
        terms,
        now,
        judged_by=judged_by,
        cut=pass_mark,
    )


def _calibrate_jury(
    jury: Jury,
    said: Sequence[Observation],
    labels: Sequence[Observation],
    criterion: str,
    scale: Scales,
    terms: Terms,
    now: datetime,
    *,
    judged_by: str | None,
    pass_mark: float | None,
    vote: VoteRule,
    left_out: Mapping[str, int],
) -> Calibration:
    def joined(name: str, split: str | None) -> Dataset:
        return join(
            said, labels,
            judge=name, criterion=criterion, scale=scale, vote=voter(vote, scale), judged_by=judged_by, split=split,
        )  # fmt: skip

    seated = seat_recorded(jury, said, labels, joined, vote=vote, mark=pass_mark, rng=np.random.default_rng(SEED))
    judged = Judged(
        spec=seated.spec,
        rubric=criterion,
        rubric_version="",
        rubric_fingerprint="",
        vote=vote,
        observations=seated.observations,
        left_out=left_out,
    )
    held = seated.labels if pass_mark is None else cut_labels(seated.labels, pass_mark)
    found = finish(judged, held, criterion, scale if pass_mark is None else BinaryScale(), terms, now)
    return found.model_copy(update={"jury": seated.report})


def observe_labels(path: Path, fields: FieldMap, scale: Scales, criterion: str | None) -> Reading:
    """The labels of a file, of one criterion where one is named: those of others may stand on other scales.

    Raises:
        LabelError: The file does not read, or holds duplicates or values outside the scale.
        UnknownName: No row is of that criterion.
    """
    rows = list(read_rows(path, fields.records))
    if criterion is not None and rows:
        named = tuple(dict.fromkeys(criterion_of(row, fields) for row in rows))
        if criterion not in named:
            raise unknown("criterion of the labels", criterion, named)
    return observe(rows, fields, scale, what=str(path), only=criterion)


def only_criterion(fields: FieldMap, labels: Sequence[Observation], path: Path) -> str:
    """The criterion of a file of labels that holds one.

    Raises:
        UsageError: It holds several.
    """
    if fields.criterion_path is None:
        return fields.criterion
    found = tuple(dict.fromkeys(label.criterion for label in labels))
    if len(found) > 1:
        raise UsageError(f"{path} holds {len(found)} criteria: {', '.join(found)}.", hint="Name one with --criterion.")
    return found[0]


def set_criterion(chosen: CalibrationSet, name: str | None) -> SetCriterion:
    """The criterion named, or the set's first that decides between passed and failed."""
    criteria = chosen.settings.criteria
    if name is None:
        deciding = [c for c in criteria if c.pass_mark is not None or isinstance(c.scale, BinaryScale)]
        return deciding[0] if deciding else criteria[0]
    found = chosen.settings.criterion(name)
    if found is None:
        raise unknown("criterion of this set", name, [c.id for c in criteria])
    return found


def judge_set(
    chosen: CalibrationSet,
    asked: SetCriterion,
    used: Rubric,
    settings: Settings,
    repeats: int | None,
    progress: Callable[[int], None] | None,
    *,
    budget: Budget | None = None,
) -> Judged:
    """What the judge of `settings` says of every labelled run of a set, cached.

    Args:
        budget: Of a larger piece of work that this is part of; None for one of its own.
    """
    labelled = {label.trajectory_id for label in chosen.labels if label.criterion == asked.id}
    runs = [run for run in chosen.trajectories if run.id in labelled]
    spec = judge_spec(used, settings)
    budget = budget or budget_of(settings)
    votes = settings.samples if spec.jury is not None else max(repeats or 0, settings.samples or 0) or None
    verdicts: list[Verdict] = []
    for verdict in score_many(runs, used, settings=settings.model_copy(update={"samples": votes}), budget=budget):
        verdicts.append(verdict)
        if progress is not None:
            progress(len(verdicts))
    wanted = asked.judged_by or asked.id
    clusters = chosen.clusters()
    drawn = None
    if spec.jury is not None and repeats is not None:
        criterion = next(c for c in used.criteria if c.id == wanted)
        drawn = draw_jury(spec.jury, runs, used, criterion, repeats, settings=settings, budget=budget).values
    return Judged(
        spec=spec,
        rubric=used.id,
        rubric_version=used.version,
        rubric_fingerprint=used.fingerprint,
        vote=settings.vote,
        observations=tuple(
            observation for verdict in verdicts for observation in _observed(verdict, wanted, spec, clusters)
        ),
        served=tuple(sorted({m for v in verdicts for c in v.criteria for t in c.votes if (m := t.served_model)})),
        beside=_beside(chosen, runs, verdicts, asked),
        panel=panel_of(used, settings.samples, settings.stop) if spec.jury is None else None,
        work=_work(verdicts),
        heard=heard(verdicts, wanted) if spec.jury is not None else None,
        drawn=drawn,
    )


def _work(verdicts: Sequence[Verdict]) -> Work:
    """What a verdict takes; time and price of those alone that were asked for, and that no kept reply made cheaper."""
    live = [verdict for verdict in verdicts if verdict.calls and verdict.cached == 0]
    usd = [verdict.cost_usd for verdict in live if verdict.cost_usd is not None]
    seconds = [verdict.seconds for verdict in live if verdict.seconds is not None]
    tokens = []
    for verdict in verdicts:
        usages = [vote.usage for vote in verdict.criteria[0].votes] if verdict.criteria else []
        if usages and all(usage is not None for usage in usages):
            spent = [n for usage in usages if usage for n in (usage.input_tokens, usage.output_tokens)]
            if all(n is not None for n in spent):
                tokens.append(sum(n for n in spent if n is not None))
    return Work(
        seconds=sum(seconds) / len(seconds) if seconds else None,
        tokens=sum(tokens) / len(tokens) if tokens else None,
        usd=sum(usd) / len(usd) if usd and len(usd) == len(live) else None,
    )


def judge_spec(used: Rubric, settings: Settings) -> JudgeSpec:
    """The spec of the judge of `settings`, whose fingerprint certificates and probes are bound to. No call is made."""
    return PRIVATE.run(_spec(used, settings))


async def _spec(used: Rubric, settings: Settings) -> JudgeSpec:
    policy = "" if not used.policy else "policy"
    async with open_judge(None, settings) as opened:
        return make_bench(opened, used, settings, policy=policy).setup.spec


def _observed(verdict: Verdict, criterion: str, spec: JudgeSpec, clusters: Mapping[str, str]) -> list[Observation]:
    """One observation a sample: the votes that the verdict takes, then further ones that only wobble reads.

    The votes of a jury are its members', so the jury gives one observation: its verdict.
    """
    result = next((r for r in verdict.criteria if r.id == criterion), None)
    if result is None:
        return []
    name, group = spec.name, clusters.get(verdict.trajectory_id)
    if spec.jury is not None:
        settled = result.status in ("ok", "not_applicable")
        failed = None if settled else "tie" if result.tie else f"failed: {result.status}"
        return [
            Observation(
                item=verdict.trajectory_id,
                criterion=criterion,
                source=name,
                value=result.score,
                failed=failed,
                group=group,
            )
        ]
    return [
        Observation(
            item=verdict.trajectory_id,
            criterion=criterion,
            source=name,
            value=vote.score if vote.status == "ok" else None,
            failed=None if vote.status in ("ok", "not_applicable") else f"failed: {vote.status}",
            sample=k,
            group=group,
        )
        for k, vote in enumerate(result.votes)
    ]


def set_labels(
    labels: Sequence[Label], asked: SetCriterion, version: str, clusters: Mapping[str, str]
) -> tuple[list[Observation], dict[str, int]]:
    """The set's labels as observations; those made under another version of the rubric are counted, not used."""
    kept: list[Observation] = []
    stale = 0
    for label in labels:
        if label.criterion != asked.id:
            continue
        if label.rubric_version is not None and label.rubric_version != version:
            stale += 1
            continue
        kept.append(
            Observation(
                item=label.trajectory_id,
                criterion=label.criterion,
                source=label.rater,
                value=float(label.value) if label.value is not None else None,
                group=clusters.get(label.trajectory_id),
                split=label.split,
                rater_kind=label.rater_kind,
                rubric_version=label.rubric_version,
                probability=label.inclusion_probability,
            )
        )
    return kept, {f"label made under another version of the rubric than {version!r}": stale} if stale else {}


def _beside(
    chosen: CalibrationSet, runs: Sequence[Trajectory], verdicts: Sequence[Verdict], asked: SetCriterion
) -> Beside:
    metrics: dict[str, dict[str, float | None]] = {}
    for run in runs:
        for name, result in measure(run).items():
            value = result.value
            number = float(value) if isinstance(value, bool | int | float) else None
            metrics.setdefault(name, {})[run.id] = number
    costs = [usd for verdict in verdicts if (usd := _usd_per_vote(verdict)) is not None]
    return Beside(
        metrics=metrics,
        agents={run.id: run.agents[0].name for run in runs if run.agents},
        reasons={verdict.trajectory_id: verdict.reason for verdict in verdicts},
        notes={label.trajectory_id: label.note for label in chosen.labels if label.criterion == asked.id},
        views={run.id: view(run, ViewSettings(result_chars=600)).text for run in runs},
        usd_per_vote=sum(costs) / len(costs) if costs else None,
    )


def _usd_per_vote(verdict: Verdict) -> float | None:
    """Price of one vote that was drawn now; None where none was, or the price is not known."""
    drawn = max((len(result.votes) for result in verdict.criteria), default=0) - verdict.cached
    return None if verdict.cost_usd is None or not verdict.calls or drawn < 1 else verdict.cost_usd / drawn


def _population(chosen: CalibrationSet) -> Population:
    """What the set says of its runs; where it is silent, what its runs show."""
    stated = chosen.settings.population
    lengths = [len(run.steps) for run in chosen.trajectories]
    agents = sorted({agent.name for run in chosen.trajectories for agent in run.agents})
    return stated.model_copy(
        update={
            "agents": stated.agents or tuple(agents),
            "min_steps": stated.min_steps if stated.min_steps is not None else min(lengths),
            "max_steps": stated.max_steps if stated.max_steps is not None else max(lengths),
        }
    )


def _why(left_out: Mapping[str, int]) -> str:
    return ", ".join(f"{n} × {reason}" for reason, n in left_out.items()) or "the file has no rows"


def _named(left_out: Mapping[str, int], what: str) -> dict[str, int]:
    return {f"{reason} ({what})": n for reason, n in left_out.items()}
