"""Agreement of two raters from their K × K table: kappa and its kin, for one table or many at once.

Every coefficient is 1 - D_o / D_e: observed weighted disagreement over the disagreement expected by chance; they
differ in what chance means. Tables are (..., K, K) with rows of the first rater (people) and columns of the second
(the judge); weights of any total are allowed, so resamples go in as they are.

| name | chance disagreement | source |
|---|---|---|
| cohen | each rater's own margins | Cohen 1960, 1968 |
| scott | pooled margins | Scott 1955 |
| gwet | AC1 / AC2: 1 - T/(K(K-1)) Σ π(1-π), T the sum of agreement weights | Gwet 2008, 2014 |
| uniform | every category equally likely (Brennan-Prediger, Randolph) | Brennan & Prediger 1981 |

Range (-inf, 1]; 1 is full agreement, 0 is agreement by chance. Undefined (NaN here, null above) where chance
disagreement is 0: both raters used one and the same category.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from judge.calibration.resampling import Floats, ratio
from judge.errors import StatisticsError

Weighting: TypeAlias = Literal["unweighted", "linear", "quadratic"]
Coefficient: TypeAlias = Literal["cohen", "scott", "gwet", "uniform"]


def disagreement_weights(categories: int, weights: Weighting) -> Floats:
    """Disagreement of each pair of categories in [0, 1]: 0 or 1, |i-j|/(K-1), or its square. Shape (K, K)."""
    place = np.arange(categories, dtype=np.float64)
    apart = np.abs(place[:, None] - place[None, :])
    if weights == "unweighted":
        return (apart > 0).astype(np.float64)
    if weights not in ("linear", "quadratic"):
        raise StatisticsError(f"No weights named {weights!r}.", hint="Use unweighted, linear or quadratic.")
    apart = apart / max(1, categories - 1)
    return apart if weights == "linear" else apart**2


def count_table(a: np.ndarray, b: np.ndarray, categories: int) -> Floats:
    """How often each pair of codes occurs, shape (K, K); codes are non-negative."""
    return np.bincount(a * categories + b, minlength=categories**2).reshape(categories, categories).astype(np.float64)


def coefficient(tables: Floats, kind: Coefficient = "cohen", weights: Weighting = "unweighted") -> Floats:
    """The coefficient of every table: (..., K, K) to (...), NaN where undefined."""
    size = tables.shape[-1]
    apart = disagreement_weights(size, weights)
    flat = tables.reshape(*tables.shape[:-2], size * size)
    total = flat.sum(-1)
    observed = ratio(flat @ apart.ravel(), total)
    rows, columns = tables.sum(-1), tables.sum(-2)
    if kind == "cohen":
        expected = ratio(((rows @ apart) * columns).sum(-1), total**2)
    elif kind == "scott":
        pooled = rows + columns
        expected = ratio(((pooled @ apart) * pooled).sum(-1), 4 * total**2)
    elif kind == "gwet":
        share = ratio(rows + columns, 2 * total[..., None])
        spread = (share * (1 - share)).sum(-1) / max(1, size * (size - 1))
        # one category used by both: chance agreement is 0 by the formula, yet nothing was told apart
        expected = np.where(spread > 1e-12, 1 - (1 - apart).sum() * spread, np.nan)
    else:
        expected = np.full(total.shape, apart.sum() / size**2)
    return 1 - ratio(observed, expected)


def cohen_errors(table: Floats, weights: Weighting = "unweighted") -> tuple[float, float]:
    """Large-sample standard errors of Cohen's kappa: (for an interval, under the hypothesis kappa = 0).

    For comparison with other software only: a Wald interval from it trusts a bad judge far too often on few labels.

    Raises:
        StatisticsError: Kappa is undefined on this table.

    Source: Fleiss, Cohen & Everitt 1969, equations 8 and 9.
    """
    size = table.shape[-1]
    total = table.sum()
    kappa = float(coefficient(table, "cohen", weights))
    if not np.isfinite(kappa):
        raise StatisticsError("Kappa is undefined on this table.", hint="Both raters used one category only.")
    agree = 1 - disagreement_weights(size, weights)
    cells = table / total
    rows, columns = cells.sum(1), cells.sum(0)
    chance = float(rows @ agree @ columns)
    row_mean, column_mean = agree @ columns, rows @ agree
    both = row_mean[:, None] + column_mean[None, :]
    inner = (cells * (agree - both * (1 - kappa)) ** 2).sum() - (kappa - chance * (1 - kappa)) ** 2
    null = (np.outer(rows, columns) * (agree - both) ** 2).sum() - chance**2
    scale = (1 - chance) * np.sqrt(total)
    return float(np.sqrt(max(0.0, float(inner))) / scale), float(np.sqrt(max(0.0, float(null))) / scale)
