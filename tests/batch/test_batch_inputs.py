"""Inputs and outputs of a batch that are broken or misplaced: nothing is missing or overwritten in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from batch_items import name_of, write_items

from judge.cli.main import run
from judge.engine.batch import judge_batch
from judge.engine.control import Control
from judge.engine.run import Count
from judge.errors import TerminalError, UsageError
from judge.importers import load, write_jsonl
from judge.report.verdicts import summary_text
from judge.store.export import export_run
from judge.store.run_folder import RunFolder

RULES = {"judge": "rules/process", "cache": False}


def _torn(path: Path) -> Path:
    """Four trajectories, of which the second and the last are broken off."""
    write_items(path, 4)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([lines[0], lines[1][:40], lines[2], lines[3][:40]]), encoding="utf-8")
    return path


def test_lines_of_the_input_that_cannot_be_read_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = _torn(tmp_path / "in.jsonl"), str(tmp_path / "run")
    arguments = ["batch", str(source), "--judge", "rules/process", "--out", out]
    for further in ([], ["--resume"]):
        assert run([*arguments, *further]) == 0
        assert "Lines of the input that hold nothing of a trajectory, and are in no count: 2" in capsys.readouterr().err
    assert run(["runs", "show", out]) == 0
    assert "lines of the input that hold nothing of a trajectory: 2" in capsys.readouterr().out
    assert run(["runs", "show", out, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert (counts["items"], counts["unread_lines"]) == (2, 2)


def test_commands_over_traces_tell_lines_that_they_pass_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = _torn(tmp_path / "in.jsonl")
    for command in (["metrics"], ["score", "--judge", "rules/process"]):
        assert run([command[0], str(source), *command[1:], "--json"]) == 0
        said = capsys.readouterr()
        assert len(json.loads(said.out)["results"]) == 2
        assert f"{source}: 2 lines hold nothing of a trajectory, and in no count: line 2 is not JSON" in said.err


@pytest.mark.parametrize("line", ["null", "[1, 2]", "{}", '{"id": "t9", "error": "no run"}'])
@pytest.mark.parametrize("native", [False, True])
def test_a_line_that_is_json_and_no_run_is_told_like_one_that_is_none(line: str, native: bool, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    write_items(source, 2)
    if native:
        write_jsonl(list(load(source)), tmp_path / "native.jsonl")
        source = tmp_path / "native.jsonl"
    first, second = source.read_text(encoding="utf-8").splitlines()
    source.write_text("\n".join([first, line, second]) + "\n", encoding="utf-8")
    told: list[str] = []
    found = list(load(source, unread=lambda note: told.append(f"{note.code}: {note.message}")))
    assert len(found) == 2
    assert told == ["NOT_A_RUN: line 2 holds nothing of a run and was passed over"]
    assert [note.code for run in found for note in run.diagnostics if note.code == "NOT_A_RUN"] == ["NOT_A_RUN"]


def test_a_clean_input_tells_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_items(tmp_path / "in.jsonl", 2)
    assert run(["batch", str(source), "--judge", "rules/process", "--out", str(tmp_path / "run")]) == 0
    assert run(["metrics", str(source)]) == 0
    assert capsys.readouterr().err == ""


def test_an_export_does_not_write_over_the_run_or_its_input(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 3)
    judge_batch([source], "process", out=tmp_path / "run", **RULES)
    before = {path: path.read_bytes() for path in (source, tmp_path / "run" / "results.jsonl")}
    with RunFolder.read(tmp_path / "run") as folder:
        for path in (*before, tmp_path / "run" / "." / "manifest.json", tmp_path / "run" / "people.jsonl"):
            with pytest.raises(UsageError, match="belongs to the run"):
                export_run(folder, path, "jsonl")
        assert export_run(folder, tmp_path / "run" / "export.jsonl") == 3
    assert {path: path.read_bytes() for path in before} == before


def test_an_export_of_an_unfinished_run_says_how_many_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = write_items(tmp_path / "in.jsonl", 3), str(tmp_path / "run")
    assert run(["batch", str(source), "--judge", "rules/process", "--out", out, "--deadline", "0"]) == 5
    capsys.readouterr()
    assert run(["runs", "export", out, "--out", str(tmp_path / "x.csv")]) == 0
    assert "no verdict yet: 3" in capsys.readouterr().err
    assert run(["runs", "export", out, "--out", str(tmp_path / "x.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"path": str(tmp_path / "x.csv"), "verdicts": 0, "missing": 3}


def test_a_folder_as_input_is_refused_with_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read") as caught:
        judge_batch([tmp_path], "process", out=tmp_path / "run", **RULES)
    assert "by a pattern" in caught.value.hint


def test_what_a_server_said_ends_before_the_count_begins() -> None:
    ended = Count(10).cause(TerminalError("openai/m answered 401: bad key", provider="openai/m", reason="auth"))
    assert str(ended).startswith("openai/m answered 401: bad key. 0 judged, 10 left.")


def test_what_was_not_judged_yet_is_in_the_coverage_and_in_the_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four of ten have a five on a scale of 1 to 5: the mean of all lies between (20 + 6) / 10 and (20 + 30) / 10."""
    source, out = write_items(tmp_path / "in.jsonl", 10), tmp_path / "run"
    control = Control()
    outcome = judge_batch(
        [source],
        "process",
        out=out,
        judge="fake/always-5",
        cache=False,
        concurrency=1,
        min_coverage=0.9,
        control=control,
        progress=lambda progress: control.drain("interrupt") if progress.done == 4 else None,
    )
    summary = outcome.result.summary
    assert (summary.scored, summary.total, summary.unjudged, summary.coverage) == (4, 4, 6, 0.4)
    assert (summary.mean, summary.low, summary.high) == (5, 2.6, 5)
    assert (summary.gate, summary.gate_reason) == ("fail", "coverage: 4 of 10 scored, at least 0.9 needed")
    assert "4 of 10 scored, 6 not judged yet, mean 5 of 1-5 (between 2.6 and 5" in summary_text(summary)
    assert run(["runs", "show", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"] == summary.to_json()
    again = judge_batch([source], "process", out=out, judge="fake/always-5", cache=False, resume=True)
    assert (again.result.summary.unjudged, again.result.summary.coverage) == (0, 1.0)


def test_new_input_without_a_session_is_seen_as_not_judged(tmp_path: Path) -> None:
    source, out = write_items(tmp_path / "in.jsonl", 2), tmp_path / "run"
    judge_batch([source], "process", out=out, **RULES)
    write_items(source, 5)
    ended = Control(deadline_s=0.0)
    result = judge_batch([source], "process", out=out, resume=True, new_input=True, control=ended, **RULES).result
    assert (result.judged, result.summary.total, result.summary.unjudged) == (0, 2, 3)


def test_a_summary_is_of_the_input_that_it_is_shown_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = write_items(tmp_path / "in.jsonl", 5), tmp_path / "run"
    judge_batch([source], "process", out=out, **RULES)
    write_items(source, 3)
    result = judge_batch([source], "process", out=out, resume=True, new_input=True, **RULES).result
    assert (result.judged, result.items, result.summary.total, result.summary.scored) == (0, 3, 3, 3)
    assert run(["runs", "show", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "3 of 3 scored" in shown
    assert "2 verdicts of trajectories that are no longer in the input" in shown


def test_a_run_whose_index_is_lost_does_not_tell_numbers_of_its_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = write_items(tmp_path / "in.jsonl", 4), tmp_path / "run"
    judge_batch([source], "process", out=out, **RULES)
    for path in out.glob("index.sqlite*"):
        path.unlink()
    assert run(["runs", "show", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "4 trajectories with a verdict; how many there are is not known" in shown
    assert "no longer in the input" not in shown
    assert run(["runs", "list", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split()[-3:-1] == ["unknown", "unknown"]
    assert run(["runs", "list", str(tmp_path), "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["runs"]
    assert (listed["items"], listed["pending"], listed["by_status"]) == (None, None, None)
    judge_batch([source], "process", out=out, resume=True, **RULES)
    assert run(["runs", "show", str(out)]) == 0
    assert "4 trajectories, 0 left to judge" in capsys.readouterr().out


def test_a_verdict_on_an_earlier_content_does_not_count(tmp_path: Path) -> None:
    source, out = write_items(tmp_path / "in.jsonl", 3), tmp_path / "run"
    judge_batch([source], "process", out=out, **RULES)
    write_items(source, 3, said={name_of(1): "something else"})
    ended = Control(deadline_s=0.0)
    result = judge_batch([source], "process", out=out, resume=True, new_input=True, control=ended, **RULES).result
    assert (result.kept, result.pending, result.summary.scored, result.summary.unjudged) == (2, 1, 2, 1)
    with RunFolder.read(out) as folder:
        assert [verdict.trajectory_id for verdict in folder.verdicts()] == [name_of(0), name_of(2)]
    again = judge_batch([source], "process", out=out, resume=True, **RULES).result
    assert (again.judged, again.kept, again.summary.scored, again.summary.unjudged) == (1, 2, 3, 0)
