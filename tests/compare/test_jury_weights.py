"""Weights of a jury are learnt from dev labels alone and written into a file that judges live."""

from __future__ import annotations

import json
from math import log
from pathlib import Path
from typing import Any

import pytest
from small_judges import judged

from judge.calibration.recorded_jury import member_weights
from judge.calibration.sets import load_set
from judge.cli.main import run
from judge.config import Settings
from judge.engine.facade import score_many
from judge.engine.jury_file import load_jury


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "juries").mkdir()
    return tmp_path


def write_jury(**fields: Any) -> str:
    Path("juries/w.yaml").write_text(json.dumps({"rule": "weighted", **fields}), encoding="utf-8")
    return "jury/w"


def scripted(name: str, wrong_of_dev: int) -> str:
    """A judge that says what people say, but for so many dev runs; on test runs it is always wrong."""
    labels = {label.trajectory_id: label for label in load_set("refunds").labels if label.criterion == "passed_path"}
    dev = sorted(item for item, label in labels.items() if label.split == "dev")
    script = {
        item: (5 if label.value else 1) if item in dev[wrong_of_dev:] else (1 if label.value else 5)
        for item, label in labels.items()
    }
    Path(f"{name}.yaml").write_text(json.dumps({"trajectories": script}), encoding="utf-8")
    return f"fake/{name}.yaml"


def test_on_five_levels_a_judge_is_held_against_a_guess_of_one_in_five() -> None:
    labels = [1, 2, 3, 4, 5, 1, 2, 3, 4, 5]
    four_right = [1, 2, 3, 4, 1, 2, 3, 4, 5, 1]
    weights = member_weights({"a": judged("a", four_right, labels, top=5), "b": judged("b", [1] * 10, labels, top=5)})
    # 4 of 10 against 1 in 5: (4.5 / 6.5) * 4. 2 of 10 is what guessing gives: (2.5 / 8.5) * 4, a little above 1
    assert weights == pytest.approx({"a": log(4.5 / 6.5 * 4), "b": log(2.5 / 8.5 * 4)})
    assert member_weights({"c": judged("c", [5, 5, 5, 5, 1, 5, 5, 5, 5, 1], labels, top=5)}) == {"c": 0.0}


def test_a_live_jury_learns_on_dev_runs_and_is_compared_on_test_runs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    members = [scripted("good", 1), scripted("fair", 4), scripted("poor", 6)]
    jury = write_jury(members=members)
    command = ["compare", "--set", "refunds", "--criterion", "passed_path", "--judge", jury, "--judge", "rules/process"]
    assert run(command) == 2
    assert "--write-jury FILE" in capsys.readouterr().err
    assert run([*command, "--write-jury", "juries/learnt.yaml", "--json"]) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    # of 15 dev runs they are right on 14, 11 and 9; that all are wrong on every test run weighs nothing
    expected = {name: round(log((n + 0.5) / (15 - n + 0.5)), 4) for name, n in zip(members, (14, 11, 9), strict=True)}
    made = load_jury("jury/learnt", Settings(juries=folder / "juries", cache_dir=folder / "cache"))
    assert made.weights == pytest.approx(expected)
    assert document["juries"]["jury/learnt"]["weights"] == pytest.approx(expected)
    assert "weights learnt from 15 dev runs; fewer than 50 make them rough" in said.err
    text = Path("juries/learnt.yaml").read_text(encoding="utf-8")
    assert text.startswith("# The weights were learnt from 15 dev runs of refunds.\n")
    settings = Settings(juries=folder / "juries", cache_dir=folder / "cache")
    (verdict,) = score_many(load_set("refunds").trajectories[:1], "process", judge="jury/learnt", settings=settings)
    assert verdict.status == "ok"
    assert run([*command, "--write-jury", "juries/learnt.yaml"]) == 2
    assert "exists already" in capsys.readouterr().err


def test_a_recorded_jury_writes_the_weights_that_it_learnt(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"id": f"r{i}", "judge": name, "score": i % 2 if i % every else 1 - i % 2}
        for i in range(60)
        for name, every in (("a", 6), ("b", 5), ("c", 4))
    ]
    Path("v.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    people = [{"id": f"r{i}", "value": i % 2, "split": "dev" if i < 24 else "test"} for i in range(60)]
    Path("l.jsonl").write_text("\n".join(map(json.dumps, people)), encoding="utf-8")
    command = ["compare", "--verdicts", "v.jsonl", "--labels", "l.jsonl", "--scale", "binary"]
    command += ["--map", "id=id,value=score,source=judge", "--label-map", "id=id,value=value,split=split"]
    command += ["--judge", write_jury(members=["a", "b", "c"]), "--write-jury", "learnt.yaml"]
    assert run(command) == 0
    made = load_jury("jury:learnt.yaml", Settings(cache_dir=folder / "cache"))
    right = {"a": 20, "b": 19, "c": 18}  # of 24 dev runs
    assert made.weights == pytest.approx({k: log((n + 0.5) / (24 - n + 0.5)) for k, n in right.items()}, abs=1e-4)
    assert "rename them for live use" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fields", "file", "message"),
    [
        ({"rule": "median"}, "x.yaml", "0 juries of rule weighted"),
        ({}, "x.json", "ends in .yaml"),
        ({"weights": {"fake/always-1": 1, "fake/always-5": 1}}, "x.yaml", "has weights already"),
    ],
)
def test_what_cannot_be_learnt_is_refused(
    fields: dict[str, Any], file: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    jury = write_jury(members=["fake/always-1", "fake/always-5"], **fields)
    assert run(["compare", "--set", "refunds", "--judge", jury, "--judge", "rules/process", "--write-jury", file]) == 2
    assert message in capsys.readouterr().err
    assert not Path(file).exists()


def test_judges_that_are_no_better_than_a_guess_are_not_weighed(capsys: pytest.CaptureFixture[str]) -> None:
    jury = write_jury(members=[scripted("bad", 12), scripted("worse", 15)])
    command = ["compare", "--set", "refunds", "--criterion", "passed_path", "--judge", jury, "--judge", "rules/process"]
    assert run([*command, "--write-jury", "x.yaml"]) == 2
    assert "nothing to weigh" in capsys.readouterr().err
