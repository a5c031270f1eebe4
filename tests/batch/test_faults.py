"""Each fault of the table is survived; `make faults` prints the counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faults import Scenario, scenarios
from faults_kill import killed_after_the_twelfth, rerun_after_a_kill
from faults_ray import ray_worker_killed

HERE = [scenario for scenario in scenarios() if scenario is not ray_worker_killed]
"""All but the one that test_ray_engine.py makes happen, in the cluster that it has started."""


@pytest.mark.parametrize("scenario", HERE, ids=lambda s: " ".join(getattr(s, "args", (getattr(s, "__name__", ""),))))
def test_a_batch_survives(scenario: Scenario, tmp_path: Path) -> None:
    fault = scenario(tmp_path)
    assert fault.held, f"{fault.what}: {fault.counts}"


def test_g_d38_a_kill_loses_no_verdict(case: Callable[[str], dict[str, Any]], tmp_path: Path) -> None:
    entry = case("G-D38")
    given, exact = entry["input"], entry["right"]["exact"]
    got = rerun_after_a_kill(tmp_path, items=given["items"], concurrency=given["concurrency"], kill_at=12)
    assert got["rows"] >= exact["rows_on_disk_after_kill_min"]
    assert got["calls"] <= exact["calls_in_rerun_max"]
    assert (got["unique"], got["lines"]) == (exact["unique_rows_final"], exact["unique_rows_final"])
    assert (got["again"], got["status"]) == (0, 0)


def test_every_fault_of_the_table_is_told_by_name() -> None:
    assert len(scenarios()) >= 18
    assert killed_after_the_twelfth in scenarios()
    assert ray_worker_killed in scenarios()
