"""Full-size simulations behind docs/methods.md: how often a bound trusts a bad judge, how often an interval covers.

    python bench/false_trust.py [--sims 2000] [--seed 1] [--only kappa,clusters,ordinal,many,shares,rates,...]

Prints one row a cell and how it stands to its limit: false trust at most 1.3 times the nominal rate for independent
items and with 40 tasks or more, 1.7 times with fewer; coverage within .02 of nominal. Exit status 1 if a cell is
beyond its limit outright; "within noise" marks one that is not beyond it by two standard errors of the simulation.
`--only rejected` shows the design-effect rule that docs/methods.md argues against; it never changes the exit status.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.stats import norm, t

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from judge.calibration.kappa import pair_statistic
from judge.calibration.resampling import Floats, leave_one_out
from judge.calibration.simulation import (
    CLUSTER_SIZES,
    FAMILIES,
    TRUTH_SIZE,
    Cell,
    clustered_kappa,
    clustered_rates,
    false_trust_cell,
    independent_kappa,
    many_raters,
    ordinal_kappa,
    rates,
    shares,
)
from judge.calibration.table import coefficient, count_table


def design_effect_bound(a: np.ndarray, b: np.ndarray, cluster: np.ndarray, rng: np.random.Generator) -> float | None:
    """The rule that docs/methods.md rejects: the smaller of the jackknife and a design-effect Dirichlet(1/2) bound."""

    def error(of: np.ndarray) -> float | None:
        values, counts = leave_one_out(pair_statistic(a, b, of, 2, 2, coefficient))
        if not np.isfinite(values).all():
            return None
        n = counts.sum()
        mean = (counts * values).sum() / n
        return float(np.sqrt((n - 1) / n * (counts * (values - mean) ** 2).sum()))

    table: Floats = count_table(a, b, 2)
    value = float(coefficient(table))
    if not np.isfinite(value):
        return None
    clusters = len(np.unique(cluster))
    reach, few = float(t.ppf(0.95, clusters - 1)), float((t.ppf(0.95, clusters - 1) / norm.ppf(0.95)) ** 2)
    by_task, by_item = error(cluster), error(np.arange(len(a)))
    effect = max(1.0, (by_task / by_item) ** 2) if by_task and by_item else 1.0
    drawn = coefficient(rng.standard_gamma(table.ravel() / (effect * few) + 0.5, size=(2_000, 4)).reshape(-1, 2, 2))
    bounds = [float(np.quantile(drawn, 0.05))]
    if by_task and abs(value) < 1:
        bounds.append(float(np.tanh(np.arctanh(value) - reach * by_task / (1 - value**2))))
    return min(bounds)


def rejected(sims: int, rng: np.random.Generator) -> Iterator[Cell]:
    """The clustered grid under the design-effect rule, for comparison: its cells are meant to be too high."""
    for family, draw in FAMILIES.items():
        truth = float(coefficient(count_table(*draw(TRUTH_SIZE, 5, rng), 2)))
        for clusters, size in CLUSTER_SIZES:
            cluster = np.repeat(np.arange(clusters), size)
            bounds = [design_effect_bound(*draw(clusters, size, rng), cluster, rng) for _ in range(sims)]
            limit = 0.065 if clusters >= 40 else 0.085
            yield false_trust_cell(f"design effect {clusters}x{size} {family} ({truth:.3f})", bounds, truth, limit)


GRIDS: dict[str, Callable[[int, np.random.Generator], Iterator[Cell]]] = {
    "kappa": independent_kappa,
    "clusters": clustered_kappa,
    "ordinal": ordinal_kappa,
    "many": many_raters,
    "shares": shares,
    "rates": rates,
    "clustered-rates": clustered_rates,
}
COMPARISONS = {"rejected": rejected}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sims", type=int, default=2_000)
    parser.add_argument("--only", default=",".join(GRIDS))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    bad = 0
    for name in arguments.only.split(","):
        print(f"\n{name}: {arguments.sims} simulations a cell", flush=True)
        start = time.process_time()
        grid = GRIDS.get(name) or COMPARISONS[name]
        for cell in grid(arguments.sims, np.random.default_rng(arguments.seed)):
            bad += name in GRIDS and not cell.within
            print(cell.text(), flush=True)
        print(f"{time.process_time() - start:.1f} s of CPU")
    print(f"\n{bad} cells beyond their limit")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
