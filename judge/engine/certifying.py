"""Joined verdicts and labels → report and certificate: the part of a calibration that runs no judge."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import ClassVar

import numpy as np

import judge
from judge.calibration.calibrated_score import fit_score_curve
from judge.calibration.certify import CANARY_SIZE, issue, sign
from judge.calibration.claims import judge_claims
from judge.calibration.dataset import Dataset, Panel, cut_at, join, levels
from judge.calibration.evidence import measured_claims, more_labels
from judge.calibration.examine import Beside, examine
from judge.calibration.findings import CalibrationReport
from judge.calibration.jury_errors import JuryErrors
from judge.calibration.observations import Observation, Scales
from judge.calibration.pass_mark import Costs
from judge.calibration.probes.report import probe_claims
from judge.engine.jury_report import Heard, live_jury_report
from judge.errors import FingerprintMismatch, StatisticsError
from judge.store.certificates import count_use, save_certificate
from judge.types.calibration_set import Population, Profile, RequiredClaim, SamplingDesign
from judge.types.certificate import CalibratedScore, Certificate, Scope
from judge.types.comparison import Work
from judge.types.estimate import Statistic
from judge.types.probe import ProbeReport
from judge.types.record import Record, fingerprint
from judge.types.rubric import BinaryScale, Rubric
from judge.types.stop_rule import StopRule
from judge.types.verdict import JudgeSpec, Vote, VoteRule
from judge.voting import more_samples
from judge.voting.rules import apply, chosen_rule

SEED = 20261130
"""Seed of every draw in a calibration, so that two runs on the same files print the same intervals."""

MAY_OPEN = ("human", "policy")
"""Kinds of rater whose labels can open the gate at all; what a model or a metric says never can."""


class Calibration(Record):
    """What a calibration gives.

    Attributes:
        label_next: Runs whose label would shrink the intervals most, first the most wanted.
        verdicts: What the judge said of each run that was compared; None where it has no score.
        jury: How the members err together and what each brings; None for a single judge.
    """

    omit_none: ClassVar[bool] = False

    report: CalibrationReport
    certificate: Certificate
    label_next: tuple[str, ...] = ()
    verdicts: dict[str, float | None] = {}
    jury: JuryErrors | None = None


@dataclass(frozen=True)
class Terms:
    """What a judge is held to, and how the labels came to be.

    Attributes:
        kinds: Kinds of rater whose labels may open the gate.
        save: Folder of certificates, or None to keep none.
        probes: What `judge probe` found of the same judge and rubric; its claims join the certificate.
        key: Raw ed25519 private key that signs the certificate, or None.
    """

    label_set: str
    design: SamplingDesign = "unknown"
    profile: Profile = "default"
    claims: tuple[RequiredClaim, ...] = ()
    kinds: tuple[str, ...] = ("human",)
    population: Population = field(default_factory=Population)
    costs: Costs | None = None
    target: float = 0.02
    gate_bar: float | None = None
    probes: ProbeReport | None = None
    days: int | None = None
    save: Path | None = None
    key: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Judged:
    """A judge's work on the labelled runs, however it came about.

    Attributes:
        heard: Of a live jury, what each of its judges said; else None.
        drawn: Of a live jury, run to repeated votes in which only wobble is seen; None where none were drawn.
    """

    spec: JudgeSpec
    rubric: str
    rubric_version: str
    rubric_fingerprint: str
    vote: VoteRule
    observations: tuple[Observation, ...]
    served: tuple[str, ...] = ()
    beside: Beside = field(default_factory=Beside)
    left_out: Mapping[str, int] = field(default_factory=dict)
    panel: Panel | None = None
    work: Work = field(default_factory=Work)
    heard: Heard | None = None
    drawn: Mapping[str, tuple[float | None, ...]] | None = None


def finish(
    judged: Judged,
    labels: Sequence[Observation],
    criterion: str,
    scale: Scales,
    terms: Terms,
    now: datetime,
    *,
    judged_by: str | None = None,
    mark: float | None = None,
    own: Scales | None = None,
    cut: float | None = None,
) -> Calibration:
    """Joins, examines and certifies on the test split; dev labels choose what is reported on test.

    Args:
        judged_by: Criterion of the verdicts, where it is not the labels' own.
        mark, own: The judge's scores on scale `own` are cut into passed and failed at `mark`.
        cut: Lowest value of both that counts as passed, where labels and verdicts share an ordinal scale.
    """

    def joined(split: str | None) -> Dataset:
        return beside_labels(
            judged, labels, criterion, scale,
            judged_by=judged_by, mark=mark, own=own or scale, split=split, left_out=judged.left_out,
        )  # fmt: skip

    splits = {label.split for label in labels if label.criterion == criterion}
    test = "test" if "test" in splits else None
    data = joined(test)
    dev = joined("dev") if "dev" in splits and test else None
    rng = np.random.default_rng(SEED)
    report = examine(
        data,
        label_set=terms.label_set,
        rubric=judged.rubric,
        split=test,
        design=terms.design,
        cut=cut,
        target=terms.target,
        costs=terms.costs,
        gate_bar=terms.gate_bar,
        dev=dev,
        beside=judged.beside,
        rng=rng,
    )
    prints = {
        "labels": labels_fingerprint(labels, criterion, test),
        "verdicts": fingerprint([[o.item, o.sample, o.value, o.failed] for o in judged.observations]),
    }
    report = report.model_copy(update={"fingerprints": prints})
    certificate = _certify(judged, report, data, dev, terms, now, criterion, report.cut if mark is None else mark)
    return Calibration(
        report=report,
        certificate=certificate,
        label_next=_label_next(judged, labels, criterion),
        verdicts=dict(zip(data.items, data.verdicts, strict=True)),
        jury=_jury(judged, data, mark),
    )


def beside_labels(
    judged: Judged,
    labels: Sequence[Observation],
    criterion: str,
    scale: Scales,
    *,
    judged_by: str | None,
    mark: float | None,
    own: Scales,
    split: str | None,
    left_out: Mapping[str, int],
) -> Dataset:
    """A judge's verdicts beside the labels of a split, cut into passed and failed where there is a mark.

    Args:
        own: Scale of the judge's scores, where `mark` cuts them.
    """
    data = join(
        judged.observations,
        labels,
        judge=judged.spec.name,
        criterion=criterion,
        scale=scale,
        vote=voter(judged.vote, scale if mark is None else own),
        panel=judged.panel,
        judged_by=judged_by,
        split=split,
        left_out=left_out,
    )
    if judged.drawn is not None:
        votes = [judged.drawn[item] for item in data.items]
        data = replace(data, repeats=tuple(zip(*votes, strict=True)))
    return data if mark is None else cut_at(data, mark, own)


def _jury(judged: Judged, data: Dataset, mark: float | None) -> JuryErrors | None:
    if judged.spec.jury is None or judged.heard is None:
        return None
    return live_jury_report(judged.spec.jury, data, judged.heard, mark=mark, rng=np.random.default_rng(SEED))


def _certify(
    judged: Judged,
    report: CalibrationReport,
    data: Dataset,
    dev: Dataset | None,
    terms: Terms,
    now: datetime,
    criterion: str,
    pass_mark: float | None,
) -> Certificate:
    measured = {**measured_claims(report), **_probed(judged, terms.probes)}
    claims = judge_claims(
        measured,
        profile=terms.profile,
        required=terms.claims,
        criterion=criterion,
        more_labels=more_labels(report, measured, terms.profile, terms.claims),
    )
    allowed = [kind for kind in terms.kinds if kind in MAY_OPEN]
    barred = sorted(set(report.label_kinds) - set(allowed))
    if barred and claims.decision == "certified":
        never = [kind for kind in barred if kind not in MAY_OPEN and kind != "unstated"]
        reason = (
            f"Labels of kind {', '.join(barred)} do not open the gate; allowed are {', '.join(allowed) or 'none'}. "
            + ("No setting allows these." if never else "State who labelled, or allow the kind in set.yaml.")
        )
        claims = replace(claims, decision="undecided", reasons=(reason, *claims.reasons))
    uses = 1
    if terms.save is not None:
        purpose = fingerprint([judged.spec.fingerprint, judged.rubric_fingerprint, criterion])
        uses = count_use(report.fingerprints["labels"], purpose, now.isoformat(), terms.save)
    verdicts = data.scores or data.verdicts
    canary = {item: float(v) for item, v in zip(data.items, verdicts, strict=True) if v is not None}
    certificate = issue(
        Scope(
            judge=judged.spec,
            rubric=judged.rubric,
            rubric_version=judged.rubric_version,
            rubric_fingerprint=judged.rubric_fingerprint,
            criterion=criterion,
            label_set=terms.label_set,
            labels_fingerprint=report.fingerprints["labels"],
            label_kinds=report.label_kinds,
            population=terms.population,
            served_models=judged.served,
        ),
        claims,
        profile=terms.profile,
        n_labels=report.n,
        n_groups=report.n_groups,
        now=now,
        label_uses=uses,
        pass_mark=pass_mark,
        calibrated=_calibrated(dev),
        canary=dict(list(canary.items())[:CANARY_SIZE]),
        fingerprints=report.fingerprints,
        versions={"judge": judge.__version__, "numpy": np.__version__, "python": platform.python_version()},
        days=terms.days,
    )
    if terms.key is not None:
        certificate = sign(certificate, terms.key)
    if terms.save is not None:
        save_certificate(certificate, terms.save)
    return certificate


def _probed(judged: Judged, probes: ProbeReport | None) -> dict[str, Statistic]:
    """The claims of a probe of exactly this judge.

    Raises:
        FingerprintMismatch: Another judge, or another rubric, was probed.
    """
    if probes is None:
        return {}
    bound = {"judge": judged.spec.fingerprint, "rubric": judged.rubric_fingerprint}
    if probes.fingerprints != bound:
        raise FingerprintMismatch(
            f"The probe is of {probes.judge} under rubric {probes.rubric!r}, and not of exactly this judge and rubric.",
            hint="Probe with the same model, sampling, votes and rubric, then calibrate again.",
        )
    return probe_claims(probes)


def voter(rule: VoteRule, scale: Scales) -> Callable[[Sequence[float]], float | None]:
    """The vote of a judge as a function of the valid scores; None for a tie.

    A vote between two levels of the scale counts as the lower one: it passes the same marks.
    """
    used = chosen_rule(rule, scale)
    domain = levels(scale)

    def vote(scores: Sequence[float]) -> float | None:
        votes = [Vote(status="ok", score=score, reason="recorded", sample=k) for k, score in enumerate(scores)]
        score = apply(used, votes, list(scores))[1]
        if isinstance(scale, BinaryScale) and score == 0.5:
            return None
        if score is None or domain is None:
            return score
        return max((level for level in domain if level <= score + 1e-9), default=domain[0])

    return vote


def panel_of(used: Rubric, samples: int | None, stop: StopRule | None = None) -> Panel:
    """How many of a run's samples the verdict takes; the further ones were drawn to see the wobble."""

    def size(values: Sequence[float | None]) -> int:
        votes: list[Vote] = []
        while (wanted := more_samples({"": votes} if votes else {}, used, samples, stop)) and len(votes) < len(values):
            for value in values[len(votes) : len(votes) + wanted]:
                votes.append(Vote(status="unparsed" if value is None else "ok", score=value))
        return len(votes)

    return size


def labels_fingerprint(labels: Sequence[Observation], criterion: str, split: str | None) -> str:
    """sha256 of who said what of which run; the order of the file does not matter."""
    rows = sorted(
        [o.item, o.source, o.value if o.value is not None else "none", o.rubric_version or ""]
        for o in labels
        if o.criterion == criterion and (split is None or o.split == split)
    )
    return fingerprint(rows)


def _calibrated(dev: Dataset | None) -> tuple[CalibratedScore, ...]:
    """What each score means as a probability, fitted on dev labels; empty where those are too few."""
    if dev is None:
        return ()
    scores = dev.scores or dev.verdicts
    rows = [(s, label) for s, label in zip(scores, dev.labels, strict=True) if s is not None]
    if dev.scale.type != "binary" or len({label for _, label in rows}) < 2:
        return ()
    try:
        curve = fit_score_curve([s for s, _ in rows], [label for _, label in rows])
    except StatisticsError:
        return ()
    out = []
    for score in dev.score_domain or sorted({s for s, _ in rows}):
        found = curve.probability(score)
        n = sum(s == score for s, _ in rows)
        out.append(CalibratedScore(score=score, probability=found.probability, low=found.low, high=found.high, n=n))
    return tuple(out)


def _label_next(judged: Judged, labels: Sequence[Observation], criterion: str, most: int = 25) -> tuple[str, ...]:
    """Runs to label next: those with a verdict and no label, split votes first, taken in turn from each verdict."""
    done = {label.item for label in labels if label.criterion == criterion}
    values: dict[str, list[float]] = {}
    for observation in judged.observations:
        if observation.source == judged.spec.name and observation.item not in done and observation.value is not None:
            values.setdefault(observation.item, []).append(observation.value)
    strata: dict[float, list[tuple[float, str]]] = {}
    for item, scores in values.items():
        strata.setdefault(scores[0], []).append((min(scores) - max(scores), item))
    queues = [sorted(stratum) for _, stratum in sorted(strata.items())]
    out: list[str] = []
    while len(out) < most and any(queues):
        for queue in queues:
            if queue and len(out) < most:
                out.append(queue.pop(0)[1])
    return tuple(out)
