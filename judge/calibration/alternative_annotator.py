"""The alternative annotator test: may the judge stand in for a person, measured against the other people?

For each person j and item i with others: S(x) is how well x matches the others (their mean agreement with it, or
minus the root mean square distance to them). The judge wins where S(judge) >= S(j), the person where
S(j) >= S(judge); ties count for both. d = [person wins] - [judge wins]; the test rejects mean(d) >= ε. Rejections over
people are corrected by Benjamini-Yekutieli; the winning rate is the share of people beaten.

Source: Calderon, Reichart & Dror 2025, arXiv 2501.10970.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.paired import benjamini_yekutieli
from judge.calibration.ratings import Codes, cluster_codes, numbers
from judge.calibration.resampling import Floats, sum_by_cluster
from judge.errors import StatisticsError
from judge.types.record import Record

Scoring: TypeAlias = Literal["accuracy", "rmse"]
ITEMS_EACH = 30


class Comparison(Record):
    """The judge against one person.

    Attributes:
        advantage: Share of items on which the judge matches the others at least as well as the person.
        p: One-sided p that the judge is not worse by ε; None where the person shares no item with others.
        test: "t", "cluster-t", or "exact" where d does not vary.
        warning: Set with fewer than 30 items.
    """

    omit_none: ClassVar[bool] = False

    rater: str
    items: int
    advantage: float | None
    p: float | None
    rejected: bool
    test: str
    warning: str | None = None


class AlternativeAnnotatorTest(Record):
    """Attributes:
    winning_rate: Share of people that the judge may stand in for; None where nobody could be tested.
    advantage: Mean over people of the advantage probability: ranks judges.
    passed: Winning rate at least one half; None with `winning_rate`.
    epsilon: Price of a person's time: how much worse the judge may be.
    """

    omit_none: ClassVar[bool] = False

    winning_rate: float | None
    advantage: float | None
    passed: bool | None
    epsilon: float
    q: float
    comparisons: tuple[Comparison, ...]
    reason: str | None = None


def _match(x: Floats, others: Floats, scoring: Scoring) -> Floats:
    there = ~np.isnan(others)
    count = there.sum(0)
    filled = np.where(there, others, 0.0)
    if scoring == "accuracy":
        return np.asarray((there & (filled == x[None, :])).sum(0) / np.maximum(count, 1), dtype=np.float64)
    square = np.where(there, (filled - x[None, :]) ** 2, 0.0).sum(0)
    return np.asarray(-np.sqrt(square / np.maximum(count, 1)), dtype=np.float64)


def _p_value(d: Floats, epsilon: float, cluster: Codes) -> tuple[float, str]:
    from scipy.stats import t

    n = len(d)
    if float(np.ptp(d)) == 0.0:
        # all d equal. If the mean were ε or more, P(d = 1) >= ε, so n items without a single 1 have chance (1-ε)^n
        return (1.0 if d[0] > 0 else float((1 - epsilon) ** len(np.unique(cluster)))), "exact"
    groups = int(cluster.max()) + 1
    mean = float(d.mean())
    if groups == n:
        error, free, name = float(d.std(ddof=1)) / np.sqrt(n), n - 1, "t"
    else:
        if groups < 2:
            return 1.0, "none: one cluster"
        sums = sum_by_cluster(np.column_stack([d, np.ones(n)]), cluster)
        left = sums[:, 0] - mean * sums[:, 1]
        error, free, name = float(np.sqrt(groups / (groups - 1) * (left**2).sum())) / n, groups - 1, "cluster-t"
        if error == 0.0:
            return (1.0 if mean >= epsilon else float((1 - epsilon) ** groups)), "exact"
    return float(t.cdf((mean - epsilon) / error, free)), name


def alternative_annotator_test(
    humans: Mapping[str, ArrayLike],
    judge: ArrayLike,
    *,
    epsilon: float = 0.2,
    q: float = 0.05,
    scoring: Scoring = "accuracy",
    groups: Sequence[Hashable] | None = None,
) -> AlternativeAnnotatorTest:
    """Test the judge against each person, the others being the measure.

    Args:
        humans: Name to scores of shape (n,), NaN where missing. Three people or more.
        epsilon: .2 against experts, .15 skilled, .1 crowd; the result hangs on it, so it is part of the claim.

    Raises:
        StatisticsError: Fewer than three people, lengths differ, or `epsilon` outside [0, 1).

    When not to use: with fewer than 30 items for each person.
    """
    if len(humans) < 3:
        raise StatisticsError(f"{len(humans)} people, three needed.", hint="With two, report the ceiling instead.")
    if not 0 <= epsilon < 1:
        raise StatisticsError(f"epsilon is {epsilon!r}, needed [0, 1).")
    verdict = numbers(judge, what="judge")
    names = list(humans)
    people = [numbers(humans[name], what=name) for name in names]
    if any(len(row) != len(verdict) for row in people):
        raise StatisticsError("People and judge have different numbers of items.", hint="Join them first.")
    cluster = cluster_codes(groups, len(verdict))
    matrix = np.stack(people)
    drafts: list[tuple[str, int, float | None, float | None, str]] = []
    for j, name in enumerate(names):
        others = np.delete(matrix, j, axis=0)
        kept = ~np.isnan(matrix[j]) & ~np.isnan(verdict) & (~np.isnan(others)).any(0)
        if not kept.any():
            drafts.append((name, 0, None, None, "none: no item shared with others"))
            continue
        ours = _match(verdict[kept], others[:, kept], scoring)
        theirs = _match(matrix[j, kept], others[:, kept], scoring)
        judge_wins, person_wins = (ours >= theirs).astype(np.float64), (theirs >= ours).astype(np.float64)
        dense = np.unique(cluster[kept], return_inverse=True)[1].astype(np.int64)
        p, test = _p_value(person_wins - judge_wins, epsilon, dense)
        drafts.append((name, int(kept.sum()), float(judge_wins.mean()), p, test))
    tested = [draft for draft in drafts if draft[3] is not None]
    adjusted = iter(benjamini_yekutieli([draft[3] for draft in tested if draft[3] is not None]))
    comparisons = tuple(
        Comparison(
            rater=name,
            items=items,
            advantage=advantage,
            p=p,
            rejected=p is not None and next(adjusted) <= q,
            test=test,
            warning=f"{items} items, {ITEMS_EACH} advised" if items < ITEMS_EACH else None,
        )
        for name, items, advantage, p, test in drafts
    )
    if not tested:
        return AlternativeAnnotatorTest(
            winning_rate=None,
            advantage=None,
            passed=None,
            epsilon=epsilon,
            q=q,
            comparisons=comparisons,
            reason="no person shares an item with the judge and another person",
        )
    winning = sum(entry.rejected for entry in comparisons) / len(tested)
    return AlternativeAnnotatorTest(
        winning_rate=winning,
        advantage=float(np.mean([draft[2] for draft in tested])),
        passed=winning >= 0.5,
        epsilon=epsilon,
        q=q,
        comparisons=comparisons,
    )
