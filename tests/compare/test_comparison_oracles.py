"""Comparisons, juries and rankings held against code that we did not write, or wrote a second time in another way."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from small_judges import judged
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from judge.calibration.bradley_terry import bradley_terry
from judge.calibration.comparison import compare
from judge.calibration.dawid_skene import dawid_skene
from judge.calibration.shared_runs import shared_runs


def test_every_pair_has_the_p_of_statsmodels_before_and_after_holm() -> None:
    rng = np.random.default_rng(4)
    labels = rng.integers(2, size=60)
    said = {}
    for name, wrong in (("a", 0.05), ("b", 0.2), ("c", 0.25), ("d", 0.5)):
        values: list[float | None] = np.where(rng.random(60) < wrong, 1 - labels, labels).astype(float).tolist()
        values[7 if name == "b" else 9] = None  # a run without a score is not right
        said[name] = values
    runs = shared_runs([judged(name, values, labels.tolist()) for name, values in said.items()])
    found = compare(runs, label_set="oracle", rng=np.random.default_rng(1))
    right = {name: np.asarray([v == label for v, label in zip(said[name], labels, strict=True)]) for name in said}
    expected = []
    for pair in found.pairs:
        a, b = right[pair.a], right[pair.b]
        table = [[int((~a & ~b).sum()), int((~a & b).sum())], [int((a & ~b).sum()), int((a & b).sum())]]
        expected.append(float(mcnemar(table, exact=True).pvalue))
    assert [pair.p for pair in found.pairs] == pytest.approx(expected, abs=1e-12)
    adjusted = multipletests(expected, method="holm")[1]
    assert [pair.p_adjusted for pair in found.pairs] == pytest.approx(adjusted.tolist(), abs=1e-12)
    assert [pair.better is not None for pair in found.pairs] == (adjusted < 0.05).tolist()
    assert 0 < sum(pair.better is not None for pair in found.pairs) < 6


def test_strengths_are_those_of_a_logistic_regression_on_who_met_whom() -> None:
    rng = np.random.default_rng(2)
    wins = rng.integers(1, 12, size=(4, 4)).astype(float)
    np.fill_diagonal(wins, 0)
    rows, counts = [], []
    for i in range(4):
        for j in range(i + 1, 4):
            row = np.zeros(4)
            row[i], row[j] = 1, -1
            rows.append(row[1:])  # the first is the zero of the scale
            counts.append([wins[i, j], wins[j, i]])
    fitted = sm.GLM(np.asarray(counts), np.asarray(rows), family=sm.families.Binomial()).fit(tol=1e-14)
    expected = np.exp(np.concatenate([[0.0], fitted.params]))
    assert bradley_terry(wins) == pytest.approx(expected / expected.sum(), abs=1e-9)


def test_dawid_skene_is_expectation_maximisation_written_out_in_loops() -> None:
    rng = np.random.default_rng(9)
    truth = rng.integers(3, size=30)
    codes = np.stack(
        [np.where(rng.random(30) < keep, truth, rng.integers(3, size=30)) for keep in (0.9, 0.7, 0.6, 0.5)]
    )
    codes[2, 4] = codes[3, 11] = -1
    found = dawid_skene(codes, 3, smoothing=0.01)
    believed = []
    for item in range(30):
        votes = [int(v) for v in codes[:, item] if v >= 0]
        believed.append([votes.count(k) / len(votes) for k in range(3)])
    for _ in range(200):
        priors = [(sum(row[k] for row in believed) + 0.01) / (30 + 0.03) for k in range(3)]
        matrices = []
        for rater in codes:
            matrix = [[0.01] * 3 for _ in range(3)]
            for item, said in enumerate(rater):
                for k in range(3):
                    if said >= 0:
                        matrix[k][said] += believed[item][k]
            matrices.append([[cell / sum(row) for cell in row] for row in matrix])
        fresh = []
        for item in range(30):
            chance = [
                priors[k] * math.prod(m[k][r[item]] for m, r in zip(matrices, codes, strict=True) if r[item] >= 0)
                for k in range(3)
            ]
            fresh.append([each / sum(chance) for each in chance])
        believed = fresh
    assert np.asarray(found.probabilities) == pytest.approx(np.asarray(believed), abs=1e-6)
    assert list(found.classes) == [row.index(max(row)) for row in believed]
