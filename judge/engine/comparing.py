"""Compare judges: run them on a set, or take recorded verdicts, and hand over to the statistics."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from judge.calibration.comparison import compare as compare_runs
from judge.calibration.dataset import Dataset, cut_both, join, refuse_mark, sources
from judge.calibration.fields import FieldMap
from judge.calibration.jury_errors import JuryErrors
from judge.calibration.observations import Observation, Scales, observe, read_rows
from judge.calibration.recorded_jury import Seated, seat
from judge.calibration.sets import load_set
from judge.calibration.shared_runs import SharedRuns, shared_runs
from judge.calibration.switch import switch
from judge.config import Settings
from judge.engine.budget import Budget
from judge.engine.calibrating import (
    judge_set,
    judge_spec,
    observe_labels,
    only_criterion,
    set_criterion,
    set_labels,
)
from judge.engine.certifying import SEED, beside_labels, voter
from judge.engine.facade import budget_of, rubric_of, settings_of
from judge.engine.jury_report import Heard, live_jury_report, recorded_jury_report
from judge.engine.probe_findings import ProbesKnown
from judge.errors import LabelError, TooFewLabels, UsageError
from judge.registry import unknown
from judge.types.calibration_set import CalibrationSet
from judge.types.comparison import Comparison, ProbeFindings, Switch, Work
from judge.types.jury import Jury
from judge.types.label import Split
from judge.types.probe import ProbeReport
from judge.types.rubric import Rubric
from judge.types.verdict import VoteRule


@dataclass(frozen=True)
class Origin:
    """Which judge stands behind a name in a comparison, as it was asked for."""

    judge: str
    rubric: Rubric
    fingerprints: Mapping[str, str]


@dataclass(frozen=True)
class Compared:
    """Judges side by side, with what a report shows beside the numbers.

    Attributes:
        reasons: Judge to run to the judge's reason. `scores`: to its own score before a cut. `agents`: run to agent.
        juries: How the members of each jury err together, by the jury's name.
        origins: Of live judges, by their names here.
        pass_mark: Lowest passing score of the judges' own scale, where scores were cut.
    """

    comparison: Comparison
    runs: SharedRuns
    reasons: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    agents: Mapping[str, str] = field(default_factory=dict)
    work: Mapping[str, Work] = field(default_factory=dict)
    juries: Mapping[str, JuryErrors] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)
    pass_mark: float | None = None

    def switch(self, old: str, new: str, *, margin: float, pass_mark: float | None = None) -> Switch:
        """Whether `new` may take the place of `old`; see `judge.calibration.switch.switch`."""
        return switch(
            self.runs,
            old=old,
            new=new,
            margin=margin,
            reasons=self.reasons,
            agents=self.agents,
            work=self.work,
            scores=self.scores,
            pass_mark=self.pass_mark if pass_mark is None else pass_mark,
            rng=np.random.default_rng(SEED),
        )


def compare(
    label_set: str | Path | CalibrationSet,
    judges: Sequence[str],
    *,
    rubrics: Sequence[str | Path | Rubric] = (),
    criterion: str | None = None,
    repeats: int | None = None,
    probes: Sequence[ProbeReport] = (),
    settings: Settings | None = None,
    **options: Any,
) -> Compared:
    """Runs judges, or one judge under several rubrics, on the test split of a set and compares them there.

    Args:
        label_set: A shipped set's name, a folder, or a set in memory.
        judges: Names, of juries too ("jury/NAME").
        options: Settings for this call, as for `judge.score`.

    Returns:
        `.comparison` is the result; `.switch(old, new, margin=0.05)` asks whether one may take another's place.

    Raises:
        LabelError, UsageError: The set is inconsistent, or a name is wrong.
        TooFewLabels: Fewer than two judges, or nothing to compare.
    """
    return compare_set(
        label_set,
        judges,
        settings=settings_of(settings, options),
        rubrics=rubrics,
        criterion=criterion,
        repeats=repeats,
        probes=probes,
    )


def compare_set(
    name: str | Path | CalibrationSet,
    judges: Sequence[str],
    *,
    settings: Settings,
    rubrics: Sequence[str | Path | Rubric] = (),
    criterion: str | None = None,
    repeats: int | None = None,
    split: Split = "test",
    probes: Sequence[ProbeReport] = (),
    progress: Callable[[int], None] | None = None,
    budget: Budget | None = None,
) -> Compared:
    """Runs every judge under every rubric on one split of a set (cached) and compares them there.

    Args:
        rubrics: None given means the one that the set's criterion names. With several, a judge under each of them
            counts as a judge, named "JUDGE, RUBRIC"; of two rubrics with one id, "JUDGE, RUBRIC VERSION". All are
            held against the labels that were made under the set's own rubric.
        probes: Reports of `judge probe`, shown beside the judge that each is of; certificates in the settings' folder
            count as well.
        budget: Of a larger piece of work that this is part of; None for one of its own, for all judges together.

    Raises:
        LabelError, UsageError: The set is inconsistent, or has no such criterion; a judge is named twice, or a rubric
            lacks the criterion that the labels are of. Nothing is judged then.
        TooFewLabels: Fewer than two judges, or nothing to compare.
        FingerprintMismatch: A probe report is of none of these judges.
    """
    known = ProbesKnown(probes, settings.certificates)
    probed: dict[str, ProbeFindings] = {}
    origins: dict[str, Origin] = {}
    chosen = only_split(name if isinstance(name, CalibrationSet) else load_set(name), split)
    asked = set_criterion(chosen, criterion)
    used = [rubric_of(rubric, settings) for rubric in rubrics or (asked.rubric,)]
    named = _rubric_names(used)
    _refuse(judges, used, asked.judged_by or asked.id)
    labels, stale = set_labels(
        chosen.labels, asked, asked.rubric_version or rubric_of(asked.rubric, settings).version, chosen.clusters()
    )
    if probes:  # before anything is spent
        for rubric in used:
            for judge in judges:
                spec = judge_spec(rubric, settings.model_copy(update={"judge": judge}))
                known.of(spec.fingerprint, rubric.fingerprint)
        known.refuse_strangers()
    datasets: list[Dataset] = []
    juries: dict[str, tuple[Jury, Dataset, Heard]] = {}
    reasons: dict[str, Mapping[str, str]] = {}
    work: dict[str, Work] = {}
    agents: dict[str, str] = {}
    budget = budget or budget_of(settings)
    for rubric, title in zip(used, named, strict=True):
        scale = asked.scale or rubric.criteria[0].scale
        own = next((c.scale for c in rubric.criteria if c.id == (asked.judged_by or asked.id)), scale)
        for judge in judges:
            own_settings = settings.model_copy(update={"judge": judge})
            judged = judge_set(chosen, asked, rubric, own_settings, repeats, progress, budget=budget)
            data = beside_labels(
                judged, labels, asked.id, scale,
                judged_by=asked.judged_by, mark=asked.pass_mark, own=own, split=split, left_out=stale,
            )  # fmt: skip
            shown = judged.spec.name if len(used) == 1 else f"{judged.spec.name}, {title}"
            datasets.append(replace(data, judge=shown))
            if judged.spec.jury is not None and judged.heard is not None:
                juries[shown] = (judged.spec.jury, datasets[-1], judged.heard)
            prints = {"judge": judged.spec.fingerprint, "rubric": rubric.fingerprint}
            origins[shown] = Origin(judge=judge, rubric=rubric, fingerprints=prints)
            findings = known.of(prints["judge"], prints["rubric"])
            if findings is not None:
                probed[shown] = findings
            reasons[shown] = judged.beside.reasons
            work[shown] = judged.work
            agents.update(judged.beside.agents)
    beside = {data.judge: data for data in datasets} if len(used) == 1 else {}
    return _compared(
        datasets,
        chosen.name,
        reasons=reasons,
        work=work,
        agents=agents,
        probes=probed,
        origins=origins,
        pass_mark=asked.pass_mark,
        juries={
            name: live_jury_report(
                jury, data, said, mark=asked.pass_mark, beside=beside, rng=np.random.default_rng(SEED)
            )
            for name, (jury, data, said) in juries.items()
        },
    )


def only_split(chosen: CalibrationSet, split: Split) -> CalibrationSet:
    """The set with the labels of one split and the runs that they are on: no other run is judged.

    Raises:
        TooFewLabels: The split has no label.
    """
    labels = tuple(label for label in chosen.labels if label.split == split)
    if not labels:
        raise TooFewLabels(f"Set {chosen.name!r} has no label of the {split} split.")
    on = {label.trajectory_id for label in labels}
    runs = tuple(run for run in chosen.trajectories if run.id in on)
    return chosen.model_copy(update={"labels": labels, "trajectories": runs})


def _refuse(judges: Sequence[str], rubrics: Sequence[Rubric], criterion: str) -> None:
    """Raises, before anything is spent, where these cannot be compared on a criterion of the rubrics."""
    if len(judges) * len(rubrics) < 2:
        raise TooFewLabels(
            f"{len(judges)} judge: two are needed for a comparison.",
            hint="Name a second one with --judge, or a second --rubric to compare rubrics.",
        )
    twice = next((name for name in judges if list(judges).count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice!r} is named twice.", hint="Two copies of one judge are one judge.")
    for rubric in rubrics:
        ids = [each.id for each in rubric.criteria]
        if criterion not in ids:
            raise UsageError(
                f"Rubric {rubric.id!r} has no criterion {criterion!r}, which the labels are held against; it has "
                f"{', '.join(ids)}.",
                hint="Compare rubrics that share the criterion, or choose another with --criterion.",
            )


def _rubric_names(rubrics: Sequence[Rubric]) -> list[str]:
    """What each rubric is called in a comparison: its id, with its version where two share the id."""
    ids = [rubric.id for rubric in rubrics]
    names = [rubric.id if ids.count(rubric.id) == 1 else f"{rubric.id} {rubric.version}" for rubric in rubrics]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"Two rubrics are {twice!r}.", hint="Give the changed one a version of its own.")
    return names


def compare_files(
    verdicts: Sequence[tuple[Path, FieldMap]],
    labels: Path,
    *,
    label_fields: FieldMap,
    scale: Scales,
    judges: Sequence[str] = (),
    juries: Sequence[Jury] = (),
    criterion: str | None = None,
    pass_mark: float | None = None,
    vote: VoteRule = "auto",
    work: Mapping[str, Work] | None = None,
    dev_share: float | None = None,
) -> Compared:
    """Compares recorded judges, and juries of them.

    Args:
        verdicts: Files with the fields of each; a file may hold many judges.
        judges: Which to compare; () for all.
        juries: Votes of recorded judges, compared as judges. Rules that need labels learn from the dev split alone.
        pass_mark: Lowest value of labels and verdicts that counts as passed, on an ordinal scale.
        dev_share: Share of tasks in (0, 1) that is set aside as dev, where the labels know no split. Which tasks
            follows from their names alone.

    Raises:
        LabelError: A file does not read, holds duplicates, or values outside the scale.
        UnknownName: A judge, or one that a price is given for, is not in the files, or the labels lack the criterion.
        UsageError: The mark is outside the scale.
    """
    refuse_mark(pass_mark, scale)
    said: list[Observation] = []
    left_out: dict[str, int] = {}
    for path, fields in verdicts:
        reading = observe(read_rows(path, fields.records), fields, scale, what=str(path))
        said.extend(reading.observations)
        for why, n in reading.left_out.items():
            left_out[f"{why} (verdicts)"] = left_out.get(f"{why} (verdicts)", 0) + n
    given = observe_labels(labels, label_fields, scale, criterion)
    left_out |= {f"{why} (labels)": n for why, n in given.left_out.items()}
    if not said or not given.observations:
        empty = ", ".join(str(path) for path, _ in verdicts) if not said else str(labels)
        raise LabelError(f"{empty} has no rows to compare.", hint="Check the maps of the columns.")
    only = only_criterion(label_fields, given.observations, labels) if criterion is None else criterion
    known = sources(said)
    for name in (*judges, *(work or {})):
        if name not in known:
            raise unknown("judge in the files", name, known)
    chosen = list(judges) or (list(known) if not juries else [])
    members = [member for jury in juries for member in jury.members]
    labelled = given.observations if dev_share is None else _split(given.observations, dev_share)
    splits = {label.split for label in labelled}
    test = "test" if "test" in splits else None

    def joined(name: str, split: str | None) -> Dataset:
        return join(
            said,
            labelled,
            judge=name,
            criterion=only,
            scale=scale,
            vote=voter(vote, scale),
            judged_by=None if verdicts[0][1].criterion_path else verdicts[0][1].criterion,
            split=split,
            left_out=left_out,
        )

    everyone = list(dict.fromkeys([*chosen, *members, *(name for jury in juries for name in jury.reserves)]))
    for name in everyone:
        if name not in known:
            raise unknown("judge in the files", name, known)
    data = {name: joined(name, test) for name in everyone}
    dev = {name: joined(name, "dev") for name in everyone} if test and "dev" in splits and juries else {}
    seated = [seat(jury, data, dev, mark=pass_mark) for jury in juries]
    alone = data if pass_mark is None else {name: cut_both(each, pass_mark) for name, each in data.items()}
    reasons: dict[str, dict[str, str]] = {name: {} for name in everyone}
    for observation in said:
        if observation.reason and observation.source in reasons:
            reasons[observation.source].setdefault(observation.item, observation.reason)
    agents = {o.item: o.slices["agent"] for o in (*given.observations, *said) if o.slices.get("agent")}
    return _compared(
        [*(alone[name] for name in everyone), *(jury.data for jury in seated)],
        labels.name,
        reasons=reasons,
        work={**(work or {}), **{jury.data.judge: _jury_work(jury, work or {}) for jury in seated}},
        agents=agents,
        pass_mark=pass_mark,
        juries={
            jury.name: recorded_jury_report(jury, own, data, dev, mark=pass_mark, rng=np.random.default_rng(SEED))
            for jury, own in zip(juries, seated, strict=True)
        },
    )


def _split(labels: Sequence[Observation], share: float) -> tuple[Observation, ...]:
    if not 0 < share < 1:
        raise UsageError(f"The share of dev tasks is {share!r}; a number between 0 and 1 is needed.")
    if any(label.split is not None for label in labels):
        raise UsageError("The labels name their split already.", hint="Leave out --dev-share.")

    def dev(label: Observation) -> bool:
        digest = hashlib.sha256((label.group or label.item).encode()).digest()
        return int.from_bytes(digest[:8], "big") < share * 2**64

    return tuple(replace(label, split="dev" if dev(label) else "test") for label in labels)


def _jury_work(jury: Seated, work: Mapping[str, Work]) -> Work:
    """What a jury's verdict costs: its members' prices by how often each was called; unknown when one is."""
    usd = 0.0
    for name, share in jury.calls.items():
        own = work.get(name, Work()).usd
        if own is None:
            return Work()
        usd += own * share
    return Work(usd=usd)


def _compared(
    datasets: Sequence[Dataset],
    label_set: str,
    *,
    reasons: Mapping[str, Mapping[str, str]],
    work: Mapping[str, Work],
    agents: Mapping[str, str],
    juries: Mapping[str, JuryErrors] | None = None,
    probes: Mapping[str, ProbeFindings] | None = None,
    origins: Mapping[str, Origin] | None = None,
    pass_mark: float | None = None,
) -> Compared:
    runs = shared_runs(datasets)
    scores = {
        data.judge: {item: s for item, s in zip(data.items, data.scores, strict=True) if s is not None}
        for data in datasets
        if data.scores
    }
    rng = np.random.default_rng(SEED)
    return Compared(
        comparison=compare_runs(runs, label_set=label_set, work=work, probes=probes, rng=rng),
        runs=runs,
        reasons=reasons,
        scores=scores,
        agents=agents,
        work=work,
        juries=juries or {},
        origins=origins or {},
        pass_mark=pass_mark,
    )
