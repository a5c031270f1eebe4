"""A jury of recorded judges calibrated as one judge: its votes become the observations of one more recorded judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge.calibration.dataset import Dataset, sources
from judge.calibration.jury_errors import JuryErrors
from judge.calibration.observations import Observation
from judge.calibration.recorded_jury import Seated, seat
from judge.engine.jury_report import recorded_jury_report
from judge.registry import unknown
from judge.types.jury import Jury
from judge.types.verdict import JudgeSpec, VoteRule

LEARNING = ("weighted", "stacked")
"""Rules that learn from dev labels, so that their votes on dev runs say nothing."""


@dataclass(frozen=True)
class RecordedJury:
    """A jury's votes on labelled runs.

    Attributes:
        observations: As of one judge; of dev runs too, unless the jury learnt from those.
        labels: Those that the jury may be held against.
    """

    spec: JudgeSpec
    observations: tuple[Observation, ...]
    labels: tuple[Observation, ...]
    report: JuryErrors


def seat_recorded(
    jury: Jury,
    said: Sequence[Observation],
    labels: Sequence[Observation],
    joined: Callable[[str, str | None], Dataset],
    *,
    vote: VoteRule,
    mark: float | None = None,
    rng: np.random.Generator,
) -> RecordedJury:
    """Seats recorded judges.

    Args:
        joined: A judge's data on a split of the labels, or on all of them.
        mark: See `judge.calibration.recorded_jury.seat`.

    Raises:
        UnknownName: A judge of the jury is not in the file.
        TooFewLabels: A rule that learns has no or too few dev labels, or no run is shared.
    """
    names = (*jury.members, *jury.reserves)
    known = sources(said)
    for name in names:
        if name not in known:
            raise unknown("judge in the file", name, known)
    splits = {label.split for label in labels}
    test = "test" if "test" in splits else None
    data = {name: joined(name, test) for name in names}
    dev = {name: joined(name, "dev") for name in names} if test and "dev" in splits else {}
    seated = seat(jury, data, dev, mark=mark)
    learns = jury.rule in LEARNING and not jury.weights
    parts = [seated] if learns or not dev else [seated, seat(jury, dev, mark=mark)]
    return RecordedJury(
        spec=JudgeSpec(name=jury.name, provider="recorded", model=jury.fingerprint, vote=vote, jury=jury),
        observations=tuple(each for part in parts for each in _observed(part)),
        labels=tuple(label for label in labels if not learns or label.split != "dev"),
        report=recorded_jury_report(jury, seated, data, dev, mark=mark, rng=rng),
    )


def _observed(seated: Seated) -> list[Observation]:
    data = seated.data
    return [
        Observation(item=item, criterion=data.criterion, source=data.judge, value=value, failed=why, group=group)
        for item, value, why, group in zip(data.items, data.verdicts, data.failures, data.groups, strict=True)
    ]


def cut_labels(labels: Sequence[Observation], mark: float) -> tuple[Observation, ...]:
    """Labels as passed (1) and failed (0) at a mark."""
    return tuple(label if label.value is None else replace(label, value=float(label.value >= mark)) for label in labels)
