"""Does a higher score mean a better run? Area under the ROC curve."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.ratings import Codes, cluster_codes, numbers
from judge.calibration.resampling import Floats, Weighted, bounded, ratio
from judge.errors import StatisticsError
from judge.types.estimate import Statistic, undefined


def auroc_statistic(passed: Floats, scores: Floats, cluster: Codes) -> Weighted:
    """AUROC as a function of weights on clusters: Σ over pairs (passed, failed) of [higher] + ½ [equal]."""
    groups = int(cluster.max()) + 1
    good, bad = passed == 1, passed == 0
    wins = (scores[good][:, None] > scores[bad][None, :]) + 0.5 * (scores[good][:, None] == scores[bad][None, :])
    half = np.zeros((groups, int(bad.sum())))
    np.add.at(half, cluster[good], wins)
    pairs = np.zeros((groups, groups))
    np.add.at(pairs, cluster[bad], half.T)
    pairs = pairs.T
    n_good = np.bincount(cluster[good], minlength=groups).astype(np.float64)
    n_bad = np.bincount(cluster[bad], minlength=groups).astype(np.float64)

    def evaluate(weights: Floats) -> Floats:
        return ratio(((weights @ pairs) * weights).sum(1), (weights @ n_good) * (weights @ n_bad))

    return Weighted(evaluate=evaluate, counts=np.ones(groups), prior=np.zeros(groups))


def auroc(
    passed: ArrayLike,
    scores: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Statistic:
    """Chance that a run that people passed scores above one that they failed, ties counted half.

    Args:
        passed: 1 or 0, NaN missing; shape (n,).
        scores: Any number, higher is better; shape (n,).

    Returns:
        In [0, 1], .5 is chance. Null where one class is absent; bounds null at 0 and 1, where nothing varies.

    Raises:
        StatisticsError: Lengths differ, or `passed` holds another number.

    When not to use: it says nothing about where to cut, and nothing about honest probabilities.
    Source: Hanley & McNeil 1982, doi:10.1148/radiology.143.1.7063747.
    """
    y, s = numbers(passed, what="passed"), numbers(scores, what="scores")
    if len(y) != len(s):
        raise StatisticsError(f"{len(y)} labels against {len(s)} scores.", hint="Join them first.")
    both = ~np.isnan(y) & ~np.isnan(s)
    cluster = cluster_codes(groups, len(y))[both]
    dense = np.unique(cluster, return_inverse=True)[1].astype(np.int64)
    y, s = y[both], s[both]
    if not np.isin(y, (0, 1)).all():
        raise StatisticsError("passed holds a value other than 0 and 1.", hint="Cut the label at a pass mark first.")
    counts = {"passed": int((y == 1).sum()), "failed": int((y == 0).sum())}
    if min(counts.values()) == 0:
        return undefined("one class is absent from the labels", n=len(y), confidence=confidence, detail=counts)
    return bounded(
        auroc_statistic(y, s, dense),
        n=len(y),
        rng=rng,
        confidence=confidence,
        transform="logit",
        detail=counts,
    )
