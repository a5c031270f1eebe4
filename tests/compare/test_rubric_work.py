"""`judge rubrics improve`: disagreements on dev, an edit on the same runs, the test split untouched and counted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from judge.calibration.sets import load_set
from judge.cli.main import run
from judge.engine.rubric_work import clauses_of
from judge.prompt import load_rubric

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def dev_runs() -> dict[str, float | str | None]:
    labels = load_set("refunds").labels
    return {
        label.trajectory_id: label.value for label in labels if label.split == "dev" and label.criterion == "process"
    }


def test_disagreements_on_dev_are_grouped_by_what_people_and_judge_said(
    own_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = "The needed calls are there and their results are used, one call was needless."
    (own_folder / "four.yaml").write_text(json.dumps({"default": {"score": 4, "reason": reason}}), encoding="utf-8")
    command = ["rubrics", "improve", "refunds", "--judge", "fake/four.yaml", "--criterion", "process", "--json"]
    assert run(command) == 0
    document = json.loads(capsys.readouterr().out)
    people = dev_runs()
    assert document["split"] == "dev"
    assert document["looks"] is None
    assert document["agreed"] == sum(value == 4 for value in people.values())
    listed = {name: group["people"] for group in document["groups"] for name in group["runs"]}
    assert listed == {name: value for name, value in people.items() if value != 4}
    anchor = next(
        clause for clause in clauses_of(load_rubric("process").criteria[0]) if "one call was needless" in clause
    )
    assert all(group["clauses"] == {anchor: len(group["runs"])} for group in document["groups"])


def test_an_edit_is_measured_on_the_same_dev_runs(own_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shipped = (ROOT / "rubrics" / "process.yaml").read_text(encoding="utf-8")
    (own_folder / "edit.yaml").write_text(re.sub(r"(?m)^version:.*$", 'version: "2"', shipped), encoding="utf-8")
    assert run(["rubrics", "improve", "refunds", "--edit", "edit.yaml", "--judge", "rules/process", "--json"]) == 0
    edited = json.loads(capsys.readouterr().out)["edited"]
    assert edited["n"] == len(dev_runs())
    assert sorted(row["judge"] for row in edited["judges"]) == ["rules/process, process 1", "rules/process, process 2"]


def test_looks_at_the_test_split_are_counted(own_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shipped = (ROOT / "rubrics" / "process.yaml").read_text(encoding="utf-8")
    (own_folder / "edit.yaml").write_text(re.sub(r"(?m)^version:.*$", 'version: "2"', shipped), encoding="utf-8")
    command = ["rubrics", "improve", "refunds", "--judge", "rules/process", "--final"]
    assert run(command) == 0
    first = capsys.readouterr().out
    assert "test split" in first
    assert "looked at 1 time for rubrics" in first
    assert run([*command, "--edit", "edit.yaml"]) == 0
    assert "looked at 2 times for rubrics" in capsys.readouterr().out
