"""A jury of recorded judges, as one more recorded judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log

import numpy as np

from judge.calibration.dataset import Dataset
from judge.calibration.dawid_skene import dawid_skene
from judge.calibration.jury_rules import jury_vote, next_seat
from judge.calibration.resampling import Floats
from judge.calibration.stacking import fit_stack, stacked_chance
from judge.errors import StatisticsError, TooFewLabels
from judge.types.jury import Jury


@dataclass(frozen=True)
class Seated:
    """A jury's verdicts as those of one judge.

    Attributes:
        calls: Judge to the share of runs on which it was called.
        given: The votes cast on each run of `data`, in its order.
        weights: Of each judge, for rule "weighted"; else empty.
    """

    data: Dataset
    calls: Mapping[str, float]
    given: tuple[Mapping[str, float | None], ...]
    weights: Mapping[str, float] = field(default_factory=dict)


def seat(jury: Jury, data: Mapping[str, Dataset], dev: Mapping[str, Dataset] | None = None) -> Seated:
    """The jury's verdicts on the runs that all its judges were asked about.

    Args:
        data: Judge to its data on the runs to vote on.
        dev: The same on dev runs, from which "weighted" and "stacked" learn. Never the runs that are voted on.

    Raises:
        TooFewLabels: A rule that learns has no or too few dev labels, or no run is shared.
        StatisticsError: The rule does not fit the scale, or the members are too few for it.
    """
    names = (*jury.members, *jury.reserves)
    keep = set.intersection(*(set(data[name].items) for name in names))
    if not keep:
        raise TooFewLabels(f"Jury {jury.name!r}: its members share no labelled run.")
    whole = {name: data[name].part([item in keep for item in data[name].items]) for name in names}
    first = whole[names[0]]
    said = {name: _by_item(whole[name], first.items) for name in names}
    weights: dict[str, float] = {}
    if jury.rule in ("dawid_skene", "stacked"):
        values, failures = _learnt(jury, first, said, dev or {})
        calls = Counter({name: len(values) for name in jury.members})
        cast = [{name: said[name][i] for name in jury.members} for i in range(len(values))]
    else:
        weights = _weights(jury, dev or {}) if jury.rule == "weighted" else {}
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
    return Seated(
        data=made, calls={name: n / len(values) for name, n in calls.items()}, given=tuple(cast), weights=weights
    )


def member_weights(data: Mapping[str, Dataset]) -> dict[str, float]:
    """Log odds of agreeing with people on dev labels, never below 0: a judge no better than a coin has no say.

    A pseudo-count of 1/2 on either side keeps a judge without an error finite.

    Source: Nitzan & Paroush 1982, doi:10.2307/2526438. It holds for independent errors; judges' are not, so take the
    gain with care.
    """
    weights = {}
    for name, dataset in data.items():
        scored = [(v, label) for v, label in zip(dataset.verdicts, dataset.labels, strict=True) if v is not None]
        right = sum(v == label for v, label in scored)
        weights[name] = max(0.0, log((right + 0.5) / (len(scored) - right + 0.5)))
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
