"""`judge calibrate` on a set of one's own, then `judge score --require-trust`: what opens and what shuts the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from judge.cli.main import run

RUNS = 120
RUBRIC = """\
id: polite
version: "1"
title: Politeness
intent: Whether the agent stayed polite.
criteria:
  - id: polite
    question: Did the agent stay polite?
    scale: binary
    evidence: none
"""


def trajectory(name: str, agent: str = "alpha") -> dict[str, Any]:
    return {
        "schema": "judge.trajectory/1",
        "id": name,
        "task": "Say hello.",
        "source": {"format": "native"},
        "agents": [{"name": agent}],
        "steps": [
            {"index": 1, "kind": "message", "role": "user", "content": [{"type": "text", "text": "Say hello."}]},
            {
                "index": 2, "kind": "message", "role": "assistant", "agent": agent,
                "content": [{"type": "text", "text": f"Hello from {name}."}],
            },
        ],
    }  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a set of 120 runs of known label, a judge that knows them, and one new run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "JUDGE_CONFIG", "JUDGE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    Path("polite.yaml").write_text(RUBRIC, encoding="utf-8")
    truth = {f"t{i}": i % 2 for i in range(RUNS)}
    words = {name: "pass" if value else "fail" for name, value in truth.items()}
    Path("knows.yaml").write_text(yaml.safe_dump({"trajectories": words, "default": "pass"}), encoding="utf-8")
    folder = tmp_path / "own"
    folder.mkdir()
    lines([trajectory(name) for name in truth], folder / "trajectories.jsonl")
    lines([label(name, value) for name, value in truth.items()], folder / "labels.jsonl")
    (folder / "card.md").write_text("Labelled by the authors of this test.\n", encoding="utf-8")
    settings(folder)
    lines([trajectory("new")], Path("new.jsonl"))
    return tmp_path


def lines(rows: list[dict[str, Any]], path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def label(name: str, value: int, kind: str = "human") -> dict[str, Any]:
    return {"trajectory_id": name, "criterion": "polite", "value": value, "rater": "ann", "rater_kind": kind}


def settings(folder: Path, **more: Any) -> None:
    value = {
        "name": "own",
        "title": "Polite runs",
        "criteria": [{"id": "polite", "rubric": "polite", "scale": "binary"}],
        "sampling_design": "random",
        "licence": "CC0-1.0",
        "claims": [{"name": name} for name in ("tnr", "tpr", "kappa", "leniency")],
    } | more
    (folder / "set.yaml").write_text(yaml.safe_dump(value), encoding="utf-8")


def calibrated(capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    arguments = ["calibrate", "own", "--judge", "fake/knows.yaml", "--rubric", "polite.yaml", "-n", "3", "--json"]
    code = run([*arguments, *more])
    return code, json.loads(capsys.readouterr().out)


def scored(capsys: pytest.CaptureFixture[str], *more: str, samples: str = "3") -> tuple[int, dict[str, Any]]:
    """Exit status of `judge score --require-trust`, and the error that it prints where there is one."""
    arguments = ["score", "new.jsonl", "--judge", "fake/knows.yaml", "--rubric", "polite.yaml", "-n", samples]
    code = run([*arguments, "--require-trust", "--json", *more])
    error = capsys.readouterr().err.strip()
    return code, json.loads(error.split("\n")[-1])["error"] if error else {}


def test_a_certified_judge_passes_and_each_change_shuts_the_gate_and_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, error = scored(capsys)
    assert code == 3
    assert "No certificate for fake/knows.yaml" in error["message"]
    code, answer = calibrated(capsys)
    assert (code, answer["certificate"]["decision"]) == (0, "certified")
    assert scored(capsys) == (0, {})

    code, error = scored(capsys, samples="5")
    assert code == 3
    assert "samples: 3 when certified, 5 now." in error["message"]
    code, error = scored(capsys, "--vote", "majority")
    assert code == 3
    assert "vote: auto when certified, majority now." in error["message"]

    Path("polite.yaml").write_text(RUBRIC.replace("stay polite?", "stay polite!"), encoding="utf-8")
    code, error = scored(capsys)
    assert code == 3
    assert "The rubric 'polite' has changed (version '1' both times)." in error["message"]
    Path("polite.yaml").write_text(RUBRIC, encoding="utf-8")
    assert scored(capsys)[0] == 0

    lines([trajectory("new", agent="stranger")], Path("new.jsonl"))
    code, error = scored(capsys)
    assert code == 3
    assert "Agent stranger is not among those certified: alpha." in error["message"]
    lines([{**trajectory("new"), "agents": [], "steps": trajectory("new")["steps"][:1]}], Path("new.jsonl"))
    assert "The run names no agent; certified are alpha." in scored(capsys)[1]["message"]


def test_an_edited_certificate_does_not_open_the_gate(capsys: pytest.CaptureFixture[str]) -> None:
    _, answer = calibrated(capsys)
    path = Path(".judge/certificates") / f"{answer['certificate']['id']}.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"n_labels": 120', '"n_labels": 999'), encoding="utf-8")
    code, error = scored(capsys)
    assert code == 3
    assert "was changed after it was issued" in error["message"]


def test_a_verdict_carries_its_trust_though_trust_was_not_required(capsys: pytest.CaptureFixture[str]) -> None:
    _, answer = calibrated(capsys)
    arguments = ["score", "new.jsonl", "--judge", "fake/knows.yaml", "--rubric", "polite.yaml", "--json"]
    states = {}
    for samples in ("3", "5"):
        assert run([*arguments, "-n", samples]) == 0
        states[samples] = json.loads(capsys.readouterr().out)["results"][0]["trust"]
    assert states["3"]["state"] == "certified"
    assert states["3"]["certificate"] == answer["certificate"]["id"]
    assert states["5"]["state"] == "out_of_scope"


def test_a_judge_shown_to_be_bad_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("knows.yaml").write_text("default: pass\n", encoding="utf-8")
    code, answer = calibrated(capsys)
    assert (code, answer["certificate"]["decision"]) == (1, "refused")
    code, error = scored(capsys)
    assert code == 3
    assert "is refused: failed runs caught" in error["message"]


def relabelled(folder: Path, kind: str) -> None:
    rows = [json.loads(line) for line in (folder / "labels.jsonl").read_text(encoding="utf-8").split("\n") if line]
    lines([row | {"rater_kind": kind} for row in rows], folder / "labels.jsonl")


@pytest.mark.parametrize(
    ("kind", "allowed", "decision"),
    [
        ("human", ["human"], "certified"),
        ("policy", ["human"], "undecided"),
        ("policy", ["human", "policy"], "certified"),
        ("metric", ["human", "metric"], "undecided"),
        ("model", ["human", "model"], "undecided"),
    ],
)
def test_the_kind_of_label_decides_whether_the_gate_may_open(
    capsys: pytest.CaptureFixture[str], home: Path, kind: str, allowed: list[str], decision: str
) -> None:
    settings(home / "own", label_kinds_allowed=allowed)
    relabelled(home / "own", kind)
    code, answer = calibrated(capsys)
    found = answer["certificate"]
    assert (found["decision"], found["scope"]["label_kinds"]) == (decision, [kind])
    assert code == (0 if decision == "certified" else 3)
    if decision == "undecided":
        assert f"Labels of kind {kind} do not open the gate" in found["reasons"][0]
        assert ("No setting allows these." in found["reasons"][0]) == (kind != "policy")


def test_the_certificate_counts_how_often_its_labels_were_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert [calibrated(capsys)[1]["certificate"]["label_uses"] for _ in range(2)] == [1, 1]
    Path("polite.yaml").write_text(RUBRIC.replace("stay polite?", "stay kind?"), encoding="utf-8")
    assert calibrated(capsys)[1]["certificate"]["label_uses"] == 2


def test_labels_under_another_version_of_the_rubric_do_not_count_in_silence(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    rows = [json.loads(line) for line in (home / "own/labels.jsonl").read_text(encoding="utf-8").split("\n") if line]
    for row in rows[:20]:
        row["rubric_version"] = "0"
    lines(rows, home / "own/labels.jsonl")
    report = calibrated(capsys)[1]["report"]
    assert report["n"] == RUNS - 20
    assert report["left_out"]["label made under another version of the rubric than '1'"] == 20
    assert report["left_out"]["verdict without a label"] == 20


def test_repeats_measure_wobble_and_leave_the_judge_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    answer = calibrated(capsys, "--repeats", "5")[1]
    assert answer["report"]["wobble"][0]["found"]["repeats"] == 5
    assert answer["certificate"]["scope"]["judge"]["samples"] == 3
    assert scored(capsys)[0] == 0


def test_a_signed_certificate_opens_the_gate_and_a_bad_key_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cryptography")
    Path("key").write_bytes(bytes(range(32)))
    assert calibrated(capsys, "--sign", "key")[1]["certificate"]["signature"]["algorithm"] == "ed25519"
    assert scored(capsys)[0] == 0
    Path("key").write_bytes(b"short")
    for path, said in (("key", "holds 5 bytes"), ("none", "No such file")):
        assert run(["calibrate", "own", "--judge", "fake/knows.yaml", "--rubric", "polite.yaml", "--sign", path]) == 2
        assert said in capsys.readouterr().err
