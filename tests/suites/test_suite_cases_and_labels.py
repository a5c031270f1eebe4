"""A production trace as a case, and what a suite found as labels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from suite_records import recorded

from judge.cli.main import run as judge
from judge.engine.suite import SuiteRun, run_traces
from judge.engine.suite_file import load_suite
from judge.engine.suite_labels import suite_labels

AT = "2026-11-30T00:00:00+00:00"


def trace(tmp_path: Path, id: str) -> str:
    made = recorded([("look", {}, 1), ("refund", {}, Exception("down"))], 'Say "no": #1', id=id, status="blocked")
    path = tmp_path / f"{id.replace('/', '_')}.jsonl"
    path.write_text(json.dumps(made.to_json()) + "\n", encoding="utf-8")
    return str(path)


def test_a_trace_becomes_a_case_that_its_own_run_passes(tmp_path: Path) -> None:
    suite = tmp_path / "new.yaml"
    assert judge(["cases", "add", trace(tmp_path, "prod/1"), "--suite", str(suite), "--tag", "hostile"]) == 0
    assert judge(["cases", "add", trace(tmp_path, "prod/2"), "--suite", str(suite)]) == 0
    one, two = load_suite(suite).cases
    assert (one.id, two.id, one.task, one.tags) == ("prod-1", "prod-2", "Please.", ("hostile",))
    # only what worked is asked for again
    assert (one.trajectory.must_call, one.trajectory.finish_status, one.trajectory.max_steps) == (
        ("look",),
        "blocked",
        6,
    )
    again = recorded([("look", {}, 1)], id="again", group="prod-1", status="blocked")
    result = run_traces(SuiteRun(load_suite(suite), tmp_path), [again])
    assert result.cases[0].status == "passed"


def test_a_case_of_a_known_id_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    suite = tmp_path / "new.yaml"
    path = trace(tmp_path, "prod")
    assert judge(["cases", "add", path, "--suite", str(suite)]) == 0
    before = suite.read_bytes()
    assert judge(["cases", "add", path, "--suite", str(suite)]) == 2
    assert suite.read_bytes() == before
    assert sorted(found.name for found in tmp_path.iterdir()) == ["new.yaml", "prod.jsonl"]


def test_checks_become_labels_of_their_kind_and_the_unmeasured_none(suite_of: Callable[..., SuiteRun]) -> None:
    text = """\
suite: s
attempts: 3
cases:
  - {id: one, outcome: reward, trajectory: {must_call: [look]}, split: holdout}
"""
    runs = [
        recorded([("look", {}, 1)], id="a", labels={"reward": 1}),
        recorded([], id="b", labels={"reward": 1}),
        recorded([("look", {}, 1)], id="c"),
    ]
    labels = list(suite_labels(run_traces(suite_of(text, split="all"), runs), labelled_at=AT))
    found = {(label.trajectory_id, label.criterion): (label.value, label.rater_kind) for label in labels}
    assert found == {
        ("a", "passed_outcome"): (1, "metric"),
        ("a", "passed_path"): (1, "policy"),
        ("a", "passed_case"): (1, "metric"),
        ("b", "passed_outcome"): (1, "metric"),
        ("b", "passed_path"): (0, "policy"),
        ("b", "passed_case"): (0, "metric"),
        ("c", "passed_path"): (1, "policy"),
    }
    assert {label.split for label in labels} == {"test"}
    assert next(label for label in labels if label.value == 0).note == "path:must_call:look"
