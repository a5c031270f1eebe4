"""How a command ends: what it prints last, and its exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import judge
from judge.cli.main import run
from judge.errors import UsageError
from judge.report.folder import write_texts

MAIN = "from judge.cli.main import main; main()"
RUN = [{"type": "final", "text": "Open settings."}]


@pytest.mark.parametrize("command", ["score", "batch"])
def test_a_judge_that_fails_on_everything_ends_with_an_error_in_the_form_asked_for(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.json").write_text(json.dumps(RUN), encoding="utf-8")
    more = {"score": [], "batch": ["--quiet", "--out"]}[command]
    arguments = [command, "runs.json", "--judge", "fake/always-9", "--no-cache", *more]
    assert run([*arguments, *(["a"] if more else [])]) == 4
    assert "error: The judge failed on every trajectory." in capsys.readouterr().err
    assert run([*arguments, *(["b"] if more else []), "--json"]) == 4
    said = capsys.readouterr()
    assert json.loads(said.out)["summary"]["errors"] == {"out_of_range": 1}
    assert json.loads(said.err)["error"]["message"] == "The judge failed on every trajectory."


NO_MONEY = """
judge = "openai/m1"
max_usd_per_item = 0.0001

[providers.openai]
base_url = "http://127.0.0.1:9/v1"

[models."openai/m1"]
input_usd_per_million = 1000
output_usd_per_million = 1000
"""


@pytest.mark.parametrize("command", ["score", "batch", "pairwise"])
def test_a_cap_that_no_verdict_fits_under_ends_as_a_budget_does_and_is_named(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No call is made: nothing listens on that port. A provider that failed would be exit 4."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judge.toml").write_text(NO_MONEY, encoding="utf-8")
    runs = [{"schema": "judge.trajectory/1", "id": name, "group": "task", "source": {"format": "native"},
             "steps": [{"index": 1, "kind": "final", "text": name}]} for name in ("a", "b")]  # fmt: skip
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in runs), encoding="utf-8")
    more = ["--quiet", "--out", "run"] if command == "batch" else []
    assert run([command, "runs.jsonl", "--no-cache", *more, "--json"]) == 5
    said = capsys.readouterr()
    error = json.loads(said.err[said.err.index("{") :])["error"]
    assert error["kind"] == "budget_reached"
    assert "max_usd_per_item leaves no room for a verdict on any" in error["message"]
    assert "of $0.0001 is spent (max_usd_per_item)" in said.out


def test_a_reader_that_goes_away_is_no_failure_of_a_check_and_no_pass(tmp_path: Path) -> None:
    """More than a pipe holds, so that the command is still writing when the pipe is closed."""
    lines = (json.dumps([{"type": "final", "text": f"{number} {'x' * 400}"}]) for number in range(300))
    (tmp_path / "runs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    arguments = [sys.executable, "-c", MAIN, "convert", "runs.jsonl"]
    assert subprocess.run([*arguments, "--json"], cwd=tmp_path, capture_output=True, check=False).returncode == 0
    show = [sys.executable, "-c", MAIN, "show", "runs.jsonl"]
    with subprocess.Popen(show, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=120) == 141


@pytest.mark.parametrize("arguments", [[], ["config"]])
def test_a_group_without_a_command_prints_its_help_and_no_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("Usage: ")
    assert "Commands:" in said.err
    assert "error" not in said.err


def test_python_minus_m_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "judge", "--version"], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (judge.__version__, "")


def test_a_missing_extra_is_told_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for name in [name for name in sys.modules if name.startswith("judge.server")]:
        monkeypatch.delitem(sys.modules, name)
    assert run(["serve"]) == 2
    said = capsys.readouterr().err
    assert "uvicorn is not installed." in said
    assert 'pip install "trajudge[serve]"' in said


REPORTS = {
    "probe": ["probe", "--set", "refunds", "--kinds", "null", "--limit", "1"],
    "calibrate": ["calibrate", "docs_search", "--samples", "1"],
    "compare": ["compare", "--set", "docs_search", "--judge", "fake/always-1"],
}


@pytest.mark.parametrize("command", REPORTS)
def test_a_place_where_no_report_can_be_is_refused_before_anything_is_judged(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    counted: list[str] = []
    monkeypatch.setattr("judge.engine.judging.Judging.begin", lambda *_: counted.append("begun"))
    for out, said in (("taken", "is a file"), ("taken/below/it", "lies below 'taken', which is no folder")):
        assert run([*REPORTS[command], "--judge", "fake/always-4", "--out", out]) == 2
        assert f"--out '{out}' {said}" in capsys.readouterr().err
    assert (counted, (tmp_path / "taken").read_text(encoding="utf-8")) == ([], "mine")


def test_a_guarantee_is_not_written_where_a_folder_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["escalate", "--set", "docs_search", "--judge", "fake/always-4", "--out", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_reports_that_cannot_be_written_after_all_are_an_error_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="Reports cannot be written") as caught:
        write_texts({"a.txt": "a"}, tmp_path / "taken")
    assert "not paid for again" in caught.value.hint


def test_one_of_a_thing_is_said_in_the_singular(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.json").write_text(json.dumps(RUN), encoding="utf-8")
    assert run(["score", "one.json", "--judge", "rules/process", "--dry-run"]) == 0
    assert run(["convert", "one.json", "--out", "one.jsonl"]) == 0
    assert run(["show", "one.json", "--html", "one.html"]) == 0
    assert run(["rubrics", "lint", "process"]) == 0
    said = "".join(capsys.readouterr())
    for words in ("1 trajectory under rubric", "1 trajectory (", "Wrote 1 trajectory to", "1 rubric, 0 findings"):
        assert words in said
    assert "1 trajectories" not in said
