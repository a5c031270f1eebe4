"""Runs a judge over runs with known changes and pairs each verdict with that of its parent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from judge.calibration.probes.attacks import attack_all, weak_run
from judge.calibration.probes.biases import bias_pairs
from judge.calibration.probes.faults import plant_all
from judge.calibration.probes.findings import bias_row
from judge.calibration.probes.language import Translation, translated_pairs
from judge.calibration.probes.null_answers import null_runs
from judge.calibration.probes.pairing import PASS_SHARE, has_passed, pair, paired, share_of_scale
from judge.calibration.probes.report import (
    attack_tables,
    bias_tables,
    decide,
    fault_tables,
    null_tables,
    specificity,
)
from judge.calibration.probes.scale_use import (
    LENGTH_BAND,
    MIDDLE_BAND,
    USE_BAND,
    length_given_quality,
    pull_to_middle,
    use_of_scale,
)
from judge.config import Settings
from judge.engine.budget import Budget
from judge.engine.connection import JudgeLike
from judge.engine.facade import budget_of, rubric_of, score_many
from judge.engine.run import References, reference_of
from judge.errors import UsageError
from judge.prompt import view
from judge.types.calibration_set import CalibrationSet, Profile, RequiredClaim, cluster
from judge.types.probe import BiasRow, Mutant, Mutation, Probed, ProbeKind, ProbeReport
from judge.types.reference import Reference
from judge.types.rubric import BinaryScale, Rubric, normalise
from judge.types.trajectory import Trajectory
from judge.types.verdict import Verdict

KINDS: tuple[ProbeKind, ...] = ("fault", "attack", "null", "bias")


@dataclass(frozen=True)
class ProbeRuns:
    """What is probed.

    Attributes:
        passed: By run id, whether people (or the construction) pass it; runs that are not named count as good.
        quality: By run id, the label in [0, 1]; only of runs that have one on the rubric's own scale.
        pass_mark: Share of the scale from which a run counts as passed.
        required: What the set demands of a judge.
        source: Where the runs came from, in words.
    """

    runs: Sequence[Trajectory]
    source: str
    passed: Mapping[str, bool] = field(default_factory=dict)
    quality: Mapping[str, float] = field(default_factory=dict)
    pass_mark: float = PASS_SHARE
    required: Sequence[RequiredClaim] = ()


def runs_of_sets(sets: Sequence[CalibrationSet], rubric: Rubric) -> ProbeRuns:
    """The runs of sets with what their labels say for this rubric; a set without such labels gives runs alone."""
    passed: dict[str, bool] = {}
    quality: dict[str, float] = {}
    marks: set[float] = set()
    own = {criterion.id: criterion.scale for criterion in rubric.criteria}
    for one in sets:
        for asked in one.settings.criteria:
            if asked.rubric != rubric.id:
                continue
            for label in one.labels:
                if label.criterion != asked.id or not isinstance(label.value, int | float):
                    continue
                if isinstance(asked.scale, BinaryScale):
                    passed[label.trajectory_id] = label.value == 1
                if asked.judged_by is None and asked.id in own:
                    quality[label.trajectory_id] = normalise(float(label.value), own[asked.id])
            if asked.judged_by in own and asked.pass_mark is not None and asked.judged_by is not None:
                marks.add(normalise(asked.pass_mark, own[asked.judged_by]))
    mark = marks.pop() if len(marks) == 1 else PASS_SHARE
    if not passed:
        passed = {run: value >= mark for run, value in quality.items()}
    return ProbeRuns(
        runs=[run for one in sets for run in one.trajectories],
        source=", ".join(one.name for one in sets),
        passed=passed,
        quality=quality,
        pass_mark=mark,
        required=sets[0].settings.claims if len(sets) == 1 else (),
    )


def runs_of_traces(runs: Sequence[Trajectory], source: str) -> ProbeRuns:
    """Runs without a set. One whose trace holds a reward below 1 is no good run, and one to attack."""
    what = ProbeRuns(runs, source)
    what = replace(what, runs=_distinct(what))
    rewards = {run.id: run.labels.get("reward") for run in what.runs}
    failed = {
        run: False
        for run, reward in rewards.items()
        if isinstance(reward, int | float) and not isinstance(reward, bool) and reward < 1
    }
    return replace(what, passed=failed)


@dataclass(frozen=True)
class Planting:
    """Everything that one probing judges, before any call is made.

    Attributes:
        good: Runs that faults, constant answers and bias pairs are made from.
        weak: Runs without the highest score, which attacks are tried on.
        sides: Comparison runs of bias pairs.
        labelled: Further runs whose labels the biases without pairs need.
        no_place: By type of fault, good runs without a place for it.
    """

    what: ProbeRuns
    rubric: Rubric
    judge: str
    kinds: tuple[ProbeKind, ...]
    seed: int
    good: Sequence[Trajectory]
    weak: Sequence[Trajectory]
    mutants: Sequence[Mutant]
    sides: Sequence[Trajectory]
    labelled: Sequence[Trajectory]
    no_place: Mapping[str, int] = field(default_factory=dict)

    def runs(self) -> list[Trajectory]:
        """Every run to judge, each once, parents first."""
        parents = [*self.good] if {"fault", "bias"} & set(self.kinds) else []
        all_runs = (*parents, *self.weak, *self.labelled, *self.sides, *(one.trajectory for one in self.mutants))
        return list({run.id: run for run in all_runs}.values())

    def references(self, reference: References) -> References:
        """The references with those of the parents under the ids of their mutants."""
        return _with_mutants(reference, self.mutants, [*self.what.runs, *self.weak])


def planting(
    what: ProbeRuns,
    rubric: str | Path | Rubric | None = None,
    *,
    settings: Settings,
    judge: JudgeLike | None = None,
    kinds: Sequence[ProbeKind] = KINDS,
    limit: int | None = None,
    seed: int = 0,
    translations: Sequence[Translation] = (),
) -> Planting:
    """The runs with known changes that a probing will judge; nothing is sent.

    Args:
        limit: Most runs of each kind; they are spread over the tasks.
        translations: Of what runs say, for a further bias probe.

    A run that is given twice counts once; another one with the same id gets a number behind it.

    Raises:
        UsageError: No run passes and has a tool call, so that nothing can be probed; or a translation is of no such
            run, or was given without asking for biases; or two runs have one id, and labels go by ids; or runs are
            the changed ones of an earlier probing.
    """
    what = replace(what, runs=_distinct(what))
    if translations and "bias" not in kinds:
        raise UsageError("Translations are for the probe of biases, which was not asked for.")
    used = rubric_of(rubric, settings)
    name = judge if isinstance(judge, str) else judge.name if judge is not None else settings.default_judge
    good = spread([run for run in what.runs if what.passed.get(run.id, True) and _has_call(run)], limit)
    if not good:
        raise UsageError(
            f"None of the {len(what.runs)} runs of {what.source} passes and has a tool call.",
            hint="Give good runs with tool calls; faults are implanted in those.",
        )
    top = top_score(used)
    mutants: list[Mutant] = []
    weak: list[Trajectory] = []
    sides: list[Mutant] = []
    no_place: Mapping[str, int] = {}
    if "fault" in kinds:
        made, no_place = plant_all(good, seed=seed)
        mutants += made
    if "attack" in kinds:
        weak = spread([run for run in what.runs if what.passed.get(run.id) is False and _has_call(run)], limit)
        weak = weak or [run for run in (weak_run(one, seed=seed) for one in good) if run is not None]
        mutants += attack_all(weak, top=top, seed=seed)
    if "null" in kinds:
        mutants += null_runs(good, top=top, seed=seed)
    if "bias" in kinds:
        others, sides = bias_pairs(good, judge=name, seed=seed)
        mutants += others
        if translations:
            mutants += translated_pairs(good, translations, seed=seed)
    return Planting(
        what=what,
        rubric=used,
        judge=name,
        kinds=tuple(kinds),
        seed=seed,
        good=good,
        weak=weak,
        mutants=mutants,
        sides=[side.trajectory for side in sides],
        labelled=[run for run in what.runs if run.id in what.quality] if "bias" in kinds and limit is None else [],
        no_place=no_place,
    )


def probe(
    planted: Planting,
    *,
    settings: Settings,
    judge: JudgeLike | None = None,
    profile: Profile = "default",
    reference: References = None,
    policy: str | None = None,
    progress: Callable[[int], None] | None = None,
    budget: Budget | None = None,
) -> ProbeReport:
    """What a judge sees and does not see, found out with runs whose faults are known.

    Args:
        reference: For a mutated run, that of its parent or its task.
        budget: Of a larger piece of work that this is part of; None for one of its own.

    Raises:
        TerminalError, BudgetReached: The judge takes no further call.
    """
    used, kinds, what = planted.rubric, planted.kinds, planted.what
    asked = _Asked(settings, judge, planted.references(reference), policy, progress, budget or budget_of(settings))
    verdicts = asked.judge(planted.runs(), used)
    probed = pair(planted.mutants, verdicts, pass_mark=what.pass_mark)
    rng = np.random.default_rng(planted.seed)
    report = ProbeReport(
        judge=planted.judge,
        rubric=used.id,
        criterion=used.criteria[0].id if len(used.criteria) == 1 else "all",
        source=what.source,
        kinds=kinds,
        seed=planted.seed,
        parents=len(planted.good),
        attacked=len(planted.weak),
        pass_mark=what.pass_mark,
        no_place=dict(planted.no_place),
        fingerprints=_bound(verdicts.values()),
    )
    if "fault" in kinds:
        report = fault_tables(report, probed, rng)
        clusters = {run.id: cluster(run) for run in planted.good}
        flags = {run.id: has_passed(verdicts.get(run.id), what.pass_mark) for run in planted.good}
        report = report.model_copy(update={"specificity": specificity(flags, clusters, rng)})
    if "attack" in kinds:
        report = attack_tables(report, probed, rng)
    if "null" in kinds:
        report = null_tables(report, probed, rng)
    if "bias" in kinds:
        probed = (*probed, *_criteria_order(asked, used, planted.good, verdicts, what.pass_mark))
        report = bias_tables(report, probed, rng, _unpaired(what, used, planted.labelled, verdicts, rng))
    return decide(report.model_copy(update={"probed": probed}), profile=profile, required=what.required)


def top_score(rubric: Rubric) -> str:
    """The highest score of the rubric's first criterion, as a judge would write it."""
    scale = rubric.criteria[0].scale
    return '"pass"' if isinstance(scale, BinaryScale) else f"{scale.high:g}"


def spread(runs: Sequence[Trajectory], limit: int | None) -> list[Trajectory]:
    """At most `limit` runs, in turns from each task, in their order."""
    if limit is None or len(runs) <= limit:
        return list(runs)
    rounds: dict[str, int] = {}
    turn = []
    for place, run in enumerate(runs):
        key = cluster(run)
        rounds[key] = rounds.get(key, 0) + 1
        turn.append((rounds[key], place))
    chosen = {place for _, place in sorted(turn)[:limit]}
    return [run for place, run in enumerate(runs) if place in chosen]


@dataclass(frozen=True)
class _Asked:
    """How the judge is asked."""

    settings: Settings
    connection: JudgeLike | None
    reference: References
    policy: str | None
    progress: Callable[[int], None] | None
    budget: Budget

    def judge(self, runs: Sequence[Trajectory], rubric: Rubric) -> dict[str, Verdict]:
        found: dict[str, Verdict] = {}
        for verdict in score_many(
            runs,
            rubric,
            judge=self.connection,
            settings=self.settings,
            reference=self.reference,
            policy=self.policy,
            budget=self.budget,
        ):
            found[verdict.trajectory_id] = verdict
            if self.progress is not None:
                self.progress(len(found))
        return found


def _distinct(what: ProbeRuns) -> list[Trajectory]:
    """The runs, each with an id of its own: verdicts are paired by it."""
    changed = [run.id for run in what.runs if "mutation" in run.meta]
    if changed:
        raise UsageError(
            f"{len(changed)} of the runs of {what.source} are changed ones of an earlier probing, e.g. {changed[0]!r}.",
            hint="Give runs as they were; changed ones carry meta.mutation.",
        )
    kept: dict[str, Trajectory] = {}
    for run in what.runs:
        name, number = run.id, 1
        while name in kept and kept[name].content_fingerprint != run.content_fingerprint:
            number += 1
            name = f"{run.id}#{number}"
        if name != run.id and (run.id in what.passed or run.id in what.quality):
            raise UsageError(
                f"Two different runs of {what.source} have the id {run.id!r}, and labels go by ids.",
                hint="Give one of the sets alone.",
            )
        kept.setdefault(name, run if name == run.id else run.model_copy(update={"id": name}))
    return list(kept.values())


def _has_call(run: Trajectory) -> bool:
    return any(step.kind == "tool_call" for step in run.steps)


def _with_mutants(reference: References, mutants: Sequence[Mutant], runs: Sequence[Trajectory]) -> References:
    if reference is None or isinstance(reference, Reference):
        return reference
    by_id = {run.id: run for run in runs}
    out = dict(reference)
    for one in mutants:
        parent = by_id.get(one.mutation.parent)
        found = reference_of(parent, reference) if parent is not None else None
        if found is not None:
            out[one.trajectory.id] = found
    return out


def _criteria_order(
    asked: _Asked, rubric: Rubric, runs: Sequence[Trajectory], verdicts: Mapping[str, Verdict], mark: float
) -> tuple[Probed, ...]:
    """Every run judged again with the criteria in reverse order; () for a rubric with one criterion."""
    if len(rubric.criteria) < 2:
        return ()
    reverse = rubric.model_copy(update={"criteria": rubric.criteria[::-1]})
    again = asked.judge(runs, reverse)
    return tuple(
        paired(
            Mutation(kind="bias", type="criteria_order", parent=run.id, outcome="survived", variant="reverse"),
            cluster(run),
            verdicts.get(run.id),
            again.get(run.id),
            mark,
        )
        for run in runs
    )


def _unpaired(
    what: ProbeRuns,
    rubric: Rubric,
    runs: Sequence[Trajectory],
    verdicts: Mapping[str, Verdict],
    rng: np.random.Generator,
) -> list[BiasRow]:
    """Length beyond quality, pull to the middle and use of the scale, on every labelled run of one criterion."""
    if not runs or len(rubric.criteria) > 1:
        return []
    scores = [_nan(share_of_scale(verdicts.get(run.id))) for run in runs]
    quality = [what.quality[run.id] for run in runs]
    groups = [cluster(run) for run in runs]
    lengths = [float(len(view(run, rubric.view).text)) for run in runs]
    length = length_given_quality(scores, lengths, quality, groups=groups, rng=rng)
    rows = [
        bias_row(
            "length_given_quality",
            length,
            (-LENGTH_BAND, LENGTH_BAND),
            pairs=len(runs),
            unit="partial rank correlation",
            note="score and length of the run, at equal label",
        )
    ]
    if not isinstance(rubric.criteria[0].scale, BinaryScale):
        middle = pull_to_middle(scores, quality, groups=groups, rng=rng)
        rows.append(
            bias_row(
                "central_tendency",
                middle,
                (-MIDDLE_BAND, MIDDLE_BAND),
                pairs=len(runs),
                unit="share of half the scale",
                note="distance from the middle, scores against labels",
            )
        )
        rows.append(
            bias_row(
                "scale_use",
                use_of_scale(scores, quality, groups=groups, rng=rng),
                (-USE_BAND, USE_BAND),
                pairs=len(runs),
                unit="share of half the scale",
                note="standard deviation, scores against labels",
            )
        )
    return rows


def _bound(verdicts: Iterable[Verdict]) -> dict[str, str]:
    """Which judge and which rubric answered: every verdict of a run says the same."""
    one = next(iter(verdicts), None)
    return {name: one.fingerprints[name] for name in ("judge", "rubric")} if one is not None else {}


def _nan(value: float | None) -> float:
    return float("nan") if value is None else value
