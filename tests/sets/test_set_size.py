"""The test split of docs_search is large enough that a judge without an error is certified on it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from judge.calibration.sets import load_set, only_faults
from judge.config import load_settings
from judge.engine.calibrating import calibrate_set
from judge.types.calibration_set import CalibrationSet
from judge.types.certificate import Certificate

FAULTS = ("wasteful_repeat", "gave_up", "stalled")  # those that rules/process can see
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def certificate(chosen: CalibrationSet, folder: Path) -> Certificate:
    settings = load_settings({"judge": "rules/process", "samples": 1, "cache_dir": folder})
    return calibrate_set(chosen, settings=settings, now=NOW).certificate


def states(found: Certificate) -> Mapping[str, str]:
    return {claim.name: claim.state for claim in found.claims if claim.required}


def of_tasks(chosen: CalibrationSet, tasks: set[str]) -> CalibrationSet:
    """The runs of `tasks` alone."""
    kept = {run.id for run in chosen.trajectories if run.group in tasks}
    return chosen.model_copy(
        update={
            "trajectories": tuple(run for run in chosen.trajectories if run.id in kept),
            "labels": tuple(label for label in chosen.labels if label.trajectory_id in kept),
        }
    )


def test_the_test_split_holds_enough_tasks_of_both_classes() -> None:
    narrow = only_faults(load_set("docs_search"), FAULTS)
    tasks = narrow.clusters()
    test = [label for label in narrow.labels if label.criterion == "passed_path" and label.split == "test"]
    assert len({tasks[label.trajectory_id] for label in test}) == 22
    assert len({tasks[label.trajectory_id] for label in test if label.value == 0}) == 21  # not docs-large-export
    assert [sum(label.value == value for label in test) for value in (1, 0)] == [40, 36]


def test_rules_are_certified_for_the_faults_that_they_can_see(tmp_path: Path) -> None:
    found = certificate(only_faults(load_set("docs_search"), FAULTS), tmp_path)
    assert found.decision == "certified"
    assert states(found) == dict.fromkeys(("tnr", "tpr", "kappa", "leniency"), "met")
    bounds = {claim.name: claim.bound for claim in found.claims}
    # No error in n independent runs has the exact bound 0.05 ** (1 / n); by task, n is about tasks less 2:
    # 0.05 ** (1 / 19.1) = 0.855 and 0.05 ** (1 / 20.1) = 0.862
    assert (bounds["tnr"], bounds["tpr"]) == pytest.approx((0.855, 0.862), abs=0.001)


def test_the_same_judge_without_an_error_is_undecided_on_fourteen_tasks(tmp_path: Path) -> None:
    narrow = only_faults(load_set("docs_search"), FAULTS)
    splits = narrow.splits()
    tasks = list(dict.fromkeys(run.group or "" for run in narrow.trajectories if splits[run.id] == "test"))
    found = certificate(of_tasks(narrow, set(tasks[:14])), tmp_path)
    assert found.decision == "undecided"
    assert states(found)["tnr"] == states(found)["tpr"] == "undecided"


def test_rules_are_not_certified_on_all_faults(tmp_path: Path) -> None:
    found = certificate(load_set("docs_search"), tmp_path)
    assert found.decision == "undecided"
    assert states(found)["tnr"] == "undecided"  # 8 of 44 need a reader: reworded, half searched, ungrounded
    assert states(found)["tpr"] == "met"


@pytest.mark.parametrize("name", ["docs_search", "refunds", "returns"])
def test_failed_verdicts_are_no_claim_of_their_own(name: str) -> None:
    assert [claim.name for claim in load_set(name).settings.claims] == ["tnr", "tpr", "kappa", "leniency"]
