"""The frozen anchors of a certificate: held while the judge stays, void when it changes or falls silent."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from judge.config import load_settings
from judge.engine.calibrating import calibrate_set
from judge.engine.canary import check_certificate
from judge.store.certificates import read_shelf

NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("script", "state"),
    [
        ({"default": 5}, "held"),
        ({"default": 1}, "alarm"),  # every verdict has turned
        ({"default": {"text": "I would rather not say."}}, "alarm"),  # no score at all
        ("some silent", "alarm"),  # 4 of 88 would be allowed, 10 are not
    ],
)
def test_a_changed_or_silent_judge_voids_its_certificate(script: Any, state: str, tmp_path: Path) -> None:
    path = tmp_path / "judge.yaml"
    path.write_text(yaml.safe_dump({"default": 5}), encoding="utf-8")
    settings = load_settings(
        {"judge": f"fake/{path}", "samples": 1, "cache_dir": tmp_path}, environment={"HOME": str(tmp_path)}
    )
    folder = tmp_path / "certificates"
    found = calibrate_set(
        "docs_search", settings=settings, now=NOW, repeats=3, terms=lambda terms: replace(terms, save=folder)
    )
    anchors = list(found.certificate.canary)
    if script == "some silent":
        script = {"default": 5, "trajectories": {name: {"text": "Hm."} for name in anchors[:10]}}
    path.write_text(yaml.safe_dump(script), encoding="utf-8")
    check = check_certificate(found.certificate, folder, settings=settings, now=NOW)
    assert check.state == state, check.reason
    assert len(read_shelf(folder).revocations) == (state == "alarm")
    assert check.anchors == len(anchors) == 88
