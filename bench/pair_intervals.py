"""How often the interval of a strength holds the true one: `python bench/pair_intervals.py [RUNS]`.

Three agents compared two by two on every task, once each. On a task each agent's log strength moves by a normal amount
(spread 0: tasks are alike; 1: they matter as much as the agents do). The true strengths are those that an endless
record would give, which task effects draw together. Records without finite strengths, and those whose interval is
withheld, are counted and say nothing of coverage. Seeded; 300 simulated records a row take a few minutes.
"""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np

from judge.calibration.bradley_terry import bradley_terry
from judge.calibration.pairwise import Contest, Winner, strengths
from judge.errors import StatisticsError

LOGS = np.asarray([0.5, 0.0, -0.5])
NAMES = ("a", "b", "c")


def chances(moved: np.ndarray) -> np.ndarray:
    """Chance that row beats column, of log strengths of shape (..., 3)."""
    return np.asarray(1 / (1 + np.exp(moved[..., None, :] - moved[..., :, None])))


def record(tasks: int, spread: float, rng: np.random.Generator) -> list[Contest]:
    """One simulated record, each pair of agents once a task."""
    found = []
    for task in range(tasks):
        chance = chances(LOGS + rng.normal(0, spread, 3))
        for i, j in combinations(range(3), 2):
            winner: Winner = 1 if rng.random() < chance[i, j] else 2
            found.append(Contest(NAMES[i], NAMES[j], ab=winner, ba=winner, group=task))
    return found


def truth(spread: float) -> np.ndarray:
    """Strengths of an endless record."""
    rng = np.random.default_rng(0)
    wins = chances(LOGS + rng.normal(0, spread, (200_000, 3))).mean(0)
    np.fill_diagonal(wins, 0.0)
    return bradley_terry(wins)


def coverage(
    tasks: int, spread: float, runs: int, *, pseudo_wins: float = 0.0, resamples: int = 300, seed: int = 1
) -> tuple[float, int, int]:
    """Share of intervals that hold the true strength, and how many records had no strengths or no interval."""
    rng = np.random.default_rng(seed)
    true = dict(zip(NAMES, truth(spread).tolist(), strict=True))
    held: list[bool] = []
    unranked = withheld = 0
    for _ in range(runs):
        contests = record(tasks, spread, rng)
        try:
            ranked = strengths(contests, rng=rng, resamples=resamples, pseudo_wins=pseudo_wins)
        except StatisticsError:
            unranked += 1
            continue
        bounds = [(one.low, one.high, true[one.name]) for one in ranked]
        if bounds[0][0] is None:
            withheld += 1
        held += [low <= value <= high for low, high, value in bounds if low is not None and high is not None]
    return float(np.mean(held)) if held else float("nan"), unranked, withheld


if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print(f"{runs} records a row; nominal coverage .95")
    for pseudo_wins in (0.0, 0.5):
        for spread in (0.0, 1.0):
            for tasks in (5, 10, 30, 100):
                share, unranked, withheld = coverage(tasks, spread, runs, pseudo_wins=pseudo_wins)
                print(
                    f"pseudo-wins {pseudo_wins:g}, task spread {spread:g}, {tasks:3} tasks: coverage {share:.3f}, "
                    f"no strengths {unranked}, interval withheld {withheld}",
                    flush=True,
                )
