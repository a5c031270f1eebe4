"""What each judge brings to a jury: how often it was called and failed, and the jury's agreement without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from judge.calibration.comparison import difference
from judge.calibration.dataset import Dataset
from judge.calibration.jury_rules import Given, jury_vote, next_seat, occupied
from judge.calibration.proportions import share
from judge.calibration.ratings import cluster_codes
from judge.calibration.resampling import Floats
from judge.errors import StatisticsError, TooFewLabels
from judge.types.estimate import Statistic, undefined
from judge.types.juror import Juror
from judge.types.jury import Jury

Open = tuple[float, ...]
"""What a run may be given: one value for a verdict, the tied ones for a tie, none where there is no score."""
Known = Mapping[str, Mapping[str, float | None]]
"""Judge to run to its score; None where it was asked and gave none."""


def jurors(
    jury: Jury,
    whole: Dataset,
    given: Sequence[Given],
    *,
    causes: Mapping[str, Mapping[str, str]],
    settle: Callable[[float], float],
    revote: Callable[[Jury], Sequence[Open]],
    rng: np.random.Generator,
) -> tuple[Juror, ...]:
    """One row a member and reserve, in the order of the seats.

    Args:
        whole: The jury's verdicts beside the labels.
        given: The votes cast on each run of `whole`, in its order.
        causes: Judge to run to why it gave no score.
        settle: A vote's value to what labels are compared with: a cut at the pass mark, or a level.
        revote: What another jury of the same judges says of the same runs, settled.

    Leaving one out asks what it adds to this jury on these runs. A judge that adds nothing beside two good ones may be
    the one that is missed when one of them goes. Two judges tie where three did not: on both sides a tie is worth the
    mean of the tied values, as if a coin were thrown, or every third judge would seem to be worth its ties.
    """
    said = [
        open_values(value, why == "tie", votes, settle)
        for value, why, votes in zip(whole.verdicts, whole.failures, given, strict=True)
    ]
    credit = _credit(whole, said)
    clusters = cluster_codes(whole.groups, len(whole.items))
    rows = []
    for name in (*jury.members, *jury.reserves):
        asked = [name in votes for votes in given]
        scores = [None if (value := votes.get(name)) is None else settle(value) for votes in given]
        silent = [item for item, there, s in zip(whole.items, asked, scores, strict=True) if there and s is None]
        own = _credit(whole, [() if s is None else (s,) for s in scores])[np.asarray(asked, dtype=bool)]
        rest = _without(jury, name, whole, credit, clusters, given, settle, revote, rng)
        groups = [group for group, there in zip(whole.groups, asked, strict=True) if there]
        rows.append(
            Juror(
                judge=name,
                reserve=name in jury.reserves,
                runs=len(whole.items),
                called=sum(asked),
                scored=sum(asked) - len(silent),
                failures=dict(Counter(causes.get(name, {}).get(item, "no score") for item in silent)),
                replaced=sum(_replaced(jury, name, votes) for votes in given),
                alone=share(own, groups=groups, rng=rng) if len(own) else undefined("it was never asked", n=0),
                without=rest.without,
                without_unsettled=rest.unsettled,
                adds=rest.adds,
            )
        )
    return tuple(rows)


def open_values(value: float | None, tie: bool, votes: Given, settle: Callable[[float], float]) -> Open:
    """What a vote leaves open. `value` is settled already."""
    if value is not None:
        return (value,)
    return tuple(settle(vote) for vote in votes.values() if vote is not None) if tie else ()


def votes_again(
    jury: Jury, items: Sequence[str], known: Known, *, binary: bool, settle: Callable[[float], float]
) -> list[Open]:
    """What a jury says by answers that are known already, settled.

    Raises:
        StatisticsError: It would call a judge on a run on which that one was not asked.
    """
    out: list[Open] = []
    missing: Counter[str] = Counter()
    for item in items:
        given: dict[str, float | None] = {}
        while (name := next_seat(jury, given)) is not None and item in known.get(name, {}):
            given[name] = known[name][item]
        if name is not None:
            missing[name] += 1
            continue
        vote = jury_vote(jury, given, binary=binary, weights=jury.weights or None)
        out.append(open_values(None if vote.value is None else settle(vote.value), vote.tie, given, settle))
    if missing:
        (name, n), *_ = missing.most_common(1)
        raise StatisticsError(f"{name} was not asked on {n} of {len(items)} runs")
    return out


def without_member(jury: Jury, name: str) -> Jury | str:
    """The jury without one judge; the other's name where one alone is left.

    A reserve takes no seat for it. A rule of "at least n passes" keeps its n while that many sit.
    """
    members = tuple(member for member in jury.members if member != name)
    if len(members) < 2:
        return members[0]
    return Jury(
        name=jury.name,
        members=members,
        reserves=tuple(reserve for reserve in jury.reserves if reserve != name),
        rule=jury.rule,
        seating="all"
        if jury.seating == "screen" or (jury.seating == "on_split" and len(members) < 3)
        else jury.seating,
        passes=None if jury.passes is None else min(jury.passes, len(members)),
        pass_mark=jury.pass_mark,
        weights={judge: weight for judge, weight in jury.weights.items() if judge != name},
        quorum=None if jury.quorum is None else min(jury.quorum, len(members)),
        on_tie=jury.on_tie,
    )


class _Rest(NamedTuple):
    """The jury without one judge."""

    without: Statistic
    unsettled: int | None
    adds: Statistic


def _without(
    jury: Jury,
    name: str,
    whole: Dataset,
    credit: Floats,
    clusters: np.ndarray,
    given: Sequence[Given],
    settle: Callable[[float], float],
    revote: Callable[[Jury], Sequence[Open]],
    rng: np.random.Generator,
) -> _Rest:
    n = len(whole.items)
    if name in jury.reserves and not any(name in votes for votes in given):
        nothing = undefined("it never sat", n=n)
        return _Rest(nothing, None, nothing)
    rest = without_member(jury, name)
    try:
        if isinstance(rest, str):
            asked = sum(rest in votes for votes in given)
            if asked < n:
                raise StatisticsError(f"{rest} was not asked on {n - asked} of {n} runs")
            values: Sequence[Open] = [() if (v := votes[rest]) is None else (settle(v),) for votes in given]
        else:
            values = revote(rest)
    except (StatisticsError, TooFewLabels) as error:
        unknown = undefined(error.message, n=n)
        return _Rest(unknown, None, unknown)
    left = _credit(whole, values)
    return _Rest(
        without=share(left, groups=whole.groups, rng=rng),
        unsettled=sum(len(value) != 1 for value in values),
        adds=difference(credit - left, clusters, rng),
    )


def _credit(whole: Dataset, values: Sequence[Open]) -> Floats:
    """As `SharedRuns.credit`, for one judge; a tie earns the mean credit of the tied values."""
    span = float(whole.scale.high - whole.scale.low)
    return np.asarray(
        [
            float(np.mean([1.0 - abs(v - label) / span for v in each])) if each else 0.0
            for each, label in zip(values, whole.labels, strict=True)
        ]
    )


def _replaced(jury: Jury, name: str, votes: Given) -> bool:
    """Whether a judge was asked, gave no score, and sits no longer."""
    return name in votes and votes[name] is None and name not in occupied(jury, votes)
