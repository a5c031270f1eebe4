"""How well people agree is told over all runs that they share, also those which their tie leaves without a label."""

from __future__ import annotations

from dataclasses import replace

import pytest
from calibration_parts import examined, joined, said

from judge.calibration.dataset import ADJUDICATED, Dataset

RUNS = 40


def two_people(*, adjudicated: bool = False) -> Dataset:
    """Two people of whom the second also passes every fourth run: they differ on ten of 40."""
    verdicts, labels = [], []
    for i in range(RUNS):
        item = f"run-{i:02}"
        verdicts.append(said(item, float(i % 2)))
        labels += [said(item, float(i % 2), "ana"), said(item, float(i % 2 or i % 4 == 0), "ben")]
        if adjudicated and i % 4 == 0:
            labels.append(said(item, 0.0, ADJUDICATED))
    return joined(verdicts, labels)


def test_runs_on_which_two_people_tie_count_against_their_agreement() -> None:
    data = two_people()
    assert len(data.items) == 30
    found = examined(data).ceiling
    # 30 of 40 equal; together they pass 50 of 80: chance is .625² + .375² = .53125; (.75 - .53125) / .46875
    assert found["human_human"].value == pytest.approx(0.46667, abs=1e-4)
    assert found["judge_human"].value is not None
    assert found["judge_human"].value < 1.0  # equal to ana on all 40, to ben on 30


def test_who_adjudicates_is_no_third_person() -> None:
    report = examined(two_people(adjudicated=True))
    assert report.n == RUNS
    assert report.ceiling["human_human"].value == pytest.approx(0.46667, abs=1e-4)
    assert report.alternative_annotator is None


def test_a_part_that_does_not_know_its_ties_says_nothing_of_people() -> None:
    data = two_people()
    assert examined(data.part([True] * len(data.items))).ceiling == {}
    assert examined(replace(data, left_out={}).part([True] * len(data.items))).ceiling != {}
