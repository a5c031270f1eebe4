"""A jury on a scale says the same live and from recorded verdicts: its judges vote on scores, then the vote is cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_judges import judged

from judge.calibration.fields import FieldMap
from judge.calibration.recorded_jury import seat
from judge.calibration.sets import load_set
from judge.config import Settings
from judge.engine.comparing import compare_files, compare_set
from judge.engine.jury_report import recorded_jury_report
from judge.types.jury import Jury
from judge.types.rubric import RangeScale

MARK = 4
FIVE = RangeScale(min=1, max=5, step=1)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def passes(jury: Jury, **said: list[float | None]) -> Any:
    """The jury's verdicts on three runs whose labels are 5, 5 and 1, at the mark."""
    data = {name: judged(name, values, [5, 5, 1], top=5) for name, values in said.items()}
    return seat(jury, data, mark=MARK).data


def test_the_mean_of_scores_is_cut_and_not_the_mean_of_passes() -> None:
    jury = Jury(name="jury/j", members=("a", "b", "c"), rule="mean")
    # run 0: 11/3 fails, though two of three pass. run 1: 13/3 passes. run 2: 13/3 passes, though one fails
    found = passes(jury, a=[5, 5, 5], b=[5, 4, 5], c=[1, 4, 3])
    assert found.verdicts == (0.0, 1.0, 1.0)
    assert found.labels == (1.0, 1.0, 0.0)
    assert found.scores == pytest.approx((11 / 3, 13 / 3, 13 / 3))


def test_two_judges_on_either_side_of_the_mark_have_a_median() -> None:
    jury = Jury(name="jury/j", members=("a", "b"), rule="median")
    found = passes(jury, a=[5, 5, 4], b=[3, 2, None])
    assert found.verdicts == (1.0, 0.0, None)  # 4 passes, 3.5 does not
    assert found.failures[2] == "failed: 1 of 2 seats gave a score, 2 needed"


def test_a_vote_between_two_levels_counts_as_the_lower_one() -> None:
    data = {"a": judged("a", [5, 2], [4, 2], top=5), "b": judged("b", [4, 3], [4, 2], top=5)}
    jury = Jury(name="jury/j", members=("a", "b"), rule="mean")
    seated = seat(jury, data)
    assert seated.data.verdicts == (4.0, 2.0)
    rows = recorded_jury_report(jury, seated, data, {}, rng=np.random.default_rng(0)).jurors
    # without b stands a alone: 5 for 4 is 3/4 of the scale right, 2 for 2 is all right
    assert rows[1].without.value == pytest.approx(0.875)


def test_rules_on_passes_have_their_judges_cut_first() -> None:
    said = {"a": [5, 5, 2], "b": [4, 1, 4], "c": [1, 2, 2]}
    two = Jury(name="jury/j", members=("a", "b", "c"), rule="minimum", passes=2)
    assert passes(two, **said).verdicts == (1.0, 0.0, 0.0)
    screen = Jury(name="jury/j", members=("a", "b"), seating="screen")
    assert passes(screen, a=said["a"], b=said["b"]).verdicts == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "fields",
    [
        {"rule": "median"},
        {"rule": "mean"},
        {"rule": "majority"},
        {"rule": "median", "seating": "on_split"},
        {"rule": "weighted", "weights": {"fake/a.yaml": 3, "fake/b.yaml": 1, "fake/c.yaml": 1}},
    ],
    ids=lambda fields: "-".join(str(value) for value in fields.values() if isinstance(value, str)),
)
def test_live_and_recorded_juries_say_the_same(folder: Path, fields: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    chosen = load_set("refunds")
    names = ("a", "b", "c")
    rows = []
    for name in names:
        scores = {run.id: int(rng.integers(1, 6)) for run in chosen.trajectories}
        silent = {run.id for run in chosen.trajectories if rng.random() < 0.1}
        script = {item: {"text": "no answer"} if item in silent else score for item, score in scores.items()}
        (folder / f"{name}.yaml").write_text(json.dumps({"trajectories": script}), encoding="utf-8")
        rows += [
            {"id": item, "judge": f"fake/{name}.yaml", "score": None if item in silent else score}
            for item, score in scores.items()
        ]
    (folder / "v.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    members = tuple(f"fake/{name}.yaml" for name in names)
    (folder / "juries").mkdir()
    (folder / "juries" / "j.yaml").write_text(json.dumps({"members": members, **fields}), encoding="utf-8")
    live = compare_set(
        chosen,
        ["jury/j", members[0]],
        settings=Settings(cache_dir=folder / "c", certificates=folder / "certificates", retries=0),
        criterion="passed_path",
    ).runs
    labels = [
        {"id": item, "label": 5 if label else 1} for item, label in zip(live.items, live.labels.tolist(), strict=True)
    ]
    (folder / "l.jsonl").write_text("\n".join(map(json.dumps, labels)), encoding="utf-8")
    recorded = compare_files(
        [(folder / "v.jsonl", FieldMap(id="id", value="score", source="judge"))],
        folder / "l.jsonl",
        label_fields=FieldMap(id="id", value="label"),
        scale=FIVE,
        judges=[members[0]],
        juries=[Jury.model_validate({"name": "jury/j", "members": members, **fields})],
        pass_mark=MARK,
    ).runs
    assert recorded.items == live.items
    said = [runs.values[runs.place("jury/j")] for runs in (recorded, live)]
    assert np.isfinite(said[0]).sum() >= 10  # there is something to compare
    np.testing.assert_array_equal(*said)
