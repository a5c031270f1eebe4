"""Whether a judge uses its scale, and what a gate on its pass rate can see."""

from __future__ import annotations

import pytest

from judge.calibration.forecast import forecast_gate
from judge.calibration.rubric_health import rubric_health


def test_saturation_resolution_and_contradictions_are_counted_and_nothing_is_corrected() -> None:
    found = rubric_health(
        ["a", "b", "c", "d", "e"],
        [5, 5, 1, 3, None],
        {"a": "The refund failed.", "b": "No errors at all.", "c": "Every requirement is met.", "d": "It failed once."},
        low=1,
        high=5,
        legal=5,
    )
    assert found is not None
    assert found.saturation == 0.5  # two of the four scores
    assert (found.values_used, found.values_legal, found.constant) == (3, 5, False)
    assert found.contradictions == ("a", "c")


def test_a_constant_judge_tells_nothing_apart_and_no_score_has_no_health() -> None:
    constant = rubric_health(["a", "b"], [4, 4], {}, low=1, high=5, legal=5)
    assert constant is not None
    assert constant.constant
    assert rubric_health(["a"], [None], {}, low=1, high=5, legal=5) is None


@pytest.mark.parametrize(("bar", "sure"), [(0.1, "green"), (0.99, "red")])
def test_a_gate_far_from_the_rate_is_forecast_as_sure(bar: float, sure: str) -> None:
    found = forecast_gate(80, 100, bar=bar, n=100)
    assert (found.red < 0.01) if sure == "green" else (found.red > 0.99)
