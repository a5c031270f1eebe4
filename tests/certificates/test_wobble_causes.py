"""Repeats that differ by more than the draw show their own wobble, and take no part in the verdict."""

from __future__ import annotations

import numpy as np
import pytest

from judge.calibration.dataset import join
from judge.calibration.examine import examine
from judge.calibration.fields import FieldMap
from judge.calibration.observations import observe
from judge.errors import LabelError
from judge.types.rubric import BinaryScale

VERDICTS = FieldMap(id=("run",), source_name="j", value="v", sample="k", cause="why")
LABELS = FieldMap(id=("run",), source_name="ann", value="v")


def rows(why: str, k: int, flips: set[int]) -> list[dict[str, object]]:
    return [{"run": f"r{i}", "v": int((i % 2 == 0) != (i in flips)), "k": k, "why": why} for i in range(20)]


def test_each_cause_has_its_own_flip_rate_and_only_sampling_votes() -> None:
    given = [
        *rows("sampling", 0, set()),
        *rows("sampling", 1, {0}),
        *rows("prompt", 0, {0, 1, 2, 3, 4}),
        *rows("criteria_order", 0, set(range(10))),
    ]
    said = observe(given, VERDICTS, BinaryScale(), what="verdicts")
    labels = observe([{"run": f"r{i}", "v": int(i % 2 == 0)} for i in range(20)], LABELS, BinaryScale(), what="labels")
    data = join(
        said.observations,
        labels.observations,
        judge="j",
        criterion="overall",
        scale=BinaryScale(),
        vote=lambda scores: scores[0],
    )
    report = examine(data, label_set="mine", rng=np.random.default_rng(0))
    rates = {entry.cause: entry.found.flip_rate.value for entry in report.wobble}
    # one run of 20 flips between the samples, 5 under the reworded prompt, 10 in the other order
    assert rates == pytest.approx({"sampling": 0.05, "prompt": 0.25, "criteria_order": 0.5})
    assert report.statistics["agreement"].value == 1.0


def test_an_unknown_cause_is_refused() -> None:
    with pytest.raises(LabelError, match="weather"):
        observe(rows("weather", 0, set()), VERDICTS, BinaryScale(), what="verdicts")
