"""Bounds against known truth: reduced grids of bench/false_trust.py, seeded.

A cell passes when its rate is within its limit plus two standard errors of the reduced run; the full grid holds the
limits outright.
"""

from __future__ import annotations

import numpy as np
import pytest

from judge.calibration.kappa import pair_statistic
from judge.calibration.resampling import bootstrap_values
from judge.calibration.simulation import (
    RATE_CELLS,
    binary_table,
    clustered_kappa,
    false_trust_cell,
    independent_kappa,
    many_raters,
    ordinal_kappa,
    rates,
    shares,
)
from judge.calibration.table import coefficient

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("n", [30, 50, 100, 200])
def test_kappa_of_independent_pairs_is_not_trusted_falsely(n: int) -> None:
    cells = list(independent_kappa(600, np.random.default_rng(n), sizes=(n,)))
    assert len(cells) == 6
    for cell in cells:
        assert cell.ok, cell.text()


@pytest.mark.parametrize("family", ["spread", "10% of tasks", "5% of tasks", "2% of tasks"])
def test_kappa_of_trajectories_that_share_tasks_is_not_trusted_falsely(family: str) -> None:
    for cell in clustered_kappa(250, np.random.default_rng(2), families=(family,)):
        assert cell.ok, cell.text()


def test_weighted_kappa_is_not_trusted_falsely() -> None:
    for cell in ordinal_kappa(100, np.random.default_rng(3), sizes=((50, 1), (200, 1), (20, 10), (40, 5))):
        assert cell.ok, cell.text()


def test_alpha_of_many_raters_is_not_trusted_falsely() -> None:
    for cell in many_raters(100, np.random.default_rng(4)):
        assert cell.ok, cell.text()


def test_share_of_failed_runs_caught_is_not_trusted_falsely() -> None:
    for cell in shares(250, np.random.default_rng(5), families=("spread", "5% of tasks"), sizes=((20, 10), (40, 5))):
        assert cell.ok, cell.text()


@pytest.mark.parametrize("place", range(len(RATE_CELLS)))
def test_corrected_rate_covers_the_truth(place: int) -> None:
    (cell,) = rates(600, np.random.default_rng(6), cells=(RATE_CELLS[place],))
    assert cell.undefined == 0
    assert cell.ok, cell.text()


def test_these_grids_can_fail() -> None:
    """The percentile bootstrap on the same samples trusts a bad judge far beyond the limit: 42 % in the worst cell."""
    rng = np.random.default_rng(7)
    bounds = []
    for cells in rng.multinomial(30, binary_table(0.95, 0.8).ravel(), size=150):
        code = np.repeat(np.arange(4), cells)
        statistic = pair_statistic(code // 2, code % 2, np.arange(30), 2, 2, coefficient)
        values = bootstrap_values(statistic, resamples=400, rng=rng)
        kept = values[np.isfinite(values)]
        bounds.append(float(np.quantile(kept, 0.05)) if len(kept) else None)
    cell = false_trust_cell("percentile n=30 pass=.95", bounds, 0.8, 0.065)
    assert not cell.ok
    assert cell.rate > 0.3


def test_random_labels_give_a_far_narrower_rate_than_the_class_balanced_method() -> None:
    """Post-stratification against Rogan-Gladen on one random sample: at most .6 of the width, as claimed."""
    from judge.calibration.correction import pass_rate

    rng = np.random.default_rng(8)
    ratios = []
    for _ in range(40):
        people = rng.random(2_100) < 0.8
        said = np.where(people, rng.random(2_100) < 0.9, rng.random(2_100) >= 0.8).astype(float)
        labels = np.where(np.arange(2_100) < 100, people.astype(float), np.nan)
        widths = []
        for design in ("random", "class_balanced"):
            found = pass_rate(said, labels, design=design, rng=rng, draws=1_000).corrected  # type: ignore[arg-type]
            assert found.low is not None
            assert found.high is not None
            widths.append(found.high - found.low)
        ratios.append(widths[0] / widths[1])
    assert np.mean(ratios) <= 0.6


def test_random_labels_method_is_badly_biased_on_class_balanced_labels() -> None:
    """Why the design is declared and never guessed: coverage falls to nothing."""
    from judge.calibration.correction import pass_rate

    rng = np.random.default_rng(9)
    covered = 0
    for _ in range(40):
        people = np.concatenate([np.repeat([True, False], 50), rng.random(2_000) < 0.8])
        said = np.where(people, rng.random(2_100) < 0.9, rng.random(2_100) >= 0.8).astype(float)
        labels = np.where(np.arange(2_100) < 100, people.astype(float), np.nan)
        found = pass_rate(said, labels, design="random", rng=rng, draws=1_000).corrected
        covered += found.low <= 0.8 <= found.high  # type: ignore[operator]
    assert covered / 40 < 0.2
