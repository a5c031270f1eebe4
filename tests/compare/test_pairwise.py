"""Two runs against each other, in both orders."""

from __future__ import annotations

import numpy as np
import pytest

from judge.calibration.pairwise import Contest, agreement_with_scores, order_report, strengths, wins_of
from judge.errors import StatisticsError


def rng() -> np.random.Generator:
    return np.random.default_rng(2)


def test_orders_that_disagree_are_inconclusive_and_show_the_pull_of_the_first_place() -> None:
    contests = [
        Contest("x", "y", ab=1, ba=1, label=1),
        Contest("x", "y", ab=1, ba=2, label=1),  # both times the run that stood first
        Contest("x", "y", ab=1, ba=2, label=2),
        Contest("x", "y", ab=2, ba=1, label=2),  # both times the run that stood second
        Contest("x", "y", ab=None, ba=2, label=2),
    ]
    found = order_report(contests, rng=rng())
    assert contests[1].outcome is None
    assert (found.inconclusive, found.failed) == (3, 1)
    assert found.agreement.value == pytest.approx(1 / 5)
    # right verdicts: 2, 1, 1, 1, 1 of 2 each
    assert found.accuracy.value == pytest.approx(6 / 10)
    assert found.right_if_agreed.value == 1.0
    assert found.first_place == pytest.approx(4 / 6)


def test_ties_and_split_orders_are_half_a_win_each_and_failures_none() -> None:
    names, wins = wins_of(
        [
            Contest("a", "b", ab=1, ba=1),
            Contest("b", "a", ab=0, ba=0),
            Contest("a", "b", ab=1, ba=2),
            Contest("a", "b", ab=1, ba=None),
        ]
    )
    assert names == ("a", "b")
    assert wins.tolist() == [[0, 2], [1, 0]]


def test_strengths_of_two_are_their_shares_of_wins_with_an_interval_over_tasks() -> None:
    contests = [Contest("a", "b", ab=1, ba=1, group=i) for i in range(30)]
    contests += [Contest("a", "b", ab=2, ba=2, group=30 + i) for i in range(10)]
    first, second = strengths(contests, rng=rng(), resamples=200)
    assert (first.name, first.strength) == ("a", pytest.approx(0.75))
    assert second.strength == pytest.approx(0.25)
    assert first.low is not None
    assert first.high is not None
    assert 0.5 < first.low < 0.75 < first.high < 0.95


def test_who_never_loses_has_no_finite_strength() -> None:
    with pytest.raises(StatisticsError, match="not finite"):
        strengths([Contest("a", "b", ab=1, ba=1)], rng=rng())


def test_one_task_gives_strengths_without_an_interval() -> None:
    contests = [Contest("a", "b", ab=1, ba=1, group=0), Contest("a", "b", ab=2, ba=2, group=0)]
    assert [s.low for s in strengths(contests, rng=rng())] == [None, None]


def test_agreement_with_scores_counts_decided_pairs_alone() -> None:
    contests = [
        Contest("a", "b", ab=1, ba=1),
        Contest("b", "c", ab=2, ba=2),
        Contest("a", "c", ab=1, ba=2),
    ]
    assert agreement_with_scores(contests, {"a": 5, "b": 3, "c": 2}) == 0.5
    assert agreement_with_scores(contests, {"a": 5}) is None


def test_no_pair_is_an_error() -> None:
    with pytest.raises(StatisticsError, match="No pair"):
        order_report([], rng=rng())
