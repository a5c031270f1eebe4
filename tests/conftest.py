"""What every test may use: the folder of real files beside a checkout, and the cases in it."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from shared_files import SHARED

# Tests send SIGINT to themselves and to programs that they start; a shell's `&` has it ignored, and that is inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Examples are the same in every run, and none is refused for the time that a busy machine took.
settings.register_profile("here", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("here")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real files; a clone without it skips the test."""
    if not (SHARED / "design.md").is_file():
        pytest.skip("real files are not here: no folder 'shared' beside the checkout")
    return SHARED


@pytest.fixture(scope="session")
def case(shared: Path) -> Callable[[str], dict[str, Any]]:
    """A failure case by its id, e.g. case("G-D01")."""
    lines = (shared / "cases" / "judge_cases.jsonl").read_text(encoding="utf-8").split("\n")
    cases = {entry["id"]: entry for entry in (json.loads(line) for line in lines if line.strip())}
    return cases.__getitem__
