"""How many labels would tell two judges apart."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np

from judge.calibration.proportions import design_effect
from judge.calibration.shared_runs import SharedRuns
from judge.types.comparison import Separation

LEVEL = 0.05
POWER = 0.8
LEAST = 6
"""Tasks on which two judges must differ before any exact two-sided test falls below .05: 2 / 2^5 > .05 >= 2 / 2^6."""


def separation(runs: SharedRuns, first: str, second: str) -> Separation:
    """Runs needed for a paired test of two judges at .05 with power .8, if credit goes on as seen.

    n = (z_a √d + z_b √(d - δ²))² / δ², with δ the mean difference and d the mean squared difference of credit (the
    share of discordant runs on a binary scale), times the design effect of tasks; never so few that the two would
    differ on less than six tasks, where the exact tests that `compare` uses cannot tell anybody apart. Unknown where
    all runs are of one task: how tasks differ cannot be seen.

    Source: Connor 1987, doi:10.2307/2531961. When not to use: as a promise; δ seen on few runs is itself uncertain,
    and looks larger than it is for the judge that happens to lead.
    """
    from scipy.stats import norm

    credit = runs.credit()
    gap = credit[runs.place(first)] - credit[runs.place(second)]
    delta, spread = float(gap.mean()), float((gap**2).mean())
    have = len(gap)
    if abs(delta) < 1e-12:
        return Separation(
            first=first, second=second, runs=None, tasks=None, have=have, reason="the two are level on these runs"
        )
    tasks = int(np.max(runs.clusters)) + 1
    if tasks < 2:
        one = "all runs are of one task: how tasks differ cannot be seen"
        return Separation(first=first, second=second, runs=None, tasks=None, have=have, reason=one)
    alpha, power = float(norm.ppf(1 - LEVEL / 2)), float(norm.ppf(POWER))
    independent = (alpha * sqrt(spread) + power * sqrt(max(0.0, spread - delta**2))) ** 2 / delta**2
    effect = design_effect(gap, runs.clusters) or 1.0  # no variation: every task differs alike
    differ = int((np.abs(np.bincount(runs.clusters, weights=gap)) > 1e-12).sum())
    needed = ceil(max(independent * effect, LEAST * have / differ))
    return Separation(first=first, second=second, runs=needed, tasks=ceil(needed * tasks / have), have=have)
