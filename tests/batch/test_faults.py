"""Each fault of the table is survived; `make faults` prints the counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults import Scenario, scenarios


@pytest.mark.parametrize(
    "scenario", scenarios(), ids=lambda s: " ".join(getattr(s, "args", (getattr(s, "__name__", ""),)))
)
def test_a_batch_survives(scenario: Scenario, tmp_path: Path) -> None:
    fault = scenario(tmp_path)
    assert fault.held, f"{fault.what}: {fault.counts}"
