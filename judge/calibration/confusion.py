"""A binary judge against people: confusion, the two rates that matter, and what a judge that says one thing scores.

The positive class is *passed*. TPR is the share of runs that people passed and the judge passed; TNR the share of
runs that people failed and the judge failed ("failed runs caught").
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from judge.calibration.inclusion import relative
from judge.calibration.kappa import pair_statistic
from judge.calibration.proportions import share
from judge.calibration.ratings import cluster_codes, numbers
from judge.calibration.resampling import Floats, bounded, ratio
from judge.errors import StatisticsError
from judge.types.estimate import Statistic
from judge.types.record import Record


class Confusion(Record):
    """Counts of (people, judge).

    Attributes:
        pass_pass, pass_fail: Runs that people passed, by what the judge said.
        fail_pass, fail_fail: Runs that people failed, by what the judge said.
    """

    pass_pass: int
    pass_fail: int
    fail_pass: int
    fail_fail: int

    @property
    def n(self) -> int:
        return self.pass_pass + self.pass_fail + self.fail_pass + self.fail_fail


class BinaryAgreement(Record):
    """Everything about one binary cut. Each rate is null where its class is absent."""

    confusion: Confusion
    agreement: Statistic
    tpr: Statistic
    tnr: Statistic
    precision: Statistic
    npv: Statistic
    f1: Statistic
    youden: Statistic
    always_pass: Statistic
    always_fail: Statistic
    majority: Statistic


def binary_agreement(
    human: ArrayLike,
    judge: ArrayLike,
    *,
    groups: Sequence[Hashable] | None = None,
    weights: ArrayLike | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> BinaryAgreement:
    """Rates of a binary judge against people, clustered by `groups`, with the constant-answer baselines beside.

    Args:
        human, judge: 1 passed, 0 failed, NaN missing; shape (n,). A pair with a missing side is left out here:
            count judge failures as errors before, they are not absent.
        weights: Inverse chance of each item to be drawn; see `judge.calibration.inclusion`. Counts stay counts.

    Raises:
        StatisticsError: Lengths differ, or a value is neither 0 nor 1.
    """
    people, verdict = _binary(human, "human"), _binary(judge, "judge")
    if len(people) != len(verdict):
        raise StatisticsError(f"{len(people)} labels against {len(verdict)} verdicts.", hint="Join them first.")
    both = ~np.isnan(people) & ~np.isnan(verdict)
    cluster = cluster_codes(groups, len(people))[both]
    each = relative(weights, both)
    people, verdict = people[both], verdict[both]

    def rate(values: Floats, where: np.ndarray) -> Statistic:
        some = None if each is None else each[where]
        return share(values[where], groups=cluster[where].tolist(), weights=some, rng=rng, confidence=confidence)

    everything = np.ones(len(people), dtype=bool)
    a, b = people.astype(np.int64), verdict.astype(np.int64)
    dense = np.unique(cluster, return_inverse=True)[1].astype(np.int64)

    def of_table(function: Callable[[Floats], Floats], because: str, signed: bool) -> Statistic:
        return bounded(
            pair_statistic(a, b, dense, 2, 2, function, each),
            n=len(a),
            rng=rng,
            confidence=confidence,
            transform="atanh" if signed else "logit",
            undefined_because=because,
        )

    passed_share = people.mean() if len(people) else 0.0
    return BinaryAgreement(
        confusion=Confusion(
            pass_pass=int(((people == 1) & (verdict == 1)).sum()),
            pass_fail=int(((people == 1) & (verdict == 0)).sum()),
            fail_pass=int(((people == 0) & (verdict == 1)).sum()),
            fail_fail=int(((people == 0) & (verdict == 0)).sum()),
        ),
        agreement=rate((people == verdict).astype(np.float64), everything),
        tpr=rate(verdict, people == 1),
        tnr=rate(1 - verdict, people == 0),
        precision=rate(people, verdict == 1),
        npv=rate(1 - people, verdict == 0),
        f1=of_table(
            lambda t: ratio(2 * t[:, 1, 1], 2 * t[:, 1, 1] + t[:, 0, 1] + t[:, 1, 0]),
            "no run was passed by anyone",
            False,
        ),
        youden=of_table(
            lambda t: ratio(t[:, 1, 1], t[:, 1].sum(1)) + ratio(t[:, 0, 0], t[:, 0].sum(1)) - 1,
            "one class is absent from the labels",
            True,
        ),
        always_pass=rate(people, everything),
        always_fail=rate(1 - people, everything),
        majority=rate(people if passed_share >= 0.5 else 1 - people, everything),
    )


def _binary(values: ArrayLike, what: str) -> Floats:
    array = numbers(values, what=what)
    odd = array[~np.isnan(array) & (array != 0) & (array != 1)]
    if len(odd):
        raise StatisticsError(
            f"{what} holds {sorted(set(odd.tolist()))}, needed 1 (passed), 0 (failed) or NaN (missing).",
            hint="Cut the score at a pass mark first.",
        )
    return array
