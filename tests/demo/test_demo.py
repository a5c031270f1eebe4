"""The demonstration: what it compares, what it counts, and that it says what it found."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.calibration.sets import load_set
from judge.config import Settings, load_settings
from judge.engine.demo import BASELINE, DECIDES, EMBEDDED, SCENES, Demo, caught, pairs, run_demo
from judge.engine.facade import score_many
from judge.report.demo import demo_text


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings({"cache_dir": tmp_path}, environment={"HOME": str(tmp_path)}, folder=tmp_path)


def test_a_part_of_the_set_holds_one_sound_and_one_faulty_run_of_each_task() -> None:
    part = pairs(load_set("docs_search"), 5)
    values = [label.value for label in part.labels if label.criterion == DECIDES]
    assert sorted(values) == [0] * 5 + [1] * 5
    assert len(set(part.clusters().values())) == 5
    assert set(part.splits().values()) == {"test"}
    assert part.name == "docs_search[10 runs]"


def test_a_fault_is_caught_only_by_a_verdict_that_failed_the_run(settings: Settings) -> None:
    from datetime import UTC, datetime

    from judge.engine.calibrating import calibrate_set

    part = pairs(load_set("docs_search"), 6)
    silent = settings.model_copy(update={"judge": "fake/always-5", "samples": 1})
    found = calibrate_set(part, settings=silent, now=datetime(2026, 11, 30, tzinfo=UTC))
    counts = caught(found, part)
    assert sum(total for _, total in counts.values()) == 6
    assert sum(right for right, _ in counts.values()) == 0
    # no score is no catch: the same judge without a single verdict
    mute = found.model_copy(update={"verdicts": dict.fromkeys(found.verdicts)})
    assert sum(right for right, _ in caught(mute, part).values()) == 0


def test_the_baseline_tells_the_search_runs_apart_and_not_the_lucky_refund(settings: Settings) -> None:
    by_id = {run.id: run for scene in SCENES for run in load_set(scene.set_name).trajectories}
    chosen = [by_id[run] for scene in SCENES for run in (scene.better, *scene.worse)]
    own = settings.model_copy(update={"judge": BASELINE, "samples": 1})
    scores = {verdict.trajectory_id: verdict.score for verdict in score_many(chosen, settings=own)}
    assert scores["docs-clean"] == 5
    assert scores["docs-wasteful"] is not None
    assert scores["docs-wasteful"] < 5
    assert scores["docs-no-search"] == 1
    assert scores["refund-careful"] == scores["refund-lucky"] == 5


@pytest.mark.embedded
@pytest.mark.slow
def test_the_demonstration_ends_with_one_certified_and_one_refused_judge(settings: Settings) -> None:
    from judge.providers.weights import find

    shared_cache = load_settings()
    if find("smollm2-135m", shared_cache) is None:
        pytest.skip("the weights of the embedded model are not here: judge models pull smollm2-135m")
    pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    demo: Demo = run_demo(shared_cache)
    decisions = [(one.judge, one.calibration.certificate.decision) for one in demo.calibrations]
    assert (BASELINE, "certified") in decisions
    assert (EMBEDDED, "refused") in decisions
    text = demo_text(demo)
    assert "UNCERTIFIED" in text
    assert "so a final-answer check cannot tell them apart" in text
    for run in demo.runs:
        assert len(run.verdicts[EMBEDDED].criteria[0].votes) == 3
