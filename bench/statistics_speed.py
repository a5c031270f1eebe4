"""Speed of the bootstrap, as ratios to looping a library call over resamples in the same process.

    python bench/statistics_speed.py [--items 1000] [--resamples 10000] [--loop 200] [--seed 1]

The loop is run for `--loop` resamples and scaled up; both sides are CPU time on one thread, ours the median of three
runs. Both draw whole items with replacement. Prints the ratio, both
intervals, and how far they may lie apart: three standard errors of the two quantiles.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scipy.stats import kendalltau, norm
from sklearn.metrics import cohen_kappa_score

from judge.calibration.alpha import alpha_from_coincidences, alpha_statistic, coincidence_rows, value_counts
from judge.calibration.kappa import pair_statistic
from judge.calibration.rank_correlation import rank_statistic
from judge.calibration.resampling import Weighted, bootstrap_values
from judge.calibration.table import coefficient

LEVELS = 5


def plain_alpha(codes: np.ndarray) -> float:
    """Ordinal alpha of one resample, computed from its ratings as a library does: no weights, no shared counts."""
    coincidences = coincidence_rows(value_counts(codes, LEVELS)).sum(0).reshape(1, LEVELS, LEVELS)
    return float(alpha_from_coincidences(coincidences, "ordinal")[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000)
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--loop", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    n = arguments.items
    quality = rng.standard_normal(n)
    cuts = norm.ppf(np.arange(1, LEVELS) / LEVELS)
    human = np.searchsorted(cuts, quality + 0.5 * rng.standard_normal(n))
    judge = np.searchsorted(cuts, quality + 0.7 * rng.standard_normal(n))
    each = np.arange(n)
    both = np.stack([human, judge])
    third = np.searchsorted(cuts, quality + 0.6 * rng.standard_normal(n))
    fourth = np.searchsorted(cuts, quality + 0.6 * rng.standard_normal(n))
    gaps = np.where(rng.random((4, n)) < 0.2, -1, np.stack([human, judge, third, fourth]))
    gaps = np.where((gaps >= 0).sum(0) >= 2, gaps, np.stack([human, judge, third, fourth]))

    def quadratic_kappa() -> Weighted:
        return pair_statistic(human, judge, each, LEVELS, LEVELS, lambda t: coefficient(t, "cohen", "quadratic"))

    cases: list[tuple[str, str, float, Callable[[], Weighted], Callable[[np.ndarray], float]]] = [
        (
            "quadratic kappa",
            "sklearn.metrics.cohen_kappa_score",
            200,
            quadratic_kappa,
            lambda pick: float(
                cohen_kappa_score(human[pick], judge[pick], weights="quadratic", labels=list(range(LEVELS)))
            ),
        ),
        (
            "tau-b",
            "scipy.stats.kendalltau",
            40,
            lambda: rank_statistic(human.astype(float), judge.astype(float), each, "tau_b"),
            lambda pick: float(kendalltau(human[pick], judge[pick]).statistic),
        ),
        (
            "ordinal alpha, 2 raters",
            "this package's alpha, once a resample",
            30,
            lambda: alpha_statistic(both, each, LEVELS, "ordinal", None),
            lambda pick: plain_alpha(both[:, pick]),
        ),
        (
            "ordinal alpha, 4 raters, gaps",
            "this package's alpha, once a resample",
            30,
            lambda: alpha_statistic(gaps, each, LEVELS, "ordinal", None),
            lambda pick: plain_alpha(gaps[:, pick]),
        ),
    ]
    print(f"{arguments.resamples} resamples of {n} items; the loop is timed on {arguments.loop} and scaled")
    slow = 0
    for name, library, goal, build, once in cases:
        once(rng.integers(n, size=n))  # imports and caches are not counted on either side
        bootstrap_values(build(), resamples=10, rng=rng)
        spent = []
        for _ in range(3):
            start = time.process_time()
            values = bootstrap_values(build(), resamples=arguments.resamples, rng=rng)
            spent.append(time.process_time() - start)
        ours = sorted(spent)[1]
        start = time.process_time()
        looped = np.asarray([once(rng.integers(n, size=n)) for _ in range(arguments.loop)])
        theirs = (time.process_time() - start) * arguments.resamples / arguments.loop
        got, want = np.quantile(values, [0.025, 0.975]), np.quantile(looped, [0.025, 0.975])
        # standard error of a .025 quantile of a normal sample: sqrt(p (1 - p) / B) / density
        error = np.sqrt(0.025 * 0.975 / arguments.loop) / norm.pdf(norm.ppf(0.025)) * values.std()
        same = bool((np.abs(got - want) <= 3 * error).all())
        enough = theirs / ours >= goal
        slow += not (enough and same)
        print(
            f"{name:<30} {theirs / ours:7.0f}x (goal {goal:.0f}x) against {library}\n"
            f"{'':<30} interval {got[0]:.4f} to {got[1]:.4f}, looped {want[0]:.4f} to {want[1]:.4f},"
            f" may differ by {3 * error:.4f}: {'same' if same else 'DIFFERENT'}"
        )
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
