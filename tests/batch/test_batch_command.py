"""`judge batch` as a command: its JSON, its exit statuses, its progress."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from batch_items import write_items

from judge.cli.main import run as command
from judge.engine.run import Progress
from judge.report.runs import duration, progress_text


@pytest.fixture
def batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`judge batch` over four items in a folder of its own."""
    monkeypatch.setenv("JUDGE_CACHE_DIR", str(tmp_path / "cache"))
    write_items(tmp_path / "in.jsonl", 4)

    def run(*more: str, judge: str = "fake/always-4") -> int:
        fixed = ["batch", str(tmp_path / "in.jsonl"), "-r", "process", "-j", judge, "-o", str(tmp_path / "run")]
        return command([*fixed, *more])

    return run


def test_one_json_document_on_stdout(batch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert batch("--json") == 0
    result = json.loads(capsys.readouterr().out)
    wanted = {"items": 4, "judged": 4, "kept": 0, "pending": 0, "stopped": None, "usd_per_verdict": 0.0}
    assert {name: result[name] for name in wanted} == wanted
    assert (result["summary"]["scored"], result["summary"]["mean"]) == (4, 4)
    assert batch("--json", "--resume") == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["judged"], again["kept"], again["summary"]) == (0, 4, result["summary"])


def test_a_second_start_without_resume_is_a_usage_error(batch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert batch() == 0
    assert batch() == 2
    assert "--resume" in capsys.readouterr().err


def test_a_judge_that_fails_on_everything_is_exit_4(batch: Any, tmp_path: Path) -> None:
    script = tmp_path / "broken.yaml"
    script.write_text("default: {text: prose}\n", encoding="utf-8")
    assert batch(judge=f"fake/{script}") == 4


def test_coverage_below_the_least_is_exit_1(batch: Any, tmp_path: Path) -> None:
    script = tmp_path / "half.yaml"
    script.write_text("default: 4\ntrajectories: {item-0001: {text: prose}}\n", encoding="utf-8")
    assert batch("--min-coverage", "0.9", judge=f"fake/{script}") == 1
    assert batch("--min-coverage", "0.9", "--resume", judge=f"fake/{script}") == 1
    assert batch("--min-coverage", "0.5", "--resume", judge=f"fake/{script}") == 0


def test_time_that_is_over_is_exit_5(batch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert batch("--deadline", "0") == 5
    captured = capsys.readouterr()
    assert "the time given is over" in captured.out
    assert "4 left; run again with --resume" in captured.err
    assert batch("--resume") == 0


def test_a_rubric_that_changed_is_exit_2_and_named(batch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert batch() == 0
    assert batch("--resume", "-r", "efficiency") == 2
    assert "rubric: other content" in capsys.readouterr().err


def test_progress_says_rate_time_left_cost_and_errors() -> None:
    errors = Counter({"timeout": 1, "rate_limit": 3})
    progress = Progress(1200, 5000, 4, 1300, 20, 1.2, errors)
    # 1,200 in 4 s are 300 a second; 3,800 more take 12.7 s
    assert progress_text(progress, 4.0) == "1,200 of 5,000, 300/s, 13 s left, $1.20, errors: 3 rate_limit, 1 timeout"
    unknown = Progress(5, None, 0, 5, 0, None)
    assert progress_text(unknown, 0.0) == "5, cost unknown"


@pytest.mark.parametrize(("seconds", "text"), [(12.4, "12 s"), (150, "2 min"), (9000, "2.5 h")])
def test_durations_in_words(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_run_of_another_form_is_refused_with_both_forms_named(
    batch: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert batch() == 0
    manifest = tmp_path / "run" / "manifest.json"
    kept = (tmp_path / "run" / "results.jsonl").read_bytes()
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("judge.run/1", "judge.run/9"), encoding="utf-8")
    capsys.readouterr()
    assert batch("--resume") == 2
    assert "of the form 'judge.run/9', and this version reads judge.run/1" in capsys.readouterr().err
    assert (tmp_path / "run" / "results.jsonl").read_bytes() == kept
