"""Runs that were drawn by unequal chances: a calibration weighs them, a comparison does not, and both say so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from calibration_parts import examined, joined, pairs, said
from sklearn.metrics import cohen_kappa_score, f1_score

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
    assert "speak of all runs" in told


def test_the_numbers_of_a_calibration_weigh_each_run_by_the_inverse_of_its_chance() -> None:
    chances, n = (0.1, 0.4), 40
    wrong = {0, 1, 2, 7, 9}
    labels = [float(i % 3 > 0) for i in range(n)]
    verdicts = [1 - label if i in wrong else label for i, label in enumerate(labels)]
    data = joined(
        [said(f"run-{i:02}", verdict) for i, verdict in enumerate(verdicts)],
        [replace(said(f"run-{i:02}", label, "ana"), probability=chances[i % 2]) for i, label in enumerate(labels)],
    )
    report, weights = examined(data), np.where(np.arange(n) % 2, 1 / 0.4, 1 / 0.1)
    right = np.asarray(labels) == np.asarray(verdicts)
    failed = np.asarray(labels) == 0
    value = {name: report.statistics[name].value for name in report.weighted}
    assert value["agreement"] == pytest.approx(np.average(right, weights=weights))
    assert value["tnr"] == pytest.approx(np.average(right[failed], weights=weights[failed]))
    assert value["tpr"] == pytest.approx(np.average(right[~failed], weights=weights[~failed]))
    assert value["kappa"] == pytest.approx(cohen_kappa_score(labels, verdicts, sample_weight=weights))
    assert value["f1"] == pytest.approx(f1_score(labels, verdicts, sample_weight=weights))
    assert report.pass_rate is not None
    assert report.pass_rate.design == "inclusion"
    assert report.pass_rate.corrected.value == pytest.approx(np.average(labels, weights=weights))
    assert report.statistics["leniency"].method
    assert "leniency" not in report.weighted


def test_one_unknown_chance_leaves_every_run_to_count_once() -> None:
    data = drawn(0.1, 0.4)
    unknown = replace(data, probabilities=(None, *data.probabilities[1:]))
    report = examined(unknown)
    assert report.weighted == ()
    assert any("not of all" in sentence for sentence in report.sentences)


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
