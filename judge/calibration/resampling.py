"""Weighted statistics and the intervals made from them: jackknife, posterior and bootstrap over clusters.

Every agreement statistic here is a function of weights on rows. A row is a cluster (a task with all its
trajectories), or a pattern that many clusters share; its weight is how often it counts. The observed data are
the counts themselves, a bootstrap resample is a multinomial draw of them, leaving a cluster out lowers one by
1, and a posterior draw replaces them by gamma variates. One engine therefore serves all statistics, and all
resamples are evaluated at once.

**Rule for bounds** (`bounded`). A bootstrap fails open: where all labels agree, every resample agrees. The
bound is instead the worse of two.

* L1, cluster jackknife: leave one cluster out, standard error on a transformed scale (atanh for statistics in
  [-1, 1], logit for [0, 1]), Student's t with G - 1 degrees of freedom.
* L2, cluster Dirichlet: weights gamma(count / c) on observed clusters and gamma(prior) on pseudo-rows, one for
  each cell of the agreement table and as large as a mean cluster, with total prior mass 1; c = (t / z)^2 pays for
  few clusters. Where each item is its own cluster this is the Dirichlet posterior of the table. Where every
  cluster agrees, its effective size is the number of clusters and not of items: agreement within one task is not
  independent evidence.

`docs/methods.md` shows the simulations that chose this rule over the design-effect Dirichlet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from judge.types.estimate import Statistic, undefined

Floats: TypeAlias = NDArray[np.float64]
Transform: TypeAlias = Literal["atanh", "logit", "none"]

WEIGHTED = "; each item weighs the inverse of its chance to be drawn"
"""Behind the method of a statistic whose items weigh differently; see `judge.calibration.inclusion`."""
DRAWS = 4_000
CHUNK = 2_000
MAX_UNDEFINED = 0.05
"""Share of resamples that may be undefined before an interval is withheld."""


@dataclass(frozen=True)
class Weighted:
    """A statistic as a function of weights on rows.

    Attributes:
        evaluate: Weights of shape (b, r) to values of shape (b,), NaN where undefined. No warning is raised. Weights
            of the observed rows alone, shape (b, rows seen), do as well.
        counts: Shape (r,): clusters that show each row; 0 for pseudo-rows, which come last.
        prior: Shape (r,): prior mass of each row; 0 for an observed row.
        uneven: By how much unequal weights of items lower the effective number of clusters, at least 1; None where
            items weigh the same. See `judge.calibration.inclusion`.
        boundary: Whether the prior keeps bounds off the boundary. Without it a statistic without any observed
            disagreement gets no bound at all.
    """

    evaluate: Callable[[Floats], Floats]
    counts: Floats
    prior: Floats
    uneven: float | None = None

    @property
    def clusters(self) -> int:
        return round(float(self.counts.sum()))

    @property
    def seen(self) -> Floats:
        """Counts of the observed rows."""
        return self.counts[: int(np.count_nonzero(self.counts))]

    @property
    def boundary(self) -> bool:
        return bool((self.prior > 0).any())

    def value(self) -> float:
        """The statistic on the observed data; NaN where undefined."""
        return float(self.evaluate(self.seen[None, :])[0])


def linear(
    rows: Floats,
    statistic: Callable[[Floats], Floats],
    pseudo: Floats | None,
    mass: float,
    *,
    uneven: float | None = None,
) -> Weighted:
    """A statistic of sums over clusters.

    Args:
        rows: Shape (g, d): what each cluster adds to the sums.
        statistic: Sums of shape (b, d) to values (b,).
        pseudo: Shape (p, d): what one pseudo-item of each kind adds, or None for no prior.
        mass: Prior mass of each pseudo-row.
        uneven: See `Weighted`.
    """
    unique, counts = np.unique(rows, axis=0, return_counts=True)
    prior = np.zeros(len(unique))
    observed = counts.astype(np.float64)
    if pseudo is not None and len(pseudo):
        unique = np.concatenate([unique, pseudo])
        observed = np.concatenate([observed, np.zeros(len(pseudo))])
        prior = np.concatenate([prior, np.full(len(pseudo), mass)])
    return Weighted(
        evaluate=lambda weights: statistic(weights @ unique[: weights.shape[1]]),
        counts=observed,
        prior=prior,
        uneven=uneven,
    )


def sum_by_cluster(rows: Floats, cluster: NDArray[np.int64]) -> Floats:
    """Rows of items added up within clusters: (n, d) to (g, d)."""
    out = np.zeros((int(cluster.max()) + 1 if len(cluster) else 0, rows.shape[1]))
    np.add.at(out, cluster, rows)
    return out


def in_chunks(statistic: Weighted, draw: Callable[[int], Floats], draws: int) -> Floats:
    """Values of `draws` drawn weightings, without holding all weights at once."""
    size = max(100, min(draws, CHUNK, 4_000_000 // max(1, len(statistic.counts))))
    parts = [statistic.evaluate(draw(min(size, draws - done))) for done in range(0, draws, size)]
    return np.concatenate(parts)


def leave_one_out(statistic: Weighted) -> tuple[Floats, Floats]:
    """Values without one cluster of each observed row, and how many clusters show that row."""
    counts = statistic.seen
    size = max(1, 4_000_000 // max(1, len(counts)))
    parts = []
    for start in range(0, len(counts), size):
        some = np.arange(start, min(start + size, len(counts)))
        weights = np.repeat(counts[None, :], len(some), axis=0)
        weights[np.arange(len(some)), some] -= 1
        parts.append(statistic.evaluate(weights))
    return np.concatenate(parts), counts


def bootstrap_values(statistic: Weighted, *, resamples: int, rng: np.random.Generator) -> Floats:
    """Values of the statistic in resamples of whole clusters; NaN where a resample leaves it undefined."""
    total, counts = statistic.clusters, statistic.seen
    rows = len(counts)
    if rows * 12 < total:  # few patterns: one binomial each costs less than one index for every cluster
        return in_chunks(
            statistic, lambda size: rng.multinomial(total, counts / total, size=size).astype(np.float64), resamples
        )
    pattern = np.repeat(np.arange(rows), counts.astype(np.int64))

    def draw(size: int) -> Floats:
        picked = pattern[rng.integers(total, size=(size, total), dtype=np.int32)]
        picked += np.arange(size)[:, None] * rows
        return np.bincount(picked.ravel(), minlength=size * rows).reshape(size, rows).astype(np.float64)

    return in_chunks(statistic, draw, resamples)


def posterior_values(statistic: Weighted, *, draws: int, spread: float, rng: np.random.Generator) -> Floats:
    """Values under gamma weights: the cluster Dirichlet posterior with variance inflated by `spread`."""
    shape = statistic.counts / spread + statistic.prior
    return in_chunks(statistic, lambda size: rng.standard_gamma(shape, size=(size, len(shape))), draws)


def _forward(values: Floats, transform: Transform) -> Floats:
    if transform == "atanh":
        return np.arctanh(values)
    if transform == "logit":
        return np.log(values) - np.log1p(-values)
    return values


def _back(value: float, transform: Transform) -> float:
    if transform == "atanh":
        return float(np.tanh(value))
    if transform == "logit":
        return float(1.0 / (1.0 + np.exp(-value)))
    return value


def _jackknife_error(statistic: Weighted, value: float, transform: Transform) -> float | None:
    """Standard error on the transformed scale by leaving one cluster out; None where it cannot be had."""
    values, counts = leave_one_out(statistic)
    clusters = counts.sum()
    if clusters < 2 or not np.isfinite(values).all():
        return None
    mean = float((counts * values).sum() / clusters)
    spread = float((counts * (values - mean) ** 2).sum())
    error = float(np.sqrt((clusters - 1) / clusters * spread))
    if transform == "atanh":
        return error / (1 - value**2) if abs(value) < 1 else None
    if transform == "logit":
        return error / (value * (1 - value)) if 0 < value < 1 else None
    return error


def bounded(
    statistic: Weighted,
    *,
    n: int,
    rng: np.random.Generator,
    confidence: float = 0.95,
    draws: int = DRAWS,
    transform: Transform = "atanh",
    undefined_because: str = "the statistic is undefined on this data",
    detail: dict[str, Any] | None = None,
) -> Statistic:
    """The statistic with the fail-closed interval and bounds of the module's docstring.

    A bound is withheld (null with a reason) where there are fewer than two clusters, or where the data show no
    disagreement at all and the statistic has no prior that could say how much may hide behind that.
    """
    from scipy.stats import norm, t

    clusters = statistic.clusters
    value = statistic.value() if clusters else float("nan")
    if not np.isfinite(value):
        return undefined(undefined_because, n=n, clusters=clusters, confidence=confidence, detail=detail)
    value = float(np.clip(value, -1.0, 1.0)) if transform == "atanh" else value

    def withheld(reason: str) -> Statistic:
        return Statistic(
            value=value, n=n, clusters=clusters, confidence=confidence, method="none", reason=reason, detail=detail
        )

    if clusters < 2:
        return withheld(
            "all runs are of one cluster (task): how clusters differ cannot be seen, so there is no interval"
        )
    error = _jackknife_error(statistic, value, transform)
    no_spread = error is None or error <= 1e-12
    if no_spread and not statistic.boundary:
        return withheld("all clusters (tasks) say the same: how they differ cannot be seen, so no bound can be given")
    two_sided, one_sided = (1 + confidence) / 2, confidence
    lows: list[list[float]] = [[], []]
    highs: list[list[float]] = [[], []]
    methods: list[str] = []
    if not no_spread and error is not None:
        methods.append("cluster-jackknife" if transform == "none" else f"cluster-jackknife-{transform}")
        centre = float(_forward(np.asarray([value]), transform)[0])
        for place, level in enumerate((two_sided, one_sided)):
            reach = float(t.ppf(level, clusters - 1)) * error
            lows[place].append(_back(centre - reach, transform))
            highs[place].append(_back(centre + reach, transform))
    lost = 0
    if statistic.boundary:
        methods.append("cluster-dirichlet")
        spread = float((t.ppf(one_sided, clusters - 1) / norm.ppf(one_sided)) ** 2)
        drawn = posterior_values(statistic, draws=draws, spread=spread * (statistic.uneven or 1.0), rng=rng)
        kept = drawn[np.isfinite(drawn)]
        lost = len(drawn) - len(kept)
        if lost > MAX_UNDEFINED * len(drawn):
            return withheld(f"{lost} of {len(drawn)} posterior draws leave the statistic undefined")
        for place, level in enumerate((two_sided, one_sided)):
            low, high = np.quantile(kept, [1 - level, level])
            lows[place].append(float(low))
            highs[place].append(float(high))
    return Statistic(
        value=value,
        low=min(*lows[0], value),
        high=max(*highs[0], value),
        lower=min(*lows[1], value),
        upper=max(*highs[1], value),
        confidence=confidence,
        n=n,
        clusters=clusters,
        method=("worse of " if len(methods) > 1 else "")
        + " and ".join(methods)
        + ("" if statistic.uneven is None else WEIGHTED),
        detail={**(detail or {}), "undefined_draws": lost} if lost else detail,
    )


def bootstrap(
    statistic: Weighted,
    *,
    n: int,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 10_000,
    max_undefined: float = MAX_UNDEFINED,
    undefined_because: str = "the statistic is undefined on this data",
) -> Statistic:
    """The statistic with a percentile interval from resampled clusters.

    Undefined resamples are counted in `detail`; above `max_undefined` of all, or where all defined ones are equal
    (an interval of no width is not certainty), the interval is null with a reason. When not to use: as the bound
    of a gate, see the module's docstring.
    """
    clusters = statistic.clusters
    value = statistic.value() if clusters else float("nan")
    if not np.isfinite(value):
        return undefined(undefined_because, n=n, clusters=clusters, confidence=confidence)
    drawn = bootstrap_values(statistic, resamples=resamples, rng=rng)
    kept = drawn[np.isfinite(drawn)]
    lost = len(drawn) - len(kept)
    detail = {"resamples": resamples, "undefined_resamples": lost}
    reason = None
    if lost > max_undefined * resamples:
        reason = f"{lost} of {resamples} resamples leave the statistic undefined (more than {max_undefined:.0%})"
    elif float(np.ptp(kept)) <= 1e-12:
        reason = "every resample gives the same value: the data show no variation, which is not certainty"
    if reason is not None:
        return Statistic(
            value=value, n=n, clusters=clusters, confidence=confidence, method="none", reason=reason, detail=detail
        )
    tail = 1 - confidence
    low, high, lower, upper = (float(x) for x in np.quantile(kept, [tail / 2, 1 - tail / 2, tail, confidence]))
    return Statistic(
        value=value,
        low=low,
        high=high,
        lower=lower,
        upper=upper,
        confidence=confidence,
        n=n,
        clusters=clusters,
        method="cluster-bootstrap-percentile",
        detail=detail,
    )


def ratio(over: Floats, under: Floats) -> Floats:
    """`over / under`, NaN where `under` is (nearly) zero, without a warning."""
    over, under = np.broadcast_arrays(over, under)
    out = np.full(under.shape, np.nan)
    np.divide(over, under, out=out, where=np.abs(under) > 1e-12)
    return out
