"""A jury of recorded judges, as one more recorded judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log

import numpy as np

from judge.calibration.dataset import Dataset, cut_both
from judge.calibration.dawid_skene import dawid_skene
from judge.calibration.jury_rules import jury_vote, needs_binary, next_seat
from judge.calibration.resampling import Floats
from judge.calibration.stacking import fit_stack, stacked_chance
from judge.errors import StatisticsError, TooFewLabels
from judge.types.jury import Jury

ON_PASSES = ("minimum", "dawid_skene", "stacked")
"""Rules that vote on passed and failed where there is a pass mark. No live jury votes by them on a scale."""


@dataclass(frozen=True)
class Seated:
    """A jury's verdicts as those of one judge.

    Attributes:
        data: On passed and failed where there is a pass mark.
        calls: Judge to the share of runs on which it was called.
        given: The votes cast on each run of `data`, in its order.
        settle: A vote to what labels are compared with: passed or failed at the mark, or a level of the scale.
        weights: Of each judge, for rule "weighted"; else empty.
    """

    data: Dataset
    calls: Mapping[str, float]
    given: tuple[Mapping[str, float | None], ...]
    settle: Callable[[float], float]
    weights: Mapping[str, float] = field(default_factory=dict)


def seat(
    jury: Jury,
    data: Mapping[str, Dataset],
    dev: Mapping[str, Dataset] | None = None,
    *,
    mark: float | None = None,
) -> Seated:
    """The jury's verdicts on the runs that all its judges were asked about.

    Judges vote on their scores, as a live jury does; then the vote is cut at the mark, or taken for the level at or
    below it. Only rules on passes (`ON_PASSES`, and a screen without a mark of its own) have their judges cut first.

    Args:
        data: Judge to its data on the runs to vote on, not cut.
        dev: The same on dev runs, from which "weighted" and "stacked" learn. Never the runs that are voted on.
        mark: Lowest label and vote that counts as passed, on a scale that is not binary.

    Raises:
        TooFewLabels: A rule that learns has no or too few dev labels, or no run is shared.
        StatisticsError: The rule does not fit the scale, or the members are too few for it.
    """
    names = (*jury.members, *jury.reserves)
    taught = dev or {}
    if mark is not None:
        taught = {name: cut_both(each, mark) for name, each in taught.items()}
        if jury.rule in ON_PASSES or needs_binary(jury) is not None:
            data = {name: cut_both(data[name], mark) for name in names}
            mark = None
    keep = set.intersection(*(set(data[name].items) for name in names))
    if not keep:
        raise TooFewLabels(f"Jury {jury.name!r}: its members share no labelled run.")
    whole = {name: data[name].part([item in keep for item in data[name].items]) for name in names}
    first = whole[names[0]]
    said = {name: _by_item(whole[name], first.items) for name in names}
    weights: dict[str, float] = {}
    if jury.rule in ("dawid_skene", "stacked"):
        values, failures = _learnt(jury, first, said, taught)
        calls = Counter({name: len(values) for name in jury.members})
        cast = [{name: said[name][i] for name in jury.members} for i in range(len(values))]
    else:
        weights = _weights(jury, taught) if jury.rule == "weighted" else {}
        values, failures, calls, cast = [], [], Counter(), []
        for i in range(len(first.items)):
            given: dict[str, float | None] = {}
            while (name := next_seat(jury, given)) is not None:
                given[name] = said[name][i]
            vote = jury_vote(jury, given, binary=first.domain == (0.0, 1.0), weights=weights or None)
            calls.update(given.keys())
            cast.append(given)
            values.append(vote.value)
            failures.append(vote.failure or ("tie" if vote.tie else None))
    made = replace(
        first,
        judge=jury.name,
        verdicts=tuple(values),
        failures=tuple(failures),
        repeats=(tuple(values),),
        scores=(),
        score_scale=None,
    )
    settle = settled(first, mark)
    if mark is not None:
        made = cut_both(made, mark)
    elif made.domain is not None:
        on_levels = tuple(None if value is None else settle(value) for value in values)
        made = replace(made, verdicts=on_levels, repeats=(on_levels,))
    return Seated(
        data=made,
        calls={name: n / len(values) for name, n in calls.items()},
        given=tuple(cast),
        settle=settle,
        weights=weights,
    )


def settled(data: Dataset, mark: float | None) -> Callable[[float], float]:
    """A vote's value as the labels know it: passed or failed at the mark, else the level at or below it."""
    domain = data.domain

    def settle(value: float) -> float:
        if mark is not None:
            return float(value >= mark)
        if domain is None:
            return value
        return max((level for level in domain if level <= value + 1e-9), default=domain[0])

    return settle


def member_weights(data: Mapping[str, Dataset]) -> dict[str, float]:
    """Log odds of agreeing with people on dev labels against those of a guess, never below 0: a judge that is no better
    than a guess has no say.

    log(right / wrong) + log(K - 1) on a scale of K levels, so that chance, 1 / K, is 0. A pseudo-count of 1/2 on either
    side keeps a judge without an error finite.

    Source: Nitzan & Paroush 1982, doi:10.2307/2526438; for more than two levels Zhu et al. 2009,
    doi:10.4310/SII.2009.v2.n3.a8. It holds for independent errors; judges' are not, so take the gain with care.
    """
    weights = {}
    for name, dataset in data.items():
        scored = [(v, label) for v, label in zip(dataset.verdicts, dataset.labels, strict=True) if v is not None]
        right = sum(v == label for v, label in scored)
        odds = (right + 0.5) / (len(scored) - right + 0.5)
        weights[name] = max(0.0, log(odds * (len(dataset.domain or (0, 1)) - 1)))
    return weights


def _weights(jury: Jury, dev: Mapping[str, Dataset]) -> dict[str, float]:
    if jury.weights:
        return dict(jury.weights)
    names = (*jury.members, *jury.reserves)
    if any(name not in dev for name in names):
        raise TooFewLabels(
            f"Jury {jury.name!r}: rule weighted learns from dev labels, and there are none.",
            hint="Give the labels a split column, or set aside tasks with --dev-share.",
        )
    return member_weights({name: dev[name] for name in names})


def _learnt(
    jury: Jury, first: Dataset, said: Mapping[str, Sequence[float | None]], dev: Mapping[str, Dataset]
) -> tuple[list[float | None], list[str | None]]:
    votes = np.stack([_numbers(said[name]) for name in jury.members], axis=1)
    answered = ~np.isnan(votes).all(1)
    values: list[float | None] = [None] * len(votes)
    if jury.rule == "dawid_skene":
        if first.domain is None:
            raise StatisticsError(f"Jury {jury.name!r}: rule dawid_skene needs a scale with levels.")
        domain = np.asarray(first.domain)
        gaps = np.abs(np.where(np.isnan(votes), 0.0, votes)[..., None] - domain)
        codes = np.where(np.isnan(votes), -1, gaps.argmin(2)).astype(np.int64)
        found = dawid_skene(codes[answered].T, len(domain))
        for i, place in zip(np.flatnonzero(answered).tolist(), found.classes, strict=True):
            values[i] = float(domain[place])
    else:
        if first.domain != (0.0, 1.0):
            raise StatisticsError(f"Jury {jury.name!r}: rule stacked needs verdicts that are passed or failed.")
        if any(name not in dev for name in jury.members):
            raise TooFewLabels(
                f"Jury {jury.name!r}: rule stacked learns from dev labels, and there are none.",
                hint="Give the labels a split column, or set aside tasks with --dev-share.",
            )
        items = [item for item in dev[jury.members[0]].items if all(item in dev[m].items for m in jury.members)]
        labels = dict(zip(dev[jury.members[0]].items, dev[jury.members[0]].labels, strict=True))
        taught = np.stack([_numbers(_by_item(dev[m], items)) for m in jury.members], axis=1)
        weights = fit_stack(taught, [labels[item] for item in items])
        chance = stacked_chance(weights, votes)
        for i in np.flatnonzero(answered).tolist():
            values[i] = float(chance[i] >= 0.5)
    return values, [None if there else "failed: no member gave a score" for there in np.asarray(answered).tolist()]


def _by_item(data: Dataset, items: Sequence[str]) -> list[float | None]:
    known = dict(zip(data.items, data.verdicts, strict=True))
    return [known[item] for item in items]


def _numbers(values: Sequence[float | None]) -> Floats:
    return np.asarray([np.nan if value is None else value for value in values], dtype=np.float64)
