"""Small records that the tests of calibrations and certificates start from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from judge.calibration.certify import issue
from judge.calibration.claims import Judged, judge_claims
from judge.calibration.dataset import Dataset, join
from judge.calibration.examine import examine
from judge.calibration.findings import CalibrationReport
from judge.calibration.observations import Observation, Scales
from judge.engine.certifying import voter
from judge.types.calibration_set import RequiredClaim
from judge.types.certificate import Certificate, Scope
from judge.types.estimate import Statistic
from judge.types.rubric import BinaryScale, Rubric
from judge.types.verdict import JudgeSpec

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
BINARY = BinaryScale()


def stat(value: float, lower: float | None = None, upper: float | None = None, n: int = 100) -> Statistic:
    return Statistic(value=value, lower=lower, upper=upper, n=n)


def said(item: str, value: float | None, source: str = "j", **more: Any) -> Observation:
    failed = None if value is not None else "failed: truncated"
    return Observation(item=item, criterion="overall", source=source, value=value, failed=failed, **more)


def joined(
    verdicts: Sequence[Observation], labels: Sequence[Observation], scale: Scales = BINARY, **more: Any
) -> Dataset:
    given: dict[str, Any] = {"judge": "j", "criterion": "overall", "vote": voter("auto", scale)} | more
    return join(verdicts, labels, scale=scale, **given)


def pairs(rows: Sequence[tuple[float | None, float]], scale: Scales = BINARY, **more: Any) -> Dataset:
    """A data set of (verdict, label) rows, each a task of its own."""
    verdicts = [said(f"t{i}", verdict) for i, (verdict, _) in enumerate(rows)]
    labels = [said(f"t{i}", label, "people", rater_kind="human") for i, (_, label) in enumerate(rows)]
    return joined(verdicts, labels, scale, **more)


def examined(data: Dataset, **more: Any) -> CalibrationReport:
    return examine(data, label_set="small", rng=np.random.default_rng(0), **more)


RUBRIC = Rubric.from_json(
    {
        "id": "polite",
        "version": "1",
        "title": "Politeness",
        "intent": "Whether the agent stayed polite.",
        "criteria": [{"id": "overall", "question": "Was the agent polite?", "scale": {"type": "binary"}}],
    }
)
SPEC = JudgeSpec(name="openai/some-model", provider="openai", model="some-model", samples=3)

GOOD: Mapping[str, Statistic] = {"tnr": stat(0.95, 0.9, 0.98), "tpr": stat(0.97, 0.92, 0.99)}
BAD: Mapping[str, Statistic] = {"tnr": stat(0.5, 0.4, 0.6), "tpr": stat(0.97, 0.92, 0.99)}


def claims_of(measured: Mapping[str, Statistic]) -> Judged:
    return judge_claims(measured, required=[RequiredClaim(name="tnr"), RequiredClaim(name="tpr")])


def certificate(measured: Mapping[str, Statistic] = GOOD, **more: Any) -> Certificate:
    scope: dict[str, Any] = {
        "judge": SPEC,
        "rubric": RUBRIC.id,
        "rubric_version": RUBRIC.version,
        "rubric_fingerprint": RUBRIC.fingerprint,
        "criterion": "overall",
        "label_set": "small",
        "labels_fingerprint": "0" * 64,
        "label_kinds": ("human",),
    } | more.pop("scope", {})
    given: dict[str, Any] = {"profile": "default", "n_labels": 100, "n_groups": 50, "now": NOW} | more
    return issue(Scope(**scope), claims_of(measured), **given)
