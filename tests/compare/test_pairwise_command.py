"""`judge pairwise` from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from paired_runs import run_of, runs_of

from judge.cli.main import run
from judge.types.pair import PairVerdict
from judge.types.trajectory import Trajectory


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with runs of a, b and c on five tasks, and a judge that finds a the best and b the worst."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGE_CACHE_DIR", str(tmp_path / "cache"))
    write(tmp_path / "runs.jsonl", runs_of("abc", 5))
    strengths = {f"{agent}-t{task}": value for agent, value in zip("abc", (3, 1, 2), strict=True) for task in range(5)}
    script(tmp_path / "judge.yaml", strengths=strengths, cache=True)
    return tmp_path


def write(path: Path, runs: list[Trajectory]) -> None:
    path.write_text("".join(json.dumps(one.to_json()) + "\n" for one in runs), encoding="utf-8")


def script(path: Path, **keys: Any) -> None:
    path.write_text(yaml.safe_dump(keys), encoding="utf-8")


def document(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert run(["pairwise", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_runs_of_a_task_are_compared_and_their_agents_ranked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "runs.jsonl", "--judge", "fake/judge.yaml", "--pseudo-wins", "0.5")
    assert len(found["results"]) == 15
    assert all(PairVerdict.from_json(one).winner in ("a", "b") for one in found["results"])
    report = found["report"]
    assert [one["name"] for one in report["ranking"]] == ["a", "c", "b"]
    assert (report["order_agreement"]["value"], report["position"]["effect"]["value"]) == (1.0, 0.0)
    assert report["trust"]["state"] == "uncertified"


def test_the_report_is_written_and_the_verdicts_beside_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pairwise", "runs.jsonl", "--judge", "fake/judge.yaml", "--out", "out"]) == 0
    text = capsys.readouterr().out
    assert "No ranking:" in text
    written = {path.name for path in (folder / "out").iterdir()}
    assert written == {"pairs.jsonl", "pairwise.html", "pairwise.json", "pairwise.txt"}
    lines = (folder / "out" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    assert len({(one["a"], one["b"]) for one in map(json.loads, lines)}) == 15


def test_scores_and_labels_are_compared_with(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = {f"{agent}-t{task}": score for agent, score in zip("abc", (5, 2, 1), strict=True) for task in range(5)}
    script(folder / "scores.yaml", trajectories=ids)
    assert run(["score", "runs.jsonl", "--judge", "fake/scores.yaml", "--out", "scores.jsonl"]) == 0
    labels = [{"a": f"a-t{n}", "b": f"b-t{n}", "preferred": "a" if n else "tie"} for n in range(5)]
    (folder / "labels.jsonl").write_text("\n".join(map(json.dumps, labels)), encoding="utf-8")
    capsys.readouterr()
    found = document(
        capsys, "runs.jsonl", "-j", "fake/judge.yaml", "--scores", "scores.jsonl", "--labels", "labels.jsonl"
    )["report"]
    assert found["scores"]["agreement"]["value"] == pytest.approx(10 / 15)  # b over c in five pairs is not the judge's
    assert (found["people"]["n"], found["people"]["accuracy"]["value"]) == (5, 0.8)


def test_a_judge_that_goes_by_place_decides_nothing_and_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "many.jsonl", runs_of("ab", 40))
    assert run(["pairwise", "many.jsonl", "--judge", "fake/always-X"]) == 0
    text = capsys.readouterr().out
    assert "0 decided, 0 ties, 40 inconclusive (40 because the orders disagree), 0 failed." in text
    assert "POSITION BIAS: this judge prefers the run that stands first" in text


def test_a_judge_that_answers_with_scores_fails_every_pair(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "runs.jsonl", "--judge", "fake/always-4", code=4)
    assert {one["winner"] for one in found["results"]} == {"failed"}
    assert found["report"]["ranking"] == []


def test_the_prompt_is_shown_and_nothing_is_sent(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pairwise", "runs.jsonl", "--judge", "fake/judge.yaml", "--max-pairs", "1", "--show-prompt"]) == 0
    text = capsys.readouterr().out
    assert text.count("---- system ----") == 2
    assert "RUN Y, 3 steps:" in text
    found = document(capsys, "runs.jsonl", "--judge", "fake/judge.yaml", "--max-pairs", "1")["report"]
    assert (found["calls"], found["cached"]) == (2, 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--by", "model"], "--by is 'model'; agent or run is needed."),
        (["--judge", "rules/process"], "scores single runs and cannot compare two"),
        (["--labels", "bad.jsonl"], "line 2: preferred is 'x'"),
        (["--labels", "twice.jsonl"], "labelled twice"),
        (["--labels", "torn.jsonl"], "torn.jsonl, line 1"),
        (["--scores", "empty.jsonl"], "holds no score"),
        (["--out", "runs.jsonl"], "--out 'runs.jsonl' cannot be written"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    label = '{"a": "a-t0", "b": "b-t0", "preferred": "a"}\n'
    (folder / "bad.jsonl").write_text(label + '{"a": "a-t1", "b": "b-t1", "preferred": "x"}\n', encoding="utf-8")
    (folder / "twice.jsonl").write_text(label + '{"a": "b-t0", "b": "a-t0", "preferred": "a"}\n', encoding="utf-8")
    (folder / "torn.jsonl").write_text('{"a": "a-t0"}\n', encoding="utf-8")
    (folder / "empty.jsonl").write_text("", encoding="utf-8")
    judge = [] if "--judge" in arguments else ["--judge", "fake/judge.yaml"]
    assert run(["pairwise", "runs.jsonl", *judge, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_runs_of_different_tasks_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "two.jsonl", [run_of("a", "t"), run_of("b", "u")])
    assert run(["pairwise", "two.jsonl", "--judge", "fake/judge.yaml"]) == 2
    assert "has another run of its task" in capsys.readouterr().err
