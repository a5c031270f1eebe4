"""Probe results beside the judges they are of, rubrics with other templates, and the certificate of a new judge."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from loopback import LoopbackServer, Received, Scripted, chat

from judge.calibration.sets import load_set
from judge.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
COMPARE = ["compare", "--set", "refunds", "--criterion", "passed_path"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    runs = [label for label in load_set("refunds").labels if label.criterion == "passed_path"]
    truth = {label.trajectory_id: 5 if label.value in (1, "pass", True) else 1 for label in runs}
    (tmp_path / "right.yaml").write_text(json.dumps({"trajectories": truth, "default": 1}), encoding="utf-8")
    return tmp_path


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert run([*COMPARE, *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_a_probe_stands_beside_exactly_the_judge_it_is_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    probe = ["probe", "--judge", "rules/process", "--rubric", "process", "--set", "refunds", "--limit", "3"]
    assert run([*probe, "--kinds", "faults,null", "--out", "probed", "--json"]) in (0, 1, 3)
    report = json.loads(capsys.readouterr().out)
    judges = ["-j", "rules/process", "-j", "fake/always-4"]
    found = answer(capsys, *judges, "--probes", "probed/probe.json", "--out", "report")
    rows = {row["judge"]: row["probes"] for row in found["judges"]}
    assert rows["fake/always-4"] is None
    assert rows["rules/process"]["source"] == "probe report"
    assert set(rows["rules/process"]["claims"]) == {"implanted_faults", "specificity_on_parents", "null_answers"}
    seen = rows["rules/process"]["claims"]["implanted_faults"]["value"]
    assert seen == report["all_faults"]["sensitivity"]["value"]
    text = (folder / "report" / "compare.txt").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("  fake/always-4 ")]
    assert line.endswith("not probed")
    assert "faults seen" in text
    # other sampling is another judge: the report is of none of these, and that is said before anything is judged
    assert run([*COMPARE, *judges, "--samples", "3", "--probes", "probed/probe.json"]) == 2
    assert "none of the compared judges" in capsys.readouterr().err


def test_a_certificate_brings_its_probes_into_the_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    probe = ["probe", "--judge", "rules/process", "--rubric", "process", "--set", "refunds", "--limit", "3"]
    assert run([*probe, "--kinds", "null", "--out", "probed"]) in (0, 1, 3)
    calibrate = ["calibrate", "refunds", "--judge", "rules/process", "--criterion", "passed_path"]
    assert run([*calibrate, "--probes", "probed/probe.json", "--profile", "advisory"]) == 0
    capsys.readouterr()
    found = answer(capsys, "-j", "rules/process", "-j", "fake/always-4")
    probes = next(row["probes"] for row in found["judges"] if row["judge"] == "rules/process")
    assert probes["source"].startswith("certificate ")
    assert set(probes["claims"]) == {"null_answers"}


def test_a_switch_can_certify_the_new_judge_with_the_exit_codes_of_a_calibration(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    switch = ["--old", "rules/process", "--new", "fake/right.yaml", "--certify"]
    found = answer(capsys, *switch, "--out", "report", code=3)  # 25 labels prove too little: undecided
    assert found["switch"]["new"] == "fake/right.yaml"
    certificate = found["certificate"]
    assert (certificate["decision"], certificate["scope"]["judge"]["name"]) == ("undecided", "fake/right.yaml")
    (written,) = Path(".judge/certificates").glob(f"{certificate['id']}.json")
    assert json.loads(written.read_text(encoding="utf-8"))["id"] == certificate["id"]
    for name in ("compare.txt", "compare.html"):
        assert f"Certificate {certificate['id']}" in (folder / "report" / name).read_text(encoding="utf-8")
    bad = answer(capsys, "--old", "fake/right.yaml", "--new", "fake/always-1", "--certify", code=1)
    assert bad["certificate"]["decision"] == "refused"
    assert run([*COMPARE, "-j", "rules/process", "-j", "fake/always-1", "--certify"]) == 2
    assert "--old and --new" in capsys.readouterr().err


def test_the_pass_mark_of_the_set_is_moved_to_the_new_judges_scale(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = json.loads((folder / "right.yaml").read_text(encoding="utf-8"))
    names = sorted(script["trajectories"])
    stricter = {name: 3 if script["trajectories"][name] == 5 else 1 for name in names}
    (folder / "strict.yaml").write_text(json.dumps({"trajectories": stricter, "default": 1}), encoding="utf-8")
    moved = answer(capsys, "--old", "fake/right.yaml", "--new", "fake/strict.yaml")["switch"]["moved_mark"]
    assert (moved["old"], moved["new"], moved["agree"], moved["changed"]) == (4, 3, 1.0, {})


def test_two_prompt_templates_of_one_rubric_are_compared_by_what_they_make_a_judge_say(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = (ROOT / "rubrics" / "process.yaml").read_text(encoding="utf-8")
    template = "template: |\n  Be as strict as you can.\n  Score each criterion.\n"
    strict = re.sub(r"(?m)^version:.*$", 'version: "strict"', shipped) + template
    (folder / "strict.yaml").write_text(strict, encoding="utf-8")

    def serve(received: Received) -> Scripted:
        strictly = "strict as you can" in json.dumps(received.body["messages"])
        return chat(
            json.dumps({"reason": "so it is", "evidence": [{"step": 1, "quote": ""}], "score": 1 if strictly else 5})
        )

    with LoopbackServer(serve) as server:
        command = ["-j", "openai/m", "-r", "process", "-r", "strict.yaml", "--base-url", f"{server.url}/v1"]
        found = answer(capsys, *command, "--samples", "1")
    rows = {row["judge"]: row for row in found["judges"]}
    assert set(rows) == {"openai/m, process 1", "openai/m, process strict"}
    assert rows["openai/m, process 1"]["tpr"]["value"] == 1.0
    assert rows["openai/m, process strict"]["tpr"]["value"] == 0.0
    assert rows["openai/m, process 1"]["work"]["tokens"] == 120.0
    assert found["separation"]["have"] == found["n"]
