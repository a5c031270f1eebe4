"""pass^k and pass@k from repeated attempts, unbiased; refused where k exceeds the attempts."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from judge.calibration.resampling import bounded, linear, ratio
from judge.errors import StatisticsError, TooFewLabels
from judge.types.estimate import Statistic, undefined


def pass_hat_k(attempts: int, passed: int, k: int) -> float:
    """Chance that k attempts drawn without replacement all pass: C(passed, k) / C(attempts, k).

    Raises:
        TooFewLabels: k exceeds the attempts; p^k is never put in its place.
        StatisticsError: Counts that cannot be.

    Source: Yao et al. 2024 (tau-bench), arXiv 2406.12045.
    """
    _check(attempts, passed, k)
    return comb(passed, k) / comb(attempts, k)


def pass_at_k(attempts: int, passed: int, k: int) -> float:
    """Chance that at least one of k attempts passes: 1 - C(attempts - passed, k) / C(attempts, k).

    Raises:
        As `pass_hat_k`.

    Source: Chen et al. 2021, arXiv 2107.03374.
    """
    _check(attempts, passed, k)
    return 1 - comb(attempts - passed, k) / comb(attempts, k)


def _check(attempts: int, passed: int, k: int) -> None:
    if k < 1 or not 0 <= passed <= attempts:
        raise StatisticsError(f"{passed} of {attempts} attempts passed, k = {k}: these counts cannot be.")
    if k > attempts:
        raise TooFewLabels(
            f"k = {k} with {attempts} attempts.", hint=f"Run {k - attempts} more, or ask for a smaller k."
        )


def mean_over_tasks(
    counts: Sequence[tuple[int, int]],
    k: int,
    *,
    every: bool = True,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Statistic:
    """Mean of pass^k (`every`) or pass@k over tasks, each task one cluster, with fail-closed bounds.

    Args:
        counts: (attempts, passed) of each task.

    Returns:
        Null without a task.

    Raises:
        TooFewLabels: A task has fewer than k attempts.
    """
    if not counts:
        return undefined("no task", n=0, clusters=0, confidence=confidence)
    one = pass_hat_k if every else pass_at_k
    values = np.asarray([one(attempts, passed, k) for attempts, passed in counts])
    rows = np.column_stack([values, np.ones(len(values))])
    return bounded(
        linear(rows, lambda sums: ratio(sums[:, 0], sums[:, 1]), np.asarray([[1.0, 1.0], [0.0, 1.0]]), 0.5),
        n=len(values),
        rng=rng,
        confidence=confidence,
        transform="logit",
    )
