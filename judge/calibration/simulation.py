"""Simulated judges of known worth: what a bound does where the truth is known.

`bench/false_trust.py` runs these grids at full size, the tests at reduced size. *False trust* is the share of samples
in which the lower bound lies above the truth; its nominal rate is 1 - confidence. A sample on which the statistic is
undefined trusts nobody; such samples are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from judge.calibration.alpha import alpha_from_coincidences, alpha_statistic, coincidence_rows, value_counts
from judge.calibration.correction import pass_rate
from judge.calibration.kappa import pair_statistic
from judge.calibration.proportions import share
from judge.calibration.ratings import MISSING, Codes
from judge.calibration.resampling import Floats, Weighted, bounded
from judge.calibration.table import Weighting, coefficient, count_table
from judge.types.record import Record

Bools: TypeAlias = NDArray[np.bool_]
Draw: TypeAlias = Callable[[int, int, np.random.Generator], tuple[Codes, Codes]]
CLUSTER_SIZES = ((10, 10), (20, 10), (20, 25), (40, 5), (40, 10), (80, 5))
TRUTH_SIZE = 200_000
DRAWS = 2_000


class Cell(Record):
    """One cell of a grid.

    Attributes:
        rate: False-trust rate, or coverage.
        limit: Largest false trust allowed; for coverage the largest distance from nominal.
        mean: Mean of the bound, or of the interval's width.
        undefined: Samples without a bound; they trust nobody, and are left out of coverage.
    """

    omit_none: ClassVar[bool] = False

    name: str
    kind: Literal["false_trust", "coverage"]
    rate: float
    nominal: float
    limit: float
    mean: float | None
    undefined: int
    sims: int

    @property
    def error(self) -> float:
        """Standard error of `rate` if it were at its limit."""
        edge = self.limit if self.kind == "false_trust" else self.nominal - self.limit
        return float(np.sqrt(edge * (1 - edge) / max(1, self.sims)))

    @property
    def ok(self) -> bool:
        """Whether the cell keeps its limit, up to two standard errors of the simulation."""
        over = self.rate - self.limit if self.kind == "false_trust" else abs(self.rate - self.nominal) - self.limit
        return over <= 2 * self.error

    @property
    def within(self) -> bool:
        """Whether the cell keeps its limit outright; for grids of a thousand samples or more."""
        if self.kind == "false_trust":
            return self.rate <= self.limit
        return abs(self.rate - self.nominal) <= self.limit

    def text(self) -> str:
        """One line for a terminal."""
        mean = "-" if self.mean is None else f"{self.mean:.3f}"
        state = (
            "ok"
            if self.within
            else "within noise"
            if self.ok
            else "TOO HIGH"
            if self.kind == "false_trust"
            else "OUT OF RANGE"
        )
        return f"{self.name:<46} {self.rate:.3f} (limit {self.limit:.3f}) mean {mean} null {self.undefined:>4} {state}"


def false_trust_cell(name: str, bounds: Sequence[float | None], truth: float, limit: float) -> Cell:
    """A cell from the lower bounds of many samples."""
    known = [bound for bound in bounds if bound is not None]
    return Cell(
        name=name,
        kind="false_trust",
        rate=sum(bound > truth for bound in known) / len(bounds),
        nominal=0.05,
        limit=limit,
        mean=float(np.mean(known)) if known else None,
        undefined=len(bounds) - len(known),
        sims=len(bounds),
    )


def _limit(clusters: int) -> float:
    return 1.3 * 0.05 if clusters >= 40 else 1.7 * 0.05


def _lower(statistic: Weighted, n: int, rng: np.random.Generator) -> float | None:
    return bounded(statistic, n=n, rng=rng, draws=DRAWS).lower


def binary_table(prevalence: float, kappa: float) -> Floats:
    """Cell probabilities (2, 2) of two raters who both pass a share `prevalence` and agree by `kappa`."""
    off = (1 - kappa) * prevalence * (1 - prevalence)
    return np.asarray([[1 - prevalence - off, off], [off, prevalence - off]])


def independent_kappa(
    sims: int,
    rng: np.random.Generator,
    *,
    sizes: Sequence[int] = (30, 50, 100, 200),
    prevalences: Sequence[float] = (0.5, 0.8, 0.95),
    kappas: Sequence[float] = (0.6, 0.8),
) -> Iterator[Cell]:
    """Lower bound of kappa on independent binary pairs; equal tables are bounded once."""
    for n in sizes:
        for prevalence in prevalences:
            for kappa in kappas:
                drawn = rng.multinomial(n, binary_table(prevalence, kappa).ravel(), size=sims)
                tables, times = np.unique(drawn, axis=0, return_counts=True)
                bounds: list[float | None] = []
                for cells, count in zip(tables, times, strict=True):
                    code = np.repeat(np.arange(4), cells)
                    statistic = pair_statistic(code // 2, code % 2, np.arange(n), 2, 2, coefficient)
                    bounds += [_lower(statistic, n, rng)] * int(count)
                yield false_trust_cell(f"kappa n={n} pass={prevalence} kappa={kappa}", bounds, kappa, 1.3 * 0.05)


def spread_errors(clusters: int, size: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Tasks of different difficulty, errors in most of them: pass rate Beta(1.2, .8), error rate Beta(.3, 2.2)."""
    return _with_errors(rng.beta(0.3, 2.2, clusters), clusters, size, rng)


def concentrated_errors(share_of_tasks: float) -> Draw:
    """A judge right on most tasks and wrong in nine runs of ten on a few: the sample may miss them all."""

    def draw(clusters: int, size: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
        return _with_errors(np.where(rng.random(clusters) < share_of_tasks, 0.9, 0.0), clusters, size, rng)

    return draw


def _with_errors(error: Floats, clusters: int, size: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
    passed = rng.random((clusters, size)) < rng.beta(1.2, 0.8, clusters)[:, None]
    wrong = rng.random((clusters, size)) < error[:, None]
    return passed.astype(np.int64).ravel(), (passed ^ wrong).astype(np.int64).ravel()


FAMILIES: dict[str, Draw] = {
    "spread": spread_errors,
    "10% of tasks": concentrated_errors(0.10),
    "5% of tasks": concentrated_errors(0.05),
    "2% of tasks": concentrated_errors(0.02),
}


def clustered_kappa(
    sims: int,
    rng: np.random.Generator,
    *,
    families: Sequence[str] = tuple(FAMILIES),
    sizes: Sequence[tuple[int, int]] = CLUSTER_SIZES,
) -> Iterator[Cell]:
    """Lower bound of binary kappa where trajectories share tasks."""
    for family in families:
        draw = FAMILIES[family]
        a, b = draw(TRUTH_SIZE, 5, rng)
        truth = float(coefficient(count_table(a, b, 2)))
        for clusters, size in sizes:
            cluster = np.repeat(np.arange(clusters), size)
            bounds = []
            for _ in range(sims):
                a, b = draw(clusters, size, rng)
                bounds.append(_lower(pair_statistic(a, b, cluster, 2, 2, coefficient), len(a), rng))
            yield false_trust_cell(f"kappa {clusters}x{size} {family} ({truth:.3f})", bounds, truth, _limit(clusters))


def latent_pair(levels: int, skew: float, noise: float, task: float) -> Draw:
    """Two raters who cut one latent quality, part of it shared within a task, each with an error of their own."""
    from scipy.stats import norm

    cuts = norm.ppf(np.linspace(0, 1, levels + 1)[1:-1] ** skew)

    def draw(clusters: int, size: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
        quality = np.sqrt(task) * rng.standard_normal((clusters, 1))
        quality = quality + np.sqrt(1 - task) * rng.standard_normal((clusters, size))
        slip = noise * (np.sqrt(task) * rng.standard_normal((clusters, 1)) + rng.standard_normal((clusters, size)))
        first = quality + noise * rng.standard_normal((clusters, size))
        return np.searchsorted(cuts, first.ravel()), np.searchsorted(cuts, (quality + slip).ravel())

    return draw


def ordinal_kappa(
    sims: int,
    rng: np.random.Generator,
    *,
    levels: Sequence[int] = (3, 5),
    sizes: Sequence[tuple[int, int]] = ((50, 1), (100, 1), (200, 1), (20, 10), (40, 5), (80, 5)),
    weights: Weighting = "quadratic",
) -> Iterator[Cell]:
    """Lower bound of weighted kappa over three and five levels, even and skewed, independent and by task."""
    for count in levels:
        for skew, noise in ((1.0, 0.4), (0.25, 0.3)):
            for clusters, size in sizes:
                draw = latent_pair(count, skew, noise, 0.0 if size == 1 else 0.4)
                a, b = draw(TRUTH_SIZE, size if size == 1 else 5, rng)
                truth = float(coefficient(count_table(a, b, count), "cohen", weights))
                cluster = np.repeat(np.arange(clusters), size)
                bounds = []
                for _ in range(sims):
                    a, b = draw(clusters, size, rng)
                    statistic = pair_statistic(
                        a, b, cluster, count, count, lambda tables: coefficient(tables, "cohen", weights)
                    )
                    bounds.append(_lower(statistic, len(a), rng))
                name = f"{weights} K={count} skew={skew} {clusters}x{size} ({truth:.3f})"
                yield false_trust_cell(name, bounds, truth, _limit(clusters))


def many_raters(
    sims: int,
    rng: np.random.Generator,
    *,
    levels: Sequence[int] = (2, 5),
    sizes: Sequence[tuple[int, int]] = ((50, 1), (200, 1), (20, 10), (40, 5)),
    raters: int = 3,
    missing: float = 0.2,
) -> Iterator[Cell]:
    """Lower bound of ordinal alpha with three raters and a fifth of the ratings missing, near the boundary too."""
    from scipy.stats import norm

    for count in levels:
        cuts = norm.ppf(np.linspace(0, 1, count + 1)[1:-1] ** 0.5)
        for noise in (0.5, 0.1):

            def draw(clusters: int, size: int, noise: float = noise, cuts: Floats = cuts) -> Codes:
                shape = (raters, clusters, size)
                quality = np.sqrt(0.4) * rng.standard_normal((1, clusters, 1))
                quality = quality + np.sqrt(0.6) * rng.standard_normal((1, clusters, size))
                codes = np.searchsorted(cuts, (quality + noise * rng.standard_normal(shape)).reshape(raters, -1))
                return np.where(rng.random(codes.shape) < missing, MISSING, codes)

            whole = coincidence_rows(value_counts(draw(TRUTH_SIZE // 2, 1), count)).sum(0).reshape(1, count, count)
            truth = float(alpha_from_coincidences(whole, "ordinal")[0])
            for clusters, size in sizes:
                cluster = np.repeat(np.arange(clusters), size)
                bounds = []
                for _ in range(sims):
                    codes = draw(clusters, size)
                    paired = (codes != MISSING).sum(0) >= 2
                    dense = np.unique(cluster[paired], return_inverse=True)[1]
                    statistic = alpha_statistic(codes[:, paired], dense, count, "ordinal", None)
                    bounds.append(_lower(statistic, int(paired.sum()), rng))
                name = f"alpha K={count} noise={noise} {clusters}x{size} ({truth:.3f})"
                yield false_trust_cell(name, bounds, truth, _limit(clusters))


def shares(
    sims: int,
    rng: np.random.Generator,
    *,
    families: Sequence[str] = tuple(FAMILIES),
    sizes: Sequence[tuple[int, int]] = CLUSTER_SIZES,
) -> Iterator[Cell]:
    """Lower bound of the share of failed runs caught (TNR), where trajectories share tasks."""
    for family in families:
        draw = FAMILIES[family]
        a, b = draw(TRUTH_SIZE, 5, rng)
        truth = float((b[a == 0] == 0).mean())
        for clusters, size in sizes:
            cluster = np.repeat(np.arange(clusters), size)
            bounds: list[float | None] = []
            for _ in range(sims):
                a, b = draw(clusters, size, rng)
                failed = a == 0
                caught = (b[failed] == 0).astype(np.float64)
                bounds.append(share(caught, groups=cluster[failed].tolist(), rng=rng, draws=DRAWS).lower)
            yield false_trust_cell(f"tnr {clusters}x{size} {family} ({truth:.3f})", bounds, truth, _limit(clusters))


RATE_CELLS: tuple[tuple[int, int, float, float, float, str], ...] = (
    (100, 200, 0.80, 0.90, 0.80, "random"),
    (200, 200, 0.80, 0.90, 0.80, "random"),
    (100, 2000, 0.80, 0.90, 0.80, "random"),
    (100, 500, 0.95, 0.90, 0.70, "random"),
    (200, 500, 0.95, 0.95, 0.70, "random"),
    (100, 2000, 0.80, 0.90, 0.80, "class_balanced"),
    (200, 2000, 0.95, 0.90, 0.80, "class_balanced"),
)


def rates(
    sims: int, rng: np.random.Generator, *, cells: Sequence[tuple[int, int, float, float, float, str]] = RATE_CELLS
) -> Iterator[Cell]:
    """Coverage of the corrected pass rate by the method that the design calls for."""
    for n, rest, truth, tpr, tnr, design in cells:
        inside, widths, missing = 0, [], 0
        for _ in range(sims):
            labelled = (rng.random(n) < truth) if design == "random" else np.repeat([True, False], [n // 2, n - n // 2])
            people = np.concatenate([labelled, rng.random(rest) < truth])
            said = np.where(people, rng.random(n + rest) < tpr, rng.random(n + rest) >= tnr)
            labels = np.where(np.arange(n + rest) < n, people.astype(np.float64), np.nan)
            found = pass_rate(
                said.astype(np.float64),
                labels,
                design="random" if design == "random" else "class_balanced",
                rng=rng,
                draws=DRAWS,
            ).corrected
            if found.low is None or found.high is None:
                missing += 1
                continue
            inside += found.low <= truth <= found.high
            widths.append(found.high - found.low)
        yield Cell(
            name=f"rate {n}/{rest} theta={truth} tpr={tpr} tnr={tnr} {design}",
            kind="coverage",
            rate=inside / max(1, sims - missing),
            nominal=0.95,
            limit=0.02,
            mean=float(np.mean(widths)) if widths else None,
            undefined=missing,
            sims=sims - missing,
        )


def clustered_rates(
    sims: int,
    rng: np.random.Generator,
    *,
    sizes: Sequence[tuple[int, int, int]] = ((20, 10, 4), (40, 5, 2), (40, 10, 5), (80, 5, 2)),
) -> Iterator[Cell]:
    """Coverage of the corrected pass rate where runs share tasks; of each task the first few runs are labelled.

    Such labels are a random sample of each task's runs, and so sound for both methods.
    """
    truth = 0.6  # mean of Beta(1.2, .8)
    designs: tuple[Literal["random", "class_balanced"], ...] = ("random", "class_balanced")
    for clusters, size, labelled in sizes:
        tasks = np.repeat(np.arange(clusters), size)
        for design in designs:
            inside, widths, missing = 0, [], 0
            for _ in range(sims):
                people, said = _with_errors(rng.beta(0.5, 3.0, clusters), clusters, size, rng)
                labels = np.where(np.tile(np.arange(size), clusters) < labelled, people.astype(np.float64), np.nan)
                found = pass_rate(
                    said.astype(np.float64), labels, design=design, groups=tasks.tolist(), rng=rng, draws=DRAWS
                ).corrected
                if found.low is None or found.high is None:
                    missing += 1
                    continue
                inside += found.low <= truth <= found.high
                widths.append(found.high - found.low)
            yield Cell(
                name=f"rate {clusters}x{size}, {labelled} labelled, {design}",
                kind="coverage",
                rate=inside / max(1, sims - missing),
                nominal=0.95,
                limit=0.02,
                mean=float(np.mean(widths)) if widths else None,
                undefined=missing,
                sims=sims - missing,
            )
