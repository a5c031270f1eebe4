"""The shipped calibration sets load, are reproducible, and have both classes on both sides."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from judge.calibration.sets import load_set, set_names
from judge.registry import find, shipped
from judge.types import Trajectory

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("docs_search", "refunds", "returns")

# Written down by hand; a change of the sets has to be made here as well.
FAULTS = {
    "docs_search": {
        "wasteful_repeat": 17,
        "gave_up": 15,
        "wandering": 6,
        "stalled": 11,
        "half_searched": 4,
        "ungrounded": 4,
        "wasteful_reworded": 3,
        "none": 48,
    },
    "refunds": {
        "skipped_account": 3,
        "skipped_article": 2,
        "escalated_blind": 2,
        "auto_approved": 2,
        "late_approval": 2,
        "over_refund": 1,
        "unsafe": 4,
        "refunded_anyway": 2,
        "false_claim": 2,
        "extra_reading": 1,
        "none": 19,
    },
    "returns": {
        "extra_lookup": 3,
        "gave_up_at_first_failure": 5,
        "skipped_check": 3,
        "tools_on_unsupported": 3,
        "invented_number": 4,
        "returned_ineligible": 3,
        "retried_for_ever": 3,
        "false_unavailable": 4,
        "none": 20,
    },
}


def test_the_three_sets_are_shipped() -> None:
    assert set(NAMES) <= set(set_names())


def test_building_again_gives_the_same_bytes(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "build_calibration_sets.py"
    subprocess.run([sys.executable, str(script), "--out", str(tmp_path)], check=True, capture_output=True)
    for name in NAMES:
        for file in ("trajectories.jsonl", "labels.jsonl", "card.md"):
            built = (tmp_path / name / file).read_bytes()
            assert built == (shipped("calibration_sets") / name / file).read_bytes(), f"{name}/{file}"


@pytest.mark.parametrize("name", NAMES)
def test_faults_are_as_many_as_written_down(name: str) -> None:
    notes = [label.note for label in load_set(name).labels if label.criterion == "process"]
    counted = Counter("none" if note.startswith("no fault") else note.removeprefix("fault: ") for note in notes)
    assert counted == FAULTS[name]


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_by_construction_and_say_so(name: str) -> None:
    loaded = load_set(name)
    assert {label.rater_kind for label in loaded.labels} == {"policy"}
    assert {label.rater for label in loaded.labels} == {"construction"}
    assert {label.rubric_version for label in loaded.labels} == {"1"}
    assert {label.labelled_at for label in loaded.labels} == {"2026-11-30"}
    assert loaded.settings.sampling_design == "constructed"
    assert loaded.settings.label_kinds_allowed == ("policy",)
    assert "none of these labels is human" in loaded.card


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("split", ["dev", "test"])
def test_each_split_has_both_classes_and_neither_is_rare(name: str, split: str) -> None:
    values = [x.value for x in load_set(name).labels if x.criterion == "passed_path" and x.split == split]
    assert len(values) >= 15
    assert 0.4 <= sum(values) / len(values) <= 0.6


@pytest.mark.parametrize("name", NAMES)
def test_every_run_has_both_labels_and_passing_is_the_cut_of_process(name: str) -> None:
    loaded = load_set(name)
    by = {(label.trajectory_id, label.criterion): label for label in loaded.labels}
    cut = loaded.settings.criterion("passed_path")
    assert cut is not None
    assert cut.pass_mark == 4
    assert len(by) == 2 * len(loaded.trajectories)
    for run in loaded.trajectories:
        process, passed = by[run.id, "process"], by[run.id, "passed_path"]
        assert passed.value == (process.value >= cut.pass_mark)
        assert (process.split, process.note) == (passed.split, passed.note)


@pytest.mark.parametrize("name", NAMES)
def test_labels_fit_the_rubric_that_they_were_made_under(name: str) -> None:
    rubric = yaml.safe_load((shipped("rubrics") / "process.yaml").read_text(encoding="utf-8"))
    (asked,) = rubric["criteria"]
    loaded = load_set(name)
    for criterion in loaded.settings.criteria:
        assert (criterion.rubric, criterion.rubric_version) == (rubric["id"], rubric["version"])
        assert asked["id"] in (criterion.id, criterion.judged_by)
    levels = {level["value"] for level in asked["scale"]}
    assert {label.value for label in loaded.labels if label.criterion == "process"} <= levels


@pytest.mark.parametrize("name", NAMES)
def test_population_of_the_settings_is_that_of_the_runs(name: str) -> None:
    loaded = load_set(name)
    said = loaded.settings.population
    lengths = [len(run.steps) for run in loaded.trajectories]
    assert (said.min_steps, said.max_steps) == (min(lengths), max(lengths))
    assert set(said.agents) == {agent.name for run in loaded.trajectories for agent in run.agents}
    assert set(said.tools) == {tool.name for run in loaded.trajectories for tool in run.tools}


@pytest.mark.parametrize("name", NAMES)
def test_calls_and_results_pair_up_and_time_goes_on(name: str) -> None:
    for run in load_set(name).trajectories:
        calls = {step.index: step for step in run.steps if step.kind == "tool_call"}
        results = [step for step in run.steps if step.kind == "tool_result"]
        assert [step.index for step in run.steps] == list(range(1, len(run.steps) + 1))
        assert sorted(result.call_index or 0 for result in results) == sorted(calls)
        for result in results:
            call = calls[result.call_index or 0]
            assert result.call_id == call.call_id
            assert result.index > call.index
            assert (result.error is None) == (result.status == "ok")
        for step in run.steps:
            if step.kind == "approval":
                assert (step.call_id, step.tool) == (calls[step.call_index or 0].call_id, "issue_refund")
        assert all((a.ts or "") <= (b.ts or "") for a, b in pairwise(run.steps))
        assert run.steps[-1].kind == "final"
        assert run.final == run.steps[-1].text
        assert {call.name for call in calls.values()} <= {tool.name for tool in run.tools}


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_a_judge_may_see_names_the_fault(name: str) -> None:
    loaded = load_set(name)
    faults = set(FAULTS[name]) - {"none"}
    for run in loaded.trajectories:
        seen = run.model_copy(update={"id": "", "group": ""}).model_dump_json()
        assert not [fault for fault in faults if fault in seen]
        assert run.labels == {}
        assert run.meta == {}


@pytest.mark.parametrize("name", NAMES)
def test_no_agent_gives_the_label_away(name: str) -> None:
    loaded = load_set(name)
    passed = {x.trajectory_id: x.value for x in loaded.labels if x.criterion == "passed_path"}
    by_agent: dict[str, set[float]] = {}
    for run in loaded.trajectories:
        by_agent.setdefault(run.agents[0].name, set()).add(passed[run.id])
    assert all(values == {0.0, 1.0} for values in by_agent.values())


def first_three() -> tuple[Trajectory, ...]:
    return load_set("docs_search").trajectories[:3]


def test_the_first_three_docs_runs_are_one_task_with_one_answer() -> None:
    clean, wasteful, none = first_three()
    assert [run.id for run in (clean, wasteful, none)] == ["docs-clean", "docs-wasteful", "docs-no-search"]
    assert clean.task == wasteful.task == none.task
    assert clean.group == wasteful.group == none.group
    assert clean.final == wasteful.final != none.final
    events = [f"tool_call:{s.name}" if s.kind == "tool_call" else s.kind for s in clean.steps]
    assert events == ["message", "tool_call:search_docs", "tool_result", "final"]


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        ("num_tool_calls", [1, 3, 0]),
        ("has_redundant_call", [False, True, False]),
        ("answered_without_tool", [False, False, True]),
    ],
)
def test_metrics_tell_the_first_three_docs_runs_apart(metric: str, values: list[object]) -> None:
    measure = find("metrics", metric).measure
    assert [measure(run, None).value for run in first_three()] == values
