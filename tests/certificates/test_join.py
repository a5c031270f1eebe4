"""Verdicts joined with labels: consensus, splits, votes, orders, and every item that is not there by reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from calibration_parts import RUBRIC, joined, said

from judge.calibration.dataset import cut_at, sources
from judge.engine.certifying import panel_of, voter
from judge.errors import LabelError, TooFewLabels
from judge.types.rubric import RangeScale

FIVE = RangeScale(min=1, max=5, step=1)


def test_raters_that_tie_leave_the_item_out_and_the_adjudicated_label_decides() -> None:
    verdicts = [said("a", 1), said("b", 1), said("c", 1)]
    labels = [said("a", 1, "x"), said("a", 0, "y"), said("b", 0, "x"), said("b", 0, "y"), said("b", 1, "adjudicated")]
    labels += [said("c", 1, "x"), said("c", 1, "y"), said("c", 0, "z")]
    data = joined(verdicts, labels)
    assert (data.items, data.labels) == (("b", "c"), (1.0, 1.0))
    assert data.left_out == {"raters tie and nobody adjudicated": 1}
    assert data.raters["y"] == (0.0, 1.0)
    assert data.raters["z"] == (None, 0.0)


def test_raters_one_level_apart_agree_on_the_lower_and_a_vote_between_levels_counts_as_the_lower() -> None:
    labels = [said("a", 4, "x"), said("a", 5, "y"), said("b", 2, "x"), said("b", 3, "y"), said("b", 3, "z")]
    verdicts = [said("a", v, sample=k) for k, v in enumerate([4, 5])] + [said("b", 3)]
    data = joined(verdicts, labels, FIVE)
    assert data.labels == (4.0, 3.0)
    assert data.verdicts == (4.0, 3.0)
    mean = joined([said("a", v, sample=k) for k, v in enumerate([3, 4, 4])], labels, FIVE, vote=voter("mean", FIVE))
    assert mean.verdicts == (3.0,)  # 3.67 passes a mark of 3 and none of 4
    free = RangeScale(min=0, max=1)
    assert joined([said("a", 0.5)], [said("a", 0.25, "x"), said("a", 0.5, "y")], free).labels == (0.375,)


def test_labels_of_another_split_or_criterion_do_not_count_in_silence() -> None:
    labels = [said("a", 1, "x", split="test"), said("b", 1, "x", split="dev")]
    labels.append(replace(said("a", 0, "x"), criterion="tone"))
    data = joined([said("a", 1), said("b", 0)], labels, split="test")
    assert data.items == ("a",)
    assert data.left_out["label of another criterion (tone)"] == 1
    assert data.left_out["label of the dev split"] == 1
    assert joined([said("b", 0)], labels, split="dev").labels == (1.0,)


def test_what_has_only_one_side_is_counted() -> None:
    data = joined([said("a", 1), said("b", 1)], [said("a", 1, "x"), said("c", 1, "x"), said("d", None, "x")])
    assert data.left_out == {
        "verdict without a label": 1, "label without a verdict": 1, "label missing or unreadable": 1,
    }  # fmt: skip


def test_nothing_in_common_is_an_error_that_says_why() -> None:
    with pytest.raises(TooFewLabels, match="1 × verdict without a label, 1 × label without a verdict"):
        joined([said("a", 1)], [said("b", 1, "x")])


def test_a_rater_who_labels_a_run_twice_is_refused() -> None:
    with pytest.raises(LabelError, match="x labelled 'a' twice"):
        joined([said("a", 1)], [said("a", 1, "x"), said("a", 1, "x")])


def test_a_failed_verdict_stays_as_failed() -> None:
    data = joined([said("a", None)], [said("a", 1, "x")])
    assert (data.verdicts, data.failures) == ((None,), ("failed: truncated",))


def test_samples_are_voted_and_too_few_valid_ones_are_a_failure() -> None:
    verdicts = [said("a", v, sample=k) for k, v in enumerate([1, 0, 1])]
    verdicts += [said("b", v, sample=k) for k, v in enumerate([1, None, None])]
    verdicts += [said("c", v, sample=k) for k, v in enumerate([1, 0])]
    data = joined(verdicts, [said(item, 1, "x") for item in "abc"])
    assert data.verdicts == (1.0, None, None)
    assert data.failures == (None, "failed: fewer than half of the samples are valid", "tie")
    assert data.repeats == ((1.0, 1.0, 1.0), (0.0, None, 0.0), (1.0, None, None))


def test_samples_beyond_the_panel_are_seen_by_wobble_and_not_by_the_verdict() -> None:
    verdicts = [said("a", v, sample=k) for k, v in enumerate([1, 0, 0])]
    data = joined(verdicts, [said("a", 1, "x")], panel=panel_of(RUBRIC, 1))
    assert data.verdicts == (1.0,)
    assert len(data.repeats) == 3


def test_a_pair_has_a_verdict_only_where_its_two_orders_agree() -> None:
    verdicts = [said("a", 1, order="ab"), said("a", 1, order="ba"), said("b", 1, order="ab"), said("b", 0, order="ba")]
    verdicts.append(said("c", 1, order="ab"))
    data = joined(verdicts, [said(item, 1, "x") for item in "abc"])
    assert data.verdicts == (1.0, None, None)
    assert data.failures[1:] == ("failed: the two orders disagree", "failed: this order was not judged")
    assert data.orders == {"ab": (1.0, 1.0, 1.0), "ba": (1.0, 0.0, None)}
    assert data.repeats == ((1.0, 1.0, 1.0),)  # the other order is other input: no repeat
    assert data.part([True, False, False]).orders == {"ab": (1.0,), "ba": (1.0,)}


def test_the_group_is_the_labels_own_then_the_verdicts_then_the_item() -> None:
    verdicts = [said("a", 1, group="v"), said("b", 1, group="v"), said("c", 1)]
    data = joined(verdicts, [said("a", 1, "x", group="l"), said("b", 1, "x"), said("c", 1, "x")])
    assert data.groups == ("l", "v", "c")


def test_scores_are_cut_at_a_mark_and_kept() -> None:
    verdicts = [said("a", 4), said("b", 3), said("c", None)]
    data = joined(verdicts, [said(item, 1, "x") for item in "abc"], vote=voter("auto", FIVE))
    cut = cut_at(data, 4, FIVE)
    assert cut.verdicts == (1.0, 0.0, None)
    assert cut.scores == (4.0, 3.0, None)
    assert cut.score_domain == (1.0, 2.0, 3.0, 4.0, 5.0)
    assert cut.domain == (0.0, 1.0)


def test_judges_are_listed_in_order_and_case_tells_them_apart() -> None:
    assert sources([said("a", 1, "B"), said("a", 1, "b"), said("b", 1, "B")]) == ("B", "b")
