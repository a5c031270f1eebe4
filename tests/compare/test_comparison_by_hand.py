"""Judges side by side, on data small enough to work out by hand."""

from __future__ import annotations

import pickle
from dataclasses import replace
from math import comb

import numpy as np
import pytest
from small_judges import judged

from judge.calibration.comparison import compare
from judge.calibration.dataset import Dataset
from judge.calibration.frontier import frontier
from judge.calibration.shared_runs import shared_runs
from judge.errors import LabelError, TooFewLabels
from judge.types.comparison import Comparison, Work


def compared(*datasets: Dataset, work: dict[str, Work] | None = None) -> Comparison:
    return compare(shared_runs(datasets), label_set="tiny", work=work, rng=np.random.default_rng(7))


def exact(b: int, c: int) -> float:
    """Two-sided sign test of b against c, by counting."""
    n = b + c
    tail = sum(comb(n, k) for k in range(min(b, c) + 1)) / 2**n
    return min(1.0, 2 * tail) if n else 1.0


def test_the_paired_difference_counts_runs_that_one_judge_alone_got_right() -> None:
    labels = [1] * 12
    a = judged("a", [1] * 10 + [0] * 2, labels)
    b = judged("b", [1] * 3 + [0] * 7 + [1] * 2, labels)
    (pair,) = compared(a, b).pairs
    # a alone right on runs 3 to 9 (7), b alone on 10 and 11 (2): (7 - 2) / 12
    assert (pair.only_a, pair.only_b) == (7, 2)
    assert pair.difference.value == pytest.approx(5 / 12)
    assert pair.p == pytest.approx(2 * (1 + 9 + 36) / 512)  # 0 to 2 of 9 coins
    assert pair.p == pytest.approx(exact(7, 2))
    assert pair.p_by_task is None  # every run is a task of its own
    assert pair.same == pytest.approx(3 / 12)


def test_judges_that_never_differ_in_being_right_have_p_of_one_and_no_interval() -> None:
    labels = [1, 1, 0, 0, 1, 0]
    (pair,) = compared(judged("a", labels, labels), judged("b", labels, labels)).pairs
    assert pair.p == 1.0
    assert pair.p_adjusted == 1.0
    assert pair.better is None
    assert pair.difference.value == 0.0
    assert pair.difference.low is None
    assert "not certainty" in (pair.difference.reason or "")


def test_holm_multiplies_the_smallest_p_by_the_number_of_pairs() -> None:
    labels = [1] * 20
    good = judged("good", labels, labels)
    fair = judged("fair", [1] * 12 + [0] * 8, labels)
    poor = judged("poor", [1] * 10 + [0] * 10, labels)
    found = {(pair.a, pair.b): pair for pair in compared(good, fair, poor).pairs}
    # good against poor: 10 to 0; against fair: 8 to 0; fair against poor: 2 to 0
    raw = {("good", "poor"): 2 / 2**10, ("good", "fair"): 2 / 2**8, ("fair", "poor"): 2 / 2**2}
    for names, p in raw.items():
        assert found[names].p == pytest.approx(p)
    assert found["good", "poor"].p_adjusted == pytest.approx(3 * 2 / 2**10)
    assert found["good", "fair"].p_adjusted == pytest.approx(2 * 2 / 2**8)
    assert found["fair", "poor"].p_adjusted == pytest.approx(0.5)
    assert found["good", "poor"].better == "good"
    assert found["fair", "poor"].better is None


def test_runs_of_one_task_are_not_independent_evidence() -> None:
    labels = [1] * 20
    groups = [f"task-{i // 10}" for i in range(20)]
    a = judged("a", labels, labels, groups=groups)
    b = judged("b", [0] * 20, labels, groups=groups)
    (pair,) = compared(a, b).pairs
    assert pair.p == pytest.approx(2 / 2**20)
    assert pair.p_by_task == pytest.approx(0.5)  # two tasks, both for a: 2 of 4 sign patterns are as far out
    assert pair.better is None


def test_a_failed_verdict_stays_visible_and_earns_no_credit() -> None:
    labels = [1, 1, 0, 0]
    shy = judged("shy", [1, None, None, 0], labels)
    bold = judged("bold", [1, 1, 0, 1], labels)
    found = compared(shy, bold)
    row = next(row for row in found.judges if row.judge == "shy")
    assert (row.scored, row.n, row.failures) == (2, 4, {"failed: no value": 2})
    assert row.right.value == pytest.approx(0.5)
    assert row.kappa.value == pytest.approx(1.0)  # over the two runs that it scored
    assert found.judges[0].judge == "bold"
    assert any("shy gave no score on 2 of 4 runs" in word for word in found.decision.words)


def test_a_judge_that_never_gave_a_score_is_level_with_nobody() -> None:
    labels = [1, 0, 1, 0]
    found = compared(judged("a", labels, labels), judged("b", [1, None, 1, 1], labels), judged("c", [None] * 4, labels))
    assert found.decision.best == "a"
    assert found.decision.level_with == ("b",)
    assert "c gave no score on any run: nothing can be said of its judgement." in found.decision.words
    both = {(pair.a, pair.b): (pair.both, pair.same) for pair in found.pairs}
    assert both == {("a", "b"): (3, pytest.approx(2 / 3)), ("a", "c"): (0, None), ("b", "c"): (0, None)}


def test_labels_of_one_class_are_said_to_show_nothing() -> None:
    found = compared(judged("a", [1, 1, 1], [1, 1, 1]), judged("b", [1, 0, 1], [1, 1, 1]))
    assert all(row.kappa.value is None or row.kappa.value == 0 for row in found.judges)
    assert any(word.startswith("People gave every run the same value (1)") for word in found.decision.words)


def test_nothing_is_said_where_no_judge_gave_a_score() -> None:
    found = compared(*(judged(name, [None] * 3, [1, 0, 1]) for name in ("a", "b")))
    assert found.decision.best is None
    assert found.decision.level_with == ()
    assert found.decision.words == ("No judge gave a score on any of the 3 shared runs: nothing can be compared.",)


def test_judges_whose_names_differ_in_case_alone_stay_two() -> None:
    labels = [1, 0, 1, 0]
    found = compared(judged("GPT", labels, labels), judged("gpt", [1, 1, 1, 1], labels))
    assert [row.judge for row in found.judges] == ["GPT", "gpt"]
    assert [row.right.value for row in found.judges] == [1.0, 0.5]


def test_the_same_name_twice_is_refused() -> None:
    data = judged("a", [1, 0], [1, 0])
    with pytest.raises(LabelError, match="Two judges are named 'a'"):
        shared_runs([data, data])


def test_one_judge_is_no_comparison() -> None:
    with pytest.raises(TooFewLabels, match="two are needed"):
        compared(judged("a", [1, 0], [1, 0]))


def test_only_runs_that_all_were_asked_about_are_compared() -> None:
    a = judged("a", [1, 0, 1], [1, 0, 1])
    b = judged("b", [1, 0, 1, 1], [1, 0, 1, 1])
    found = compared(a, b)
    assert found.n == 3
    assert found.left_out == {"run that not every judge was asked about": 1}


def test_credit_on_an_ordinal_scale_falls_with_the_distance() -> None:
    labels = [5, 5, 1, 1]
    near = judged("near", [4, 4, 2, 2], labels, top=5)
    far = judged("far", [1, 5, 5, 1], labels, top=5)
    found = compared(near, far)
    # one step of four: 3/4 each; twice right and twice as wrong as can be: 1/2
    assert {row.judge: row.right.value for row in found.judges} == {"near": 0.75, "far": 0.5}
    (pair,) = found.pairs
    assert pair.only_a is None
    # gaps 3/4, -1/4, 3/4, -1/4 add up to 1: so far out are the 8 of 16 patterns in which the two large ones agree
    assert pair.p == pytest.approx(0.5)


def test_ranks_come_with_intervals_and_the_words_say_what_is_level() -> None:
    labels = [1, 0] * 20
    best = judged("best", labels, labels)
    second = judged("second", [1 - labels[0], *labels[1:]], labels)
    worst = judged("worst", [1 - label for label in labels], labels)
    found = compared(best, second, worst)
    assert [(row.judge, row.rank) for row in found.judges] == [("best", 1.0), ("second", 2.0), ("worst", 3.0)]
    assert found.judges[2].rank_low == 3.0
    assert found.decision.best == "best"
    assert found.decision.level_with == ("second",)


def test_labels_that_would_separate_the_top_two_follow_from_the_discordant_share() -> None:
    labels = [1] * 100
    a = judged("a", [1] * 90 + [0] * 10, labels)
    b = judged("b", [1] * 80 + [0] * 10 + [1] * 0 + [0] * 10, labels)
    gap = compared(a, b).separation
    assert gap is not None
    # d = delta = .1: (1.959964 sqrt(.1) + .841621 sqrt(.1 - .01))^2 / .01 = (.619795 + .252486)^2 / .01 = 76.09
    assert gap.runs == 77
    assert gap.have == 100


def test_level_judges_are_separated_by_no_number_of_labels() -> None:
    gap = compared(judged("a", [1, 0], [1, 1]), judged("b", [0, 1], [1, 1])).separation
    assert gap is not None
    assert gap.runs is None
    assert gap.reason == "the two are level on these runs"


def test_the_frontier_leaves_out_who_is_dearer_and_worse_and_whose_price_is_unknown() -> None:
    points = frontier([("cheap", 0.01, 0.7), ("dear", 0.1, 0.9), ("beaten", 0.05, 0.6), ("unknown", None, 0.99)])
    assert [(p.judge, p.on_frontier) for p in points] == [("cheap", True), ("beaten", False), ("dear", True)]


def test_wobble_is_unknown_for_a_judge_that_spoke_once() -> None:
    labels = [1, 0, 1, 0]
    once = judged("once", labels, labels)
    twice = judged("twice", labels, labels, repeats=[labels, [1, 0, 1, 1]])
    rows = {row.judge: row for row in compared(once, twice).judges}
    assert rows["once"].wobble.value is None
    assert rows["twice"].wobble.value == pytest.approx(0.25)  # one run of four changes


def test_price_and_time_are_shown_where_known_and_null_elsewhere() -> None:
    labels = [1, 0, 1, 0]
    found = compared(
        judged("a", labels, labels), judged("b", [1, 1, 1, 1], labels), work={"a": Work(usd=0.02, seconds=3.0)}
    )
    assert {row.judge: row.work.usd for row in found.judges} == {"a": 0.02, "b": None}
    assert [point.judge for point in found.frontier] == ["a"]


def test_a_comparison_survives_json() -> None:
    labels = [1, 0, 1, 0]
    found = compared(judged("a", labels, labels), judged("b", [1, 1, None, 0], labels))
    document = found.to_json()
    assert {"judges", "pairs", "decision"} <= set(document)
    assert Comparison.from_json(document) == found


def test_shared_runs_are_equal_by_value_and_survive_pickling() -> None:
    runs = shared_runs([judged("a", [1, 0, None], [1, 0, 1]), judged("b", [1, 1, 1], [1, 0, 1])])
    assert np.isnan(runs.values).sum() == 1
    assert pickle.loads(pickle.dumps(runs)) == runs
    assert replace(runs, span=2.0) != runs
    assert replace(runs, values=np.zeros_like(runs.values)) != runs
    assert runs != "runs"
