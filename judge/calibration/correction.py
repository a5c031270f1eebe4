"""What a pass rate measured by a judge really means: the rate among people, corrected for the judge's errors.

How the labelled runs were chosen decides the method, and it is declared, never guessed.

| design | method | why |
|---|---|---|
| random | post-stratification on the verdict | a random sample: intervals 2-4 times narrower than Rogan–Gladen |
| by_verdict | post-stratification | PPV and NPV are what was sampled |
| class_balanced | Rogan–Gladen | only TPR and TNR are sound there; the others are badly biased |
| inclusion | Hájek weights | every label counts by the inverse of its chance to be drawn |
| unknown | none | no corrected estimate at all |

Uncertainty of every part enters: gamma weights on clusters with a Beta(1/2, 1/2) prior on each rate; where each run is
its own cluster these are Beta draws.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.proportions import share
from judge.calibration.ratings import Codes, cluster_codes, numbers
from judge.calibration.resampling import Floats, ratio, sum_by_cluster
from judge.errors import StatisticsError
from judge.types.estimate import Statistic, undefined
from judge.types.record import Record

Design: TypeAlias = Literal["random", "by_verdict", "class_balanced", "inclusion", "unknown"]
DRAWS = 10_000


class Clipped(Record):
    """A corrected rate.

    Attributes:
        value: In [0, 1]; None where the judge does no better than chance.
        raw: Before clipping, with `value`.
        clipped: Whether `raw` left [0, 1]; None with `value`.
    """

    omit_none: ClassVar[bool] = False

    value: float | None
    raw: float | None
    clipped: bool | None
    reason: str | None = None


class PassRate(Record):
    """Three answers side by side.

    Attributes:
        judge_rate: Share that the judge passed: biased by its errors.
        labels_only: Share that people passed among labelled runs; null where the design makes it meaningless.
        corrected: The corrected rate, or null with the reason; `detail` holds "raw" and "clipped".
        wider_than_labels: Whether the corrected interval is wider than that of the labels alone; None where either is
            missing. Then prefer the labels.
    """

    omit_none: ClassVar[bool] = False

    design: Design
    method: str
    judge_rate: Statistic
    labels_only: Statistic
    corrected: Statistic
    wider_than_labels: bool | None


def rogan_gladen(judge_rate: float, tpr: float, tnr: float) -> Clipped:
    """(p + TNR - 1) / (TPR + TNR - 1), clipped to [0, 1] and flagged; null where TPR + TNR <= 1.

    Raises:
        StatisticsError: A rate outside [0, 1].

    Source: Rogan & Gladen 1978, doi:10.1093/oxfordjournals.aje.a112510.
    """
    if not all(0 <= rate <= 1 for rate in (judge_rate, tpr, tnr)):
        raise StatisticsError(f"Rates outside [0, 1]: {judge_rate!r}, {tpr!r}, {tnr!r}.")
    youden = tpr + tnr - 1
    if youden <= 1e-12:
        return Clipped(
            value=None, raw=None, clipped=None, reason="the judge does no better than chance (TPR + TNR <= 1)"
        )
    raw = (judge_rate + tnr - 1) / youden
    value = min(1.0, max(0.0, raw))
    return Clipped(value=value, raw=raw, clipped=abs(value - raw) > 1e-12)


def plug_in_interval(
    judge_rate: float, n: float, tpr: float, positives: float, tnr: float, negatives: float, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Adjusted plug-in interval of a Rogan–Gladen rate (Lee et al. 2025), for comparison; None where undefined.

    Counts are shrunk as in Agresti & Coull before the delta method: the judge's rate by z²/2 of n + z², TPR and TNR by
    one success and one failure. Source: arXiv 2511.21140.
    """
    from scipy.stats import norm

    z = float(norm.ppf((1 + confidence) / 2))
    p = (n * judge_rate + z**2 / 2) / (n + z**2)
    low_rate, high_rate = (negatives * tnr + 1) / (negatives + 2), (positives * tpr + 1) / (positives + 2)
    youden = low_rate + high_rate - 1
    if youden <= 1e-12:
        return None
    rate = (p + low_rate - 1) / youden
    shift = (
        2
        * z**2
        * (
            -(1 - rate) * low_rate * (1 - low_rate) / (negatives + 2)
            + rate * high_rate * (1 - high_rate) / (positives + 2)
        )
    )
    error = (
        np.sqrt(
            p * (1 - p) / (n + z**2)
            + (1 - rate) ** 2 * low_rate * (1 - low_rate) / (negatives + 2)
            + rate**2 * high_rate * (1 - high_rate) / (positives + 2)
        )
        / youden
    )
    low, high = float(rate + shift - z * error), float(rate + shift + z * error)
    return min(1.0, max(0.0, low)), min(1.0, max(0.0, high))


def pass_rate(
    verdicts: ArrayLike,
    labels: ArrayLike,
    *,
    design: Design,
    groups: Sequence[Hashable] | None = None,
    inclusion: ArrayLike | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
    draws: int = DRAWS,
) -> PassRate:
    """The true pass rate of the population that the unlabelled runs are drawn from.

    Args:
        verdicts: 1 or 0 for every run, labelled or not; shape (n,). A run without a verdict is left out by the caller,
            who counts it.
        labels: 1 or 0 where people labelled the run, NaN elsewhere; shape (n,).
        design: How labelled runs were chosen. "class_balanced": the unlabelled runs alone speak for the population.
        inclusion: Chance in (0, 1] of each labelled run to be labelled, for design "inclusion".

    Raises:
        StatisticsError: Shapes or values do not fit; inclusion probabilities are missing for that design.
    """
    verdict, label = numbers(verdicts, what="verdicts"), numbers(labels, what="labels")
    if len(verdict) != len(label):
        raise StatisticsError(f"{len(verdict)} verdicts against {len(label)} labels.")
    if not np.isin(verdict, (0, 1)).all() or not np.isin(label[~np.isnan(label)], (0, 1)).all():
        raise StatisticsError("Verdicts and labels are 1 (passed) or 0 (failed).", hint="Cut the score at a pass mark.")
    cluster = cluster_codes(groups, len(verdict))
    labelled = ~np.isnan(label)
    population = ~labelled if design == "class_balanced" else np.ones(len(verdict), dtype=bool)

    def plain(values: Floats, where: np.ndarray) -> Statistic:
        return share(values[where], groups=cluster[where].tolist(), rng=rng, confidence=confidence)

    judge_rate = plain(verdict, population)
    only = (
        plain(label, labelled)
        if design == "random"
        else undefined(
            f"labels drawn by design {design!r} are not a sample of the population",
            n=int(labelled.sum()),
            confidence=confidence,
        )
    )
    if design == "unknown":
        method, corrected = (
            "none",
            undefined(
                "how the labelled runs were chosen is not declared, so no corrected estimate is given",
                n=len(verdict),
                confidence=confidence,
            ),
        )
    elif design == "inclusion":
        method = "hajek"
        corrected = _hajek(label, labelled, inclusion, cluster, confidence)
    else:
        method = "rogan-gladen" if design == "class_balanced" else "post-stratification"
        corrected = _corrected(
            verdict, label, cluster, population, method=method, confidence=confidence, draws=draws, rng=rng
        )
    wider = None
    if None not in (only.low, only.high, corrected.low, corrected.high):
        wider = (corrected.high or 0.0) - (corrected.low or 0.0) > (only.high or 0.0) - (only.low or 0.0)
    return PassRate(
        design=design,
        method=method,
        judge_rate=judge_rate,
        labels_only=only,
        corrected=corrected,
        wider_than_labels=wider,
    )


def _corrected(
    verdict: Floats,
    label: Floats,
    cluster: Codes,
    population: np.ndarray,
    *,
    method: str,
    confidence: float,
    draws: int,
    rng: np.random.Generator,
) -> Statistic:
    from scipy.stats import norm, t

    labelled = ~np.isnan(label)
    n = len(verdict)
    kinds = np.stack(
        [
            labelled & (label == 1) & (verdict == 1),
            labelled & (label == 1) & (verdict == 0),
            labelled & (label == 0) & (verdict == 1),
            labelled & (label == 0) & (verdict == 0),
            population & (verdict == 1),
            population & (verdict == 0),
        ],
        axis=1,
    ).astype(np.float64)
    clusters = len(np.unique(cluster))
    counts = kinds.sum(0)
    balanced = method == "rogan-gladen"
    needed = (
        {"labelled as passed": counts[0] + counts[1], "labelled as failed": counts[2] + counts[3]}
        if balanced
        else {"labelled among the judge's passes": counts[0] + counts[2], "among its fails": counts[1] + counts[3]}
    )
    empty = [name for name, count in needed.items() if count == 0]
    if balanced and counts[4] + counts[5] == 0:
        empty.append("without a label")
    absent_stratum = not balanced and counts[5] == 0 and empty == ["among its fails"]
    absent_stratum = absent_stratum or (not balanced and counts[4] == 0 and empty == [next(iter(needed))])
    if labelled.sum() == 0 or (empty and not absent_stratum):
        return undefined(
            f"no run {' and none '.join(empty) or 'is labelled'}", n=n, clusters=clusters, confidence=confidence
        )
    if clusters < 2:
        return undefined(
            "all runs are of one cluster (task): how clusters differ cannot be seen, so there is no interval",
            n=n,
            clusters=clusters,
            confidence=confidence,
        )

    def rate(sums: Floats) -> Floats:
        passed = ratio(sums[:, 4], sums[:, 4] + sums[:, 5])
        if balanced:
            tpr, tnr = ratio(sums[:, 0], sums[:, 0] + sums[:, 1]), ratio(sums[:, 3], sums[:, 2] + sums[:, 3])
            return ratio(passed + tnr - 1, tpr + tnr - 1)
        ppv, miss = ratio(sums[:, 0], sums[:, 0] + sums[:, 2]), ratio(sums[:, 1], sums[:, 1] + sums[:, 3])
        return passed * np.where(np.isnan(ppv), 0.0, ppv) + (1 - passed) * np.where(np.isnan(miss), 0.0, miss)

    rows, times = np.unique(sum_by_cluster(kinds, cluster), axis=0, return_counts=True)
    spread = 1.0
    prior_size = np.ones(6)
    if clusters < n:
        spread = float((t.ppf((1 + confidence) / 2, clusters - 1) / norm.ppf((1 + confidence) / 2)) ** 2)
        showing = (sum_by_cluster(kinds, cluster) > 0).sum(0)
        prior_size = counts / np.maximum(showing, 1)
        prior_size = np.where(prior_size > 0, prior_size, n / clusters)
    weights = rng.standard_gamma(times / spread, size=(draws, len(times))) * spread
    sums = weights @ rows + rng.standard_gamma(0.5, size=(draws, 6)) * prior_size
    youden = ratio(sums[:, 0], sums[:, 0] + sums[:, 1]) + ratio(sums[:, 3], sums[:, 2] + sums[:, 3]) - 1
    if balanced:
        point = (
            float(ratio(counts[0:1], counts[0:1] + counts[1:2])[0] + ratio(counts[3:4], counts[2:3] + counts[3:4])[0])
            - 1
        )
        worst = float(np.quantile(youden, 1 - confidence))
        if point <= 1e-12 or worst <= 0:
            return undefined(
                f"the judge is not shown to beat chance: TPR + TNR - 1 is {point:.3f}, its lower bound {worst:.3f}",
                n=n,
                clusters=clusters,
                confidence=confidence,
                method=method,
            )
    drawn = rate(sums)
    raw = float(rate(counts[None, :])[0])
    tail = 1 - confidence
    value = min(1.0, max(0.0, raw))
    low, high, lower, upper = (
        min(1.0, max(0.0, float(x))) for x in np.quantile(drawn, [tail / 2, 1 - tail / 2, tail, confidence])
    )
    return Statistic(
        value=value,
        low=min(low, value),
        high=max(high, value),
        lower=min(lower, value),
        upper=max(upper, value),
        confidence=confidence,
        n=n,
        clusters=clusters,
        method=f"{method}; beta draws" if clusters == n else f"{method}; cluster-dirichlet",
        detail={"raw": raw, "clipped": abs(raw - value) > 1e-12, "labelled": int(labelled.sum())},
    )


def _hajek(
    label: Floats, labelled: np.ndarray, inclusion: ArrayLike | None, cluster: Codes, confidence: float
) -> Statistic:
    from scipy.stats import t

    if inclusion is None:
        raise StatisticsError("Design 'inclusion' without inclusion probabilities.", hint="Log them with every label.")
    chance = numbers(inclusion, what="inclusion")
    if len(chance) != len(label):
        raise StatisticsError(f"{len(chance)} inclusion probabilities for {len(label)} runs.")
    here = chance[labelled]
    if np.isnan(here).any() or ((here <= 0) | (here > 1)).any():
        raise StatisticsError("Every labelled run needs an inclusion probability in (0, 1].")
    y, weight = label[labelled], 1 / here
    dense = np.unique(cluster[labelled], return_inverse=True)[1].astype(np.int64)
    n = len(y)
    clusters = int(dense.max()) + 1 if n else 0
    if clusters < 2:
        return undefined("fewer than two labelled tasks", n=n, clusters=clusters, confidence=confidence)
    value = float((weight * y).sum() / weight.sum())
    sums = sum_by_cluster((weight * (y - value))[:, None], dense)[:, 0]
    # half a pass and half a fail of mean weight, as in the Beta prior: no interval of zero width on equal labels
    mean_weight = weight.sum() / clusters
    extra = 0.5 * mean_weight**2 * ((1 - value) ** 2 + value**2)
    error = float(np.sqrt(clusters / (clusters - 1) * (sums**2).sum() + extra)) / float(weight.sum())
    two, one = float(t.ppf((1 + confidence) / 2, clusters - 1)), float(t.ppf(confidence, clusters - 1))
    low, high, lower, upper = (min(1.0, max(0.0, value + step * error)) for step in (-two, two, -one, one))
    return Statistic(
        value=value,
        low=low,
        high=high,
        lower=lower,
        upper=upper,
        confidence=confidence,
        n=n,
        clusters=clusters,
        method="hajek; linearised over clusters",
        detail={"raw": value, "clipped": False, "labelled": n},
    )
