"""Bradley–Terry strengths from pairwise wins, refused where the wins do not tie everybody together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.resampling import Floats
from judge.errors import StatisticsError


def bradley_terry(wins: ArrayLike, *, pseudo_wins: float = 0.0, rounds: int = 10_000) -> Floats:
    """Strengths w, summing to 1, with P(i beats j) = w_i / (w_i + w_j). Shape (k,).

    Args:
        wins: wins[i, j]: how often i beat j; ties as half a win each. Pairs share prompts: cluster intervals by them.
        pseudo_wins: Added to every pair in both directions; 0.5 makes any record identifiable, at the price of
            drawing strengths together.

    Raises:
        StatisticsError: Not a square matrix of counts, or the record does not connect all in both directions: then
            no finite strengths exist.

    Source: Zermelo 1929; Hunter 2004, doi:10.1214/aos/1079120141.
    """
    table = np.asarray(wins, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
        raise StatisticsError(f"Wins have shape {table.shape}, needed (k, k) with k of 2 or more.")
    if not np.isfinite(table).all() or (table < 0).any():
        raise StatisticsError("Wins are counts.")
    size = len(table)
    table = table + pseudo_wins
    np.fill_diagonal(table, 0.0)
    reach = ((table > 0) | np.eye(size, dtype=bool)).astype(np.int64)
    for _ in range(size):
        reach = ((reach @ reach) > 0).astype(np.int64)
    if not reach.all():
        raise StatisticsError(
            "Some never beat, directly or by way of others, some others: strengths are not finite.",
            hint="Compare more pairs, or set pseudo-wins to 0.5.",
        )
    played, own = table + table.T, table.sum(1)
    strength = np.full(size, 1 / size)
    for _ in range(rounds):
        fresh = own / (played / (strength[:, None] + strength[None, :])).sum(1)
        fresh = fresh / fresh.sum()
        if float(np.abs(fresh - strength).max()) < 1e-14:
            break
        strength = fresh
    return strength
