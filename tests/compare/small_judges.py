"""Small recorded judges, written out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judge.calibration.dataset import Dataset
from judge.types.rubric import BinaryScale, RangeScale

Values = Sequence[float | None]


def judged(
    name: str,
    verdicts: Values,
    labels: Sequence[float],
    *,
    groups: Sequence[str] | None = None,
    repeats: Sequence[Values] | None = None,
    top: float | None = None,
    slices: Mapping[str, tuple[str, ...]] | None = None,
) -> Dataset:
    """One judge's data: a value an item, None where it failed."""
    items = tuple(f"run-{i}" for i in range(len(labels)))
    return Dataset(
        judge=name,
        criterion="overall",
        scale=BinaryScale() if top is None else RangeScale(min=1, max=top, step=1),
        items=items,
        labels=tuple(float(label) for label in labels),
        raters={},
        verdicts=tuple(verdicts),
        failures=tuple("failed: no value" if value is None else None for value in verdicts),
        repeats=tuple(tuple(sample) for sample in repeats or [verdicts]),
        groups=tuple(groups) if groups is not None else items,
        slices=slices or {},
    )
