"""Re-runs a judge on the frozen anchors of its certificate: is it still the judge that was measured."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from judge.calibration.drift import Drift, anchor_drift
from judge.calibration.sets import load_set
from judge.config import Settings
from judge.engine.budget import Budget
from judge.engine.facade import score_many
from judge.errors import UsageError
from judge.store.certificates import save_revocation
from judge.types.certificate import Certificate, Revocation
from judge.types.record import Record

LOOKS = 12
"""Looks over which the false-alarm rate is shared, unless said otherwise."""


class CanaryCheck(Record):
    """What a re-run of the anchors found.

    Attributes:
        state: "held", "alarm" (the certificate is void now), or "not_run" with the reason.
        missing: Anchors that got no score this time.
    """

    omit_none: ClassVar[bool] = False

    certificate: str
    judge: str
    state: str
    reason: str = ""
    anchors: int = Field(ge=0)
    missing: int = Field(default=0, ge=0)
    drift: Drift | None = None


def check_certificate(
    certificate: Certificate,
    folder: Path,
    *,
    settings: Settings,
    now: datetime,
    look: int = 1,
    looks: int = LOOKS,
    progress: Callable[[int], None] | None = None,
    budget: Budget | None = None,
) -> CanaryCheck:
    """Scores the anchors again, without the cache, and voids the certificate on an alarm.

    A recorded judge cannot be asked again; a set that is not here cannot be read: both are "not_run", which
    leaves the certificate as it is until it expires.

    Args:
        look, looks: This is look `look` of `looks` planned ones; the stated false-alarm rate holds over all.
        budget: Of a larger piece of work that this is part of; None for one of its own.
    """
    scope = certificate.scope

    def not_run(reason: str) -> CanaryCheck:
        return CanaryCheck(
            certificate=certificate.id, judge=scope.judge.name, state="not_run", reason=reason, anchors=0
        )

    if scope.judge.provider == "recorded":
        return not_run("the judge was recorded, so it cannot be asked again")
    if not certificate.canary:
        return not_run("the certificate holds no anchors")
    try:
        chosen = load_set(scope.label_set.partition("[")[0])  # a narrowed set says so in brackets
    except UsageError as error:
        return not_run(error.message)
    runs = [run for run in chosen.trajectories if run.id in certificate.canary]
    if not runs:
        return not_run(f"none of the {len(certificate.canary)} anchors is in the set {scope.label_set!r} any more")
    spec = scope.judge
    own = settings.model_copy(
        update={
            "judge": spec.name,
            "samples": spec.samples,
            "vote": spec.vote,
            "cache": False,
            **{
                name: getattr(spec.sampling, name)
                for name in ("temperature", "top_p", "seed", "max_output_tokens", "thinking_tokens", "reasoning_effort")
            },
        }
    )
    after: dict[str, float] = {}
    verdicts = score_many(runs, scope.rubric, judge=spec.jury, settings=own, budget=budget)
    for count, verdict in enumerate(verdicts, start=1):
        if verdict.score is not None:
            after[verdict.trajectory_id] = verdict.score
        if progress is not None:
            progress(count)
    kept = [run for run in runs if run.id in after]
    if not kept:
        return _void(certificate, folder, now, ("No anchor got a score any more.",), len(runs), len(runs), None)
    mark = certificate.pass_mark
    if mark is None:
        return not_run("the certificate has no pass mark, so its scores cannot be compared as verdicts")
    before = [float(certificate.canary[run.id] >= mark) for run in kept]
    again = [float(after[run.id] >= mark) for run in kept]
    labels = {
        label.trajectory_id: label.value for label in chosen.labels if label.criterion == certificate.scope.criterion
    }
    truth = [float(value) if isinstance(value := labels.get(run.id), int | float) else float("nan") for run in kept]
    drift = anchor_drift(
        before,
        again,
        labels=truth,
        groups=[run.group or run.id for run in kept],
        wobble_upper=_wobble_upper(certificate),
        look=look,
        looks=looks,
    )
    missing = len(runs) - len(kept)
    causes = drift.causes if drift.alarm else ()
    if missing > _failures_allowed(certificate) * len(runs):
        causes = (*causes, f"{missing} of {len(runs)} anchors got no score: a judge that fails on them has changed.")
    if causes:
        return _void(certificate, folder, now, causes, len(runs), missing, drift)
    return CanaryCheck(
        certificate=certificate.id,
        judge=spec.name,
        state="held",
        reason=f"{drift.flips} of {drift.n} anchors changed their verdict, no more than the wobble allows",
        anchors=len(runs),
        missing=missing,
        drift=drift,
    )


def _wobble_upper(certificate: Certificate) -> float:
    """Upper bound of the measured flip rate; 1 where it was not measured, so that flips alone raise no alarm."""
    claim = next((c for c in certificate.claims if c.name == "flip_rate"), None)
    upper = claim.estimate.upper if claim is not None and claim.estimate is not None else None
    return 1.0 if upper is None else upper


def _failures_allowed(certificate: Certificate) -> float:
    """Share of anchors that may go without a score: the threshold of the claim on verdicts without one."""
    claim = next((c for c in certificate.claims if c.name == "parse_failures"), None)
    return claim.threshold if claim is not None else 0.0


def _void(
    certificate: Certificate,
    folder: Path,
    now: datetime,
    causes: tuple[str, ...],
    anchors: int,
    missing: int,
    drift: Drift | None,
) -> CanaryCheck:
    reasons = tuple(f"Canary re-run of {now.date().isoformat()}: {cause}" for cause in causes)
    save_revocation(Revocation(certificate=certificate.id, at=now.isoformat(), reasons=reasons), folder)
    return CanaryCheck(
        certificate=certificate.id,
        judge=certificate.scope.judge.name,
        state="alarm",
        reason=" ".join(reasons),
        anchors=anchors,
        missing=missing,
        drift=drift,
    )
