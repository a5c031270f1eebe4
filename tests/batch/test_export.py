"""A run as JSON Lines, CSV and Parquet, by the command line."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from batch_items import GOOD, RUBRIC, JudgeServer, name_of, settings_of, write_items
from loopback import Scripted, chat

from judge.cli.main import run as command
from judge.engine.batch import judge_batch
from judge.errors import UsageError
from judge.store.export import export_run
from judge.store.run_folder import RunFolder

FORMULA = json.dumps({"reason": "=HYPERLINK(1)", "score": 5})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of five: item 1 failed, item 3 was refused a formula for a reason."""
    source = write_items(tmp_path / "in.jsonl", 5)

    def answer(item: str, before: int) -> Scripted:
        if item == name_of(1):
            return Scripted(400, {"error": {"message": "no"}})
        return chat(FORMULA if item == name_of(3) else GOOD, delay=0.1 if item == name_of(0) else 0.0)

    with JudgeServer(answer) as server:
        judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings_of(tmp_path, server.url))
    return tmp_path / "run"


WANTED = [(name_of(0), "ok", 4.0), (name_of(1), "error", None), (name_of(2), "ok", 4.0), (name_of(3), "ok", 5.0),
          (name_of(4), "ok", 4.0)]  # fmt: skip


def test_json_lines_hold_whole_verdicts_in_the_order_of_the_input(folder: Path, tmp_path: Path) -> None:
    assert command(["runs", "export", str(folder), "--out", str(tmp_path / "out.jsonl")]) == 0
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["trajectory_id"], row["status"], row["score"]) for row in rows] == WANTED
    assert rows[1]["errors"][0]["kind"] == "request_refused"


def test_csv_has_no_number_where_there_is_none_and_no_live_formula(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["runs", "export", str(folder), "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(r["trajectory_id"], r["status"], float(r["score"]) if r["score"] else None) for r in rows] == WANTED
    assert (rows[1]["score:quality"], rows[1]["error_kind"]) == ("", "request_refused")
    assert rows[3]["reason"] == "'=HYPERLINK(1)"


def test_parquet_is_read_by_pandas(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    target = tmp_path / "out.parquet"
    assert command(["runs", "export", str(folder), "--out", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"] == 5
    frame = pandas.read_parquet(target)
    found: list[Any] = [
        (row.trajectory_id, row.status, None if pandas.isna(row.score) else row.score) for row in frame.itertuples()
    ]
    assert found == WANTED
    assert frame["calls"].dtype == "int64"
    assert list(target.parent.glob(".export-*")) == []


def test_a_format_that_is_not_known_is_named(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["runs", "export", str(folder), "--out", str(tmp_path / "out.xlsx")]) == 2
    assert "jsonl, csv, parquet" in capsys.readouterr().err


def test_a_run_is_listed_and_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["runs", "list", str(folder.parent), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (run["folder"], run["items"], run["pending"], run["by_status"]) == (str(folder), 5, 1, {"error": 1, "ok": 4})
    assert command(["runs", "show", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "5 trajectories, 1 left to judge" in shown
    assert "4 of 5 scored, mean 4.25 of 1-5" in shown  # (4 + 4 + 5 + 4) / 4
    assert command(["runs", "show", str(folder.parent / "none")]) == 2
    assert "There is no run in" in capsys.readouterr().err


def test_a_run_is_shown_alike_from_its_saved_summary_and_from_its_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "judge.toml").write_text("[stop]\nrisk = 0\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    source = write_items(tmp_path / "in.jsonl", 3)
    asked = ["batch", str(source), "--judge", "fake/always-4", "--rubric", "process", "--out", str(tmp_path / "run")]
    assert command([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["summary"]
    assert told["stopping"]["drawn"] < told["stopping"]["most"]
    for gone in (None, "summary.json"):
        if gone is not None:
            (tmp_path / "run" / gone).unlink()
            told["cache_failures"] = None  # of the session; verdicts do not hold it
        assert command(["runs", "show", str(tmp_path / "run"), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["summary"] == told


@pytest.mark.skipif(sys.platform == "win32", reason="has no such permissions")
def test_files_of_a_run_and_exports_may_be_read_by_whom_new_files_may_be_read(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "any").write_text("x", encoding="utf-8")
    any_new_file = (tmp_path / "any").stat().st_mode
    for name in ("out.csv", "out.jsonl"):
        assert command(["runs", "export", str(folder), "--out", str(tmp_path / name)]) == 0
        assert (tmp_path / name).stat().st_mode == any_new_file
    assert {path.name: path.stat().st_mode for path in folder.iterdir()} == {
        path.name: any_new_file for path in folder.iterdir()
    }


def test_an_export_that_cannot_be_written_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x", encoding="utf-8")
    with (
        pytest.raises(UsageError, match=r"taken.* cannot be written.*name another file"),
        RunFolder.read(folder) as run,
    ):
        export_run(run, tmp_path / "taken" / "out.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "in.jsonl", "run", "taken"]


def test_the_list_of_runs_tells_what_failed_and_what_was_spent(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["runs", "list", str(tmp_path)]) == 0
    header, _, row = capsys.readouterr().out.splitlines()
    assert header.split()[-3:] == ["done", "errors", "spent"]
    assert row.split()[-3:-1] == ["4/5", "1"]
    assert row.split()[-1].startswith("$")
    for name, files in {"broken": ["index.sqlite"], "other": []}.items():  # the second is not one of ours
        (tmp_path / name).mkdir()
        for file in ("manifest.json", *files):
            (tmp_path / name / file).write_text("{", encoding="utf-8")
    assert command(["runs", "list", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [run["folder"] for run in told["runs"]] == [str(folder)]
    assert list(told["unreadable"]) == [str(tmp_path / "broken")]
    assert command(["runs", "list", str(tmp_path)]) == 0
    assert "left out: The manifest of" in capsys.readouterr().err
    assert command(["runs", "list", str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_an_export_says_whose_score_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "split.yaml").write_text("default: [5, 1, 5]\n", encoding="utf-8")
    source = write_items(tmp_path / "in.jsonl", 1)
    for to, wanted in (("fake/always-4", ("fake/always-4", "4.0")), ("person", ("person", ""))):
        out = str(tmp_path / to.replace("/", "-"))
        arguments = ["--judge", f"fake/{tmp_path / 'split.yaml'}", "--samples", "3", "--no-cache", "--escalate-to", to]
        assert command(["batch", str(source), "--out", out, *arguments]) == 0
        capsys.readouterr()
        assert command(["runs", "export", out, "--format", "csv"]) == 0
        (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
        assert (row["decided_by"], row["score"]) == wanted
