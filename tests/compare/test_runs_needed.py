"""How many runs would tell two judges apart, where few runs or few tasks are there."""

from __future__ import annotations

import numpy as np
import pytest
from small_judges import judged

from judge.calibration.comparison import compare
from judge.calibration.dataset import Dataset
from judge.calibration.shared_runs import shared_runs
from judge.types.comparison import Comparison


def compared(*datasets: Dataset) -> Comparison:
    return compare(shared_runs(datasets), label_set="tiny", rng=np.random.default_rng(7))


def test_no_number_of_runs_is_named_at_which_the_exact_test_could_not_tell_them_apart() -> None:
    labels = [1, 1]
    gap = compared(judged("a", [1, 1], labels), judged("b", [0, 0], labels)).separation
    assert gap is not None
    # Connor alone says (1.96)^2 = 4 runs, on which 4 to 0 has p = 2 / 2^4 = .125; 6 to 0 has 2 / 2^6 = .03
    assert gap.runs == 6


def test_runs_of_few_tasks_are_counted_up_to_the_tasks_that_a_test_by_task_needs() -> None:
    labels = [1] * 20
    tasks = [f"task-{i % 5}" for i in range(20)]
    worse = [0] * 5 + [1] * 15  # one run of each of five tasks
    made = compared(judged("a", labels, labels, groups=tasks), judged("b", worse, labels, groups=tasks))
    assert made.pairs[0].better is None  # five signs: 2 / 2^5 = .0625
    assert made.separation is not None
    assert made.separation.tasks is not None
    assert made.separation.tasks >= 6
    assert made.separation.runs is not None
    assert made.separation.runs >= 24  # six tasks of four runs


def test_runs_of_one_task_say_nothing_of_how_many_are_needed() -> None:
    labels = [1] * 20
    one = ["task"] * 20
    made = compared(judged("a", labels, labels, groups=one), judged("b", [0] * 9 + [1] * 11, labels, groups=one))
    assert made.separation is not None
    assert made.separation.runs is None
    assert "one task" in (made.separation.reason or "")
    assert not any("would take about" in word for word in made.decision.words)


@pytest.mark.parametrize("judges", [2, 3])
def test_the_top_two_of_many_judges_are_told_apart_as_if_they_were_compared_alone(judges: int) -> None:
    labels = [1] * 20
    made = compared(*(judged(f"j{i}", [0] * i + [1] * (20 - i), labels) for i in range(judges)))
    (said,) = [word for word in made.decision.words if "would take about" in word]
    assert ("compared alone" in said) is (judges > 2)


def test_a_judge_that_gave_no_score_has_no_number_for_its_judgement() -> None:
    labels = [i % 2 for i in range(20)]
    made = compared(judged("a", labels, labels), judged("mute", [None] * 20, labels))
    row = next(row for row in made.judges if row.judge == "mute")
    assert (row.right.value, row.rank, row.scored) == (None, None, 0)
    assert "no score" in (row.right.reason or "")
    assert made.pairs[0].better is None
    assert made.separation is None
    assert not any("better than" in word for word in made.decision.words)
