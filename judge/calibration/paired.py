"""Paired tests and corrections for many tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from judge.errors import StatisticsError
from judge.types.record import Record


class McNemar(Record):
    """Two sides of one binary judgement on the same items.

    Attributes:
        gained, lost: Discordant pairs: failed before and passed after, and the reverse.
        p: Exact two-sided p; 1 where nothing changed.
        chi2, chi2_corrected: Large-sample statistics, for comparison; 0 where nothing changed.
    """

    gained: int
    lost: int
    n: int
    p: float
    chi2: float
    chi2_corrected: float


def mcnemar(table: ArrayLike) -> McNemar:
    """Exact McNemar test of a 2 × 2 table of counts (before, after), index 0 failed and 1 passed.

    Raises:
        StatisticsError: Not a 2 × 2 table of counts.

    Source: McNemar 1947, doi:10.1007/BF02295996. Items must be independent: take one per task, or read p as too small.
    """
    from scipy.stats import binomtest

    counts = _counts(table, 2)
    gained, lost = int(counts[0, 1]), int(counts[1, 0])
    changed = gained + lost
    return McNemar(
        gained=gained,
        lost=lost,
        n=int(counts.sum()),
        p=1.0 if changed == 0 else float(binomtest(min(gained, lost), changed, 0.5).pvalue),
        chi2=0.0 if changed == 0 else (gained - lost) ** 2 / changed,
        chi2_corrected=0.0 if changed == 0 else max(0, abs(gained - lost) - 1) ** 2 / changed,
    )


class MarginalShift(Record):
    """Whether two raters use the categories of a K × K table alike.

    Attributes:
        stuart_maxwell, bhapkar: Homogeneity of the margins, chi-square with K - 1 degrees of freedom.
        bowker: Symmetry of the table, with K (K - 1) / 2; pairs of cells that are both empty are left out.
        *_p: Large-sample p. None with the statistic where it is undefined.
    """

    stuart_maxwell: float | None
    stuart_maxwell_p: float | None
    bhapkar: float | None
    bhapkar_p: float | None
    bowker: float | None
    bowker_p: float | None
    reason: str | None = None


def marginal_shift(table: ArrayLike) -> MarginalShift:
    """Stuart-Maxwell, Bhapkar and Bowker tests; null where the raters never differ.

    Categories that nobody used, or in which the raters never differ, carry no information and are dropped.

    Raises:
        StatisticsError: Not a square table of counts.

    Source: Stuart 1955, doi:10.1093/biomet/42.3-4.412; Bhapkar 1966; Bowker 1948.
    """
    from scipy.stats import chi2

    counts = _counts(table, None)
    n = float(counts.sum())
    off = counts - np.diag(np.diag(counts))
    used = (off.sum(0) + off.sum(1)) > 0
    if not used.any():
        return MarginalShift(
            stuart_maxwell=None,
            stuart_maxwell_p=None,
            bhapkar=None,
            bhapkar_p=None,
            bowker=None,
            bowker_p=None,
            reason="the raters never differ",
        )
    pairs = [(i, j) for i in range(len(counts)) for j in range(i) if counts[i, j] + counts[j, i] > 0]
    bowker = sum((counts[i, j] - counts[j, i]) ** 2 / (counts[i, j] + counts[j, i]) for i, j in pairs)
    off = off[np.ix_(used, used)]
    gap = (off.sum(1) - off.sum(0))[:-1]
    variance = -(off + off.T)
    np.fill_diagonal(variance, off.sum(0) + off.sum(1))
    rank = int(np.linalg.matrix_rank(variance))
    homogeneous = float(gap @ np.linalg.pinv(variance[:-1, :-1]) @ gap)
    full = 1 - homogeneous / n
    bhapkar = homogeneous / full if full > 1e-12 else None
    return MarginalShift(
        stuart_maxwell=homogeneous,
        stuart_maxwell_p=float(chi2.sf(homogeneous, rank)),
        bhapkar=bhapkar,
        bhapkar_p=None if bhapkar is None else float(chi2.sf(bhapkar, rank)),
        bowker=float(bowker),
        bowker_p=float(chi2.sf(bowker, len(pairs))),
    )


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """p-values adjusted by Holm's step-down rule: familywise error, any dependence. Empty in, empty out.

    Raises:
        StatisticsError: A p outside [0, 1].

    Source: Holm 1979.
    """
    p, order = _sorted(p_values)
    m = len(p)
    stepped = np.maximum.accumulate((m - np.arange(m)) * p[order])
    return _restored(stepped, order)


def benjamini_yekutieli(p_values: Sequence[float]) -> tuple[float, ...]:
    """p-values adjusted by Benjamini & Yekutieli: false discovery rate, any dependence.

    Raises:
        StatisticsError: A p outside [0, 1].

    Source: Benjamini & Yekutieli 2001, doi:10.1214/aos/1013699998.
    """
    p, order = _sorted(p_values)
    m = len(p)
    rank = np.arange(1, m + 1)
    scaled = (1 / rank).sum() * m / rank * p[order] if m else p
    return _restored(np.minimum.accumulate(scaled[::-1])[::-1], order)


def _sorted(p_values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    p = np.asarray(p_values, dtype=np.float64)
    if len(p) and not ((p >= 0) & (p <= 1)).all():
        raise StatisticsError(f"p-values outside [0, 1]: {list(p_values)!r}.")
    return p, np.argsort(p, kind="stable")


def _restored(values: np.ndarray, order: np.ndarray) -> tuple[float, ...]:
    out = np.empty(len(values))
    out[order] = np.minimum(values, 1.0)
    return tuple(float(value) for value in out)


def _counts(table: ArrayLike, side: int | None) -> np.ndarray:
    counts = np.asarray(table, dtype=np.float64)
    square = counts.ndim == 2 and counts.shape[0] == counts.shape[1]
    if not square or (side is not None and counts.shape[0] != side):
        raise StatisticsError(f"The table has shape {counts.shape}, needed a square one.")
    if not np.isfinite(counts).all() or (counts < 0).any() or (counts != np.round(counts)).any():
        raise StatisticsError("The table holds something other than counts.")
    return counts
