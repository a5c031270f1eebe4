"""What the tests of probes share: settings, a small run of every kind, the shipped sets."""

from __future__ import annotations

from pathlib import Path

import pytest
from refund_runs import refund

from judge.calibration.sets import load_set, set_names
from judge.config import Settings, load_settings
from judge.types.trajectory import Trajectory


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    flags = {"judge": "fake/always-4", "cache_dir": tmp_path / "cache", "cache": False}
    return load_settings(flags, environment={}, folder=tmp_path)


@pytest.fixture
def run() -> Trajectory:
    return Trajectory.from_json(refund())


@pytest.fixture(scope="session")
def set_runs() -> tuple[Trajectory, ...]:
    """Every run of every shipped set."""
    return tuple(run for name in set_names() for run in load_set(name).trajectories)
