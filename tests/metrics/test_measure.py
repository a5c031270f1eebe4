"""All metrics in one call: complete, deterministic, documented."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judge.errors import UnknownName
from judge.metrics import measure, parse_reference
from judge.metrics.catalogue import catalogue, table
from judge.registry import BUILT_IN, find, names
from judge.types import MetricResult, Reference, Trajectory, canonical_json

DOCS = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


def as_bytes(results: dict[str, MetricResult]) -> bytes:
    return canonical_json([[name, result.to_json()] for name, result in results.items()])


def test_every_registered_metric_is_measured_in_order(docs_runs: dict[str, Trajectory]) -> None:
    assert tuple(measure(docs_runs["clean"])) == names("metrics")
    assert all(name == find("metrics", name).name for name in BUILT_IN["metrics"])


def test_twice_gives_the_same_bytes(docs_runs: dict[str, Trajectory]) -> None:
    reference = parse_reference(["tool_call:search_docs", "final"])
    for trajectory in docs_runs.values():
        again = Trajectory.from_json(trajectory.to_json())
        assert as_bytes(measure(trajectory, reference)) == as_bytes(measure(again, reference))


def test_one_metric_alone_gives_what_all_together_give(docs_runs: dict[str, Trajectory]) -> None:
    reference = parse_reference(["tool_call:search_docs", "final"])
    together = measure(docs_runs["wasteful"], reference)
    for name, result in together.items():
        assert measure(docs_runs["wasteful"], reference, only=[name]) == {name: result}
        assert find("metrics", name).measure(docs_runs["wasteful"], reference) == result


def test_a_missing_value_has_a_reason_and_a_value_has_none(
    docs_runs: dict[str, Trajectory], trajectory_of: Callable[..., Trajectory]
) -> None:
    runs = [*docs_runs.values(), trajectory_of([])]
    for run in runs:
        for reference in (None, Reference(), Reference(calls=()), parse_reference(["final"])):
            for name, result in measure(run, reference).items():
                assert (result.value is None) == (result.reason is not None), name
                assert result.reason is None or result.reason.startswith("not applicable: ")
                assert "value" in result.to_json()
                assert MetricResult.from_json(result.to_json()) == result


def test_every_named_step_exists(docs_runs: dict[str, Trajectory]) -> None:
    for run in docs_runs.values():
        known = {step.index for step in run.steps}
        for result in measure(run, parse_reference(["tool_call:other"])).values():
            assert set(result.steps) <= known


def test_an_unknown_metric_is_an_error_with_a_suggestion(docs_runs: dict[str, Trajectory]) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'num_tool_calls'"):
        measure(docs_runs["clean"], only=["num_tool_call"])


def test_a_users_own_metric_is_measured_by_the_same_call(
    docs_runs: dict[str, Trajectory], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Longest:
        name = "longest"
        unit = "characters"

        def measure(self, trajectory: Trajectory, reference: Reference | None) -> MetricResult:
            return MetricResult(value=len(trajectory.final or ""), unit=self.unit)

    def lookup(kind: Any, name: str) -> Any:
        return Longest() if name == "longest" else find(kind, name)

    monkeypatch.setattr(sys.modules["judge.metrics.measure"], "find", lookup)
    found = measure(docs_runs["clean"], only=["longest", "num_tool_calls"])
    assert [result.value for result in found.values()] == [39, 1]


def test_every_metric_documents_itself() -> None:
    for entry in catalogue():
        assert all(entry), f"{entry.name} leaves a field of its docstring empty"


def test_the_page_holds_the_table_that_the_docstrings_make() -> None:
    assert table() in DOCS.read_text(encoding="utf-8"), (
        "docs/metrics.md is stale: write judge.metrics.catalogue.table()"
    )
