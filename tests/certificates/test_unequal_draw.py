"""Runs that were drawn by unequal chances give numbers of the labelled runs, and the reports say so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from calibration_parts import examined, joined, pairs, said

from judge.calibration.comparison import compare
from judge.calibration.dataset import Dataset
from judge.calibration.shared_runs import shared_runs

RUNS = 20


def drawn(*chances: float, judge: str = "judge") -> Dataset:
    data = joined(
        [said(f"run-{i:02}", float(i % 2)) for i in range(RUNS)],
        [replace(said(f"run-{i:02}", float(i % 2), "ana"), probability=chances[i % len(chances)]) for i in range(RUNS)],
    )
    return replace(data, judge=judge)


def test_a_calibration_on_runs_of_unequal_chances_says_what_its_numbers_are_of() -> None:
    report = examined(drawn(0.1, 0.4))
    assert report.chances == (0.1, 0.4)
    (told,) = [sentence for sentence in report.sentences if "chances from 0.1 to 0.4" in sentence]
    assert "not of all" in told


def test_equal_or_unknown_chances_are_not_spoken_of() -> None:
    for data in (drawn(0.25), drawn(1.0), pairs([(1.0, 1.0), (0.0, 0.0)] * 10)):
        report = examined(data)
        assert report.chances is None
        assert not any("chances from" in sentence for sentence in report.sentences)


def test_a_comparison_says_it_too() -> None:
    def words(*chances: float) -> str:
        runs = shared_runs([drawn(*chances, judge="a"), drawn(*chances, judge="b")])
        return " ".join(compare(runs, label_set="tiny", rng=np.random.default_rng(7)).decision.words)

    assert "chances from 0.1 to 0.4" in words(0.1, 0.4)
    assert "chances from" not in words(0.4)
