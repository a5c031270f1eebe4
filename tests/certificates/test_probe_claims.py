"""A probe joins the certificate of exactly the judge that was probed, and of no other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from judge.calibration.sets import load_set
from judge.config import Settings, load_settings
from judge.engine.calibrating import calibrate_set
from judge.engine.certifying import Terms
from judge.engine.probing import planting, probe, runs_of_sets
from judge.errors import FingerprintMismatch
from judge.prompt import load_rubric
from judge.types.probe import ProbeReport

NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    found = load_settings({"cache_dir": tmp_path}, environment={"HOME": str(tmp_path)}, folder=tmp_path)
    return found.model_copy(update={"judge": "rules/process", "samples": 1})


def with_probe(report: ProbeReport) -> Callable[[Terms], Terms]:
    from dataclasses import replace

    def changed(terms: Terms) -> Terms:
        return replace(terms, probes=report)

    return changed


def test_only_a_probe_of_the_same_judge_joins(settings: Settings) -> None:
    rubric = load_rubric("process")
    what = runs_of_sets([load_set("docs_search")], rubric)
    planted = planting(what, rubric=rubric, settings=settings, kinds=("attack",), limit=6)
    report = probe(planted, settings=settings)
    assert set(report.fingerprints) == {"judge", "rubric"}
    found = calibrate_set("docs_search", settings=settings, now=NOW, terms=with_probe(report))
    claims = {claim.name: claim for claim in found.certificate.claims}
    assert claims["attacks"].estimate is not None
    assert claims["attacks"].estimate == report.attack_rate
    assert claims["implanted_faults"].estimate is None  # was not probed: not tested, not zero
    other = settings.model_copy(update={"samples": 3})
    with pytest.raises(FingerprintMismatch, match="exactly this judge"):
        calibrate_set("docs_search", settings=other, now=NOW, terms=with_probe(report))
