"""May the new judge take the old one's place?"""

from __future__ import annotations

import numpy as np
import pytest
from small_judges import judged

from judge.calibration.dataset import Dataset
from judge.calibration.shared_runs import shared_runs
from judge.calibration.switch import switch
from judge.errors import UsageError
from judge.types.comparison import Switch, Work


def switched(old: Dataset, new: Dataset, **options: object) -> Switch:
    return switch(
        shared_runs([old, new]),
        old=old.judge,
        new=new.judge,
        rng=np.random.default_rng(3),
        **options,  # type: ignore[arg-type]
    )


def test_a_judge_that_says_the_same_on_many_runs_may_take_the_place() -> None:
    labels = [1, 0] * 150
    found = switched(judged("old", labels, labels), judged("new", labels, labels), margin=0.05)
    assert found.decision == "switch"
    assert found.difference.lower is not None
    assert -0.05 < found.difference.lower < 0  # all agree, and yet the bound is not 0
    assert found.flips == ()


def test_the_same_agreement_on_few_runs_is_undecided() -> None:
    labels = [1, 0] * 5
    found = switched(judged("old", labels, labels), judged("new", labels, labels), margin=0.05)
    assert found.decision == "undecided"


def test_a_judge_that_is_worse_by_more_than_the_margin_is_refused() -> None:
    labels = [1, 0] * 50
    new = [1 - label if i < 40 else label for i, label in enumerate(labels)]
    found = switched(judged("old", labels, labels), judged("new", new, labels), margin=0.05)
    assert found.decision == "keep"
    assert found.words[0].startswith("Keep old")


def test_flips_stand_with_both_reasons_and_what_broke_first() -> None:
    labels = [1, 1, 0, 0]
    old = judged("old", [0, 1, 0, 0], labels)
    new = judged("new", [1, 1, 1, None], labels)
    found = switched(old, new, reasons={"old": {"run-2": "it paid twice"}, "new": {"run-2": "all fine"}})
    assert [(flip.item, flip.change) for flip in found.flips] == [
        ("run-2", "broken"),
        ("run-3", "broken"),
        ("run-0", "fixed"),
    ]
    assert (found.flips[0].old_reason, found.flips[0].new_reason) == ("it paid twice", "all fine")
    assert found.flips[1].new is None
    assert found.unchanged == 1


def test_runs_without_a_score_from_either_are_not_said_to_be_the_same() -> None:
    labels = [1, 1, 0, 0]
    found = switched(judged("old", [1, None, None, 0], labels), judged("new", [1, None, 0, 1], labels))
    assert (found.unchanged, found.neither, len(found.flips)) == (1, 1, 2)
    assert found.words[1].endswith("on 1 of 4 runs both said the same, on 1 none of them gave a score.")


def test_agents_whose_rank_changes_are_named() -> None:
    labels = [1, 1, 0, 0]
    agents = {"run-0": "x", "run-1": "x", "run-2": "y", "run-3": "y"}
    found = switched(judged("old", [1, 1, 0, 0], labels), judged("new", [0, 0, 1, 1], labels), agents=agents)
    assert [(place.agent, place.old_rank, place.new_rank) for place in found.agents] == [
        ("y", 2.0, 1.0),
        ("x", 1.0, 2.0),
    ]
    assert found.tau == pytest.approx(-1.0)


def test_the_change_of_cost_is_known_only_when_both_prices_are() -> None:
    labels = [1, 0, 1, 0]
    old, new = judged("old", labels, labels), judged("new", labels, labels)
    assert switched(old, new, work={"old": Work(usd=0.03)}).usd_change is None
    both = switched(old, new, work={"old": Work(usd=0.03), "new": Work(usd=0.01)})
    assert both.usd_change == pytest.approx(-0.02)
    assert "A verdict costs $0.02 less." in both.words


def test_the_pass_mark_moves_to_where_most_results_stay() -> None:
    labels = [1, 1, 1, 0, 0, 0]
    old, new = judged("old", labels, labels), judged("new", labels, labels)
    scores = {
        "old": {f"run-{i}": s for i, s in enumerate([5, 4, 4, 3, 2, 1])},
        "new": {f"run-{i}": s for i, s in enumerate([5, 3, 3, 3, 1, 1])},
    }
    mark = switched(old, new, scores=scores, pass_mark=4).moved_mark
    assert mark is not None
    # at 3 the new judge passes runs 0 to 3, one more than before; at 5 it loses two
    assert (mark.new, mark.changed) == (3.0, {"run-3": "failed"})
    assert mark.agree == pytest.approx(5 / 6)


@pytest.mark.parametrize("margin", [0.0, 1.0, -0.1])
def test_a_margin_outside_zero_and_one_is_refused(margin: float) -> None:
    data = judged("old", [1, 0], [1, 0]), judged("new", [1, 0], [1, 0])
    with pytest.raises(UsageError, match="between 0 and 1"):
        switched(*data, margin=margin)


def test_a_judge_cannot_replace_itself_or_one_that_was_not_compared() -> None:
    runs = shared_runs([judged("old", [1, 0], [1, 0]), judged("new", [1, 0], [1, 0])])
    with pytest.raises(UsageError, match="its own place"):
        switch(runs, old="old", new="old", rng=np.random.default_rng(0))
    with pytest.raises(UsageError, match="not among the judges"):
        switch(runs, old="old", new="other", rng=np.random.default_rng(0))
