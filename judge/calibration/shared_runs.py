"""Several judges' data on the runs that all of them were asked about: what every comparison starts from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from judge.calibration.dataset import Dataset
from judge.calibration.ratings import Codes, cluster_codes
from judge.calibration.resampling import Floats
from judge.errors import LabelError, TooFewLabels, UsageError


@dataclass(frozen=True, eq=False)
class SharedRuns:
    """J judges on n labelled runs; equal where all of it is, a missing score being equal to a missing one.

    Attributes:
        values: Shape (J, n); NaN where a judge gave no score, with the cause in `failures`.
        span: Highest less lowest value of the scale.
        domain: Values of the scale, worst to best; None where any number between its ends is legal.
        repeats: Of each judge, shape (n, samples), NaN where missing.
        left_out: Runs and rows that are not here, by reason.
        chances: See `Dataset.chances`.
    """

    judges: tuple[str, ...]
    criterion: str
    items: tuple[str, ...]
    groups: tuple[str, ...]
    labels: Floats
    values: Floats
    failures: tuple[tuple[str | None, ...], ...]
    repeats: tuple[Floats, ...]
    domain: tuple[float, ...] | None
    span: float
    left_out: Mapping[str, int] = field(default_factory=dict)
    chances: tuple[float, float] | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SharedRuns):
            return NotImplemented
        return all(_same(getattr(self, part.name), getattr(other, part.name)) for part in fields(self))

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash

    @property
    def binary(self) -> bool:
        """Whether every value is passed (1) or failed (0)."""
        return self.domain == (0.0, 1.0)

    @property
    def clusters(self) -> Codes:
        """Task of each run as a number from 0."""
        return cluster_codes(self.groups, len(self.items))

    def credit(self) -> Floats:
        """Credit of each judge for each run, shape (J, n), in [0, 1].

        1 for the people's own value; else 0 on a binary scale, and 1 less the distance as a share of the scale on
        an ordinal one. A run without a score earns none: a judge must not win by failing on the hard ones.
        """
        there = ~np.isnan(self.values)
        distance = np.abs(np.where(there, self.values, 0.0) - self.labels[None, :]) / self.span
        return np.where(there, 1.0 - distance, 0.0)

    def place(self, judge: str) -> int:
        """Row of a judge.

        Raises:
            UsageError: It is not among the compared.
        """
        if judge not in self.judges:
            raise UsageError(f"{judge!r} is not among the judges: {', '.join(self.judges)}.")
        return self.judges.index(judge)


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other


def shared_runs(datasets: Sequence[Dataset]) -> SharedRuns:
    """The runs that every judge was asked about, in the first judge's order.

    Raises:
        LabelError: Two judges have one name, or their data differ in criterion, scale or label.
        TooFewLabels: No run is shared.
    """
    if not datasets:
        raise TooFewLabels("No judge to compare.")
    names = [data.judge for data in datasets]
    if len(set(names)) < len(names):
        twice = next(name for name, n in Counter(names).items() if n > 1)
        raise LabelError(f"Two judges are named {twice!r}.", hint="Two copies of one judge are one judge.")
    first = datasets[0]
    for data in datasets[1:]:
        if (data.criterion, data.scale) != (first.criterion, first.scale):
            raise LabelError(
                f"{data.judge!r} was joined on criterion {data.criterion!r}, {first.judge!r} on {first.criterion!r}, "
                "or on another scale.",
                hint="Compare judges on one criterion.",
            )
    rows = [{item: place for place, item in enumerate(data.items)} for data in datasets]
    kept = [item for item in first.items if all(item in places for places in rows)]
    asked = set().union(*rows)
    if not kept:
        raise TooFewLabels(f"{', '.join(names)} share no labelled run.", hint="Let every judge score the same runs.")
    picked = [[places[item] for item in kept] for places in rows]
    labels = np.asarray([first.labels[i] for i in picked[0]], dtype=np.float64)
    for data, own in zip(datasets, picked, strict=True):
        if any(data.labels[i] != label for i, label in zip(own, labels, strict=True)):
            raise LabelError(f"{data.judge!r} was joined with other labels than {first.judge!r}.")
    left_out = Counter(first.left_out)
    if len(asked) > len(kept):
        left_out["run that not every judge was asked about"] += len(asked) - len(kept)
    return SharedRuns(
        judges=tuple(names),
        criterion=first.criterion,
        items=tuple(kept),
        groups=tuple(first.groups[i] for i in picked[0]),
        labels=labels,
        values=np.stack(
            [_numbers([data.verdicts[i] for i in own]) for data, own in zip(datasets, picked, strict=True)]
        ),
        failures=tuple(tuple(data.failures[i] for i in own) for data, own in zip(datasets, picked, strict=True)),
        repeats=tuple(
            np.stack([_numbers([sample[i] for i in own]) for sample in data.repeats], axis=1)
            for data, own in zip(datasets, picked, strict=True)
        ),
        domain=first.domain,
        span=float(first.scale.high - first.scale.low),
        left_out=dict(left_out),
        chances=first.chances(),
    )


def _numbers(values: Sequence[float | None]) -> Floats:
    return np.asarray([np.nan if value is None else value for value in values], dtype=np.float64)
