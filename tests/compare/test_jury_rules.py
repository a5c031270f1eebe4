"""Who is called, what the votes come to, and what a jury of copies is worth."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from pydantic import ValidationError
from small_judges import judged

from judge.calibration.jury_errors import effective_votes, family, jury_errors
from judge.calibration.jury_rules import jury_vote, next_seat
from judge.calibration.recorded_jury import member_weights, seat
from judge.calibration.shared_runs import shared_runs
from judge.calibration.stacking import fit_stack, stacked_chance
from judge.errors import StatisticsError, TooFewLabels
from judge.report.jury import jury_lines
from judge.types.jury import Jury

THREE = ("a", "b", "c")


def jury(**fields: object) -> Jury:
    return Jury.model_validate({"name": "jury/j", "members": THREE, **fields})


def called(seats: Jury, answers: dict[str, float | None]) -> tuple[list[str], dict[str, float | None]]:
    """Judges in the order in which they are asked, when each would answer so."""
    given: dict[str, float | None] = {}
    while (name := next_seat(seats, given)) is not None:
        given[name] = answers[name]
    return list(given), given


def test_all_members_vote_and_the_majority_counts() -> None:
    order, given = called(jury(), {"a": 1, "b": 0, "c": 1})
    assert order == ["a", "b", "c"]
    vote = jury_vote(jury(), given, binary=True)
    assert (vote.value, vote.split, vote.tie) == (1, True, False)


def test_the_third_is_called_on_a_split_alone() -> None:
    seats = jury(seating="on_split")
    assert called(seats, {"a": 1, "b": 1, "c": 0})[0] == ["a", "b"]
    order, given = called(seats, {"a": 1, "b": 0, "c": 0})
    assert order == ["a", "b", "c"]
    assert jury_vote(seats, given, binary=True).value == 0


def test_a_member_without_a_score_counts_as_a_split() -> None:
    assert called(jury(seating="on_split"), {"a": 1, "b": None, "c": 1})[0] == ["a", "b", "c"]


def test_screening_asks_a_second_judge_after_a_pass_alone() -> None:
    seats = jury(members=("a", "b"), seating="screen")
    order, given = called(seats, {"a": 0, "b": 1})
    assert order == ["a"]
    assert jury_vote(seats, given, binary=True).value == 0
    order, given = called(seats, {"a": 1, "b": 0})
    assert order == ["a", "b"]
    assert jury_vote(seats, given, binary=True).value == 0
    assert jury_vote(seats, {"a": 1, "b": 1}, binary=True).value == 1


def test_a_screened_pass_needs_both_judges() -> None:
    seats = jury(members=("a", "b"), seating="screen")
    vote = jury_vote(seats, {"a": 1, "b": None}, binary=True)
    assert vote.value is None
    assert vote.failure == "failed: a pass needs both judges, and one gave no score"


def test_screening_on_a_scale_takes_the_lower_score_at_a_pass_mark() -> None:
    seats = jury(members=("a", "b"), seating="screen", pass_mark=4)
    assert called(seats, {"a": 3, "b": 5})[0] == ["a"]
    assert jury_vote(seats, {"a": 5, "b": 2}, binary=False).value == 2
    with pytest.raises(StatisticsError, match="needs a pass_mark"):
        jury_vote(jury(members=("a", "b"), seating="screen"), {"a": 5}, binary=False)


def test_a_reserve_takes_the_seat_of_a_member_that_failed() -> None:
    seats = jury(reserves=("r", "s"))
    order, given = called(seats, {"a": 1, "b": None, "c": 1, "r": None, "s": 0})
    assert order == ["a", "b", "r", "s", "c"]
    vote = jury_vote(seats, given, binary=True)
    assert vote.called == ("a", "s", "c")
    assert vote.value == 1


def test_a_tie_is_said_and_may_be_ruled_a_fail() -> None:
    two = jury(members=("a", "b"))
    vote = jury_vote(two, {"a": 1, "b": 0}, binary=True)
    assert (vote.value, vote.tie, vote.failure) == (None, True, None)
    assert jury_vote(jury(members=("a", "b"), on_tie="fail"), {"a": 1, "b": 0}, binary=True).value == 0


def test_too_few_seats_with_a_score_is_a_failure_with_numbers() -> None:
    vote = jury_vote(jury(), {"a": 1, "b": None, "c": None}, binary=True)
    assert vote.value is None
    assert vote.failure == "failed: 1 of 3 seats gave a score, 2 needed"
    assert jury_vote(jury(quorum=1), {"a": 1, "b": None, "c": None}, binary=True).value == 1


@pytest.mark.parametrize(
    ("rule", "votes", "value"),
    [
        ("median", (1, 2, 5), 2),
        ("mean", (1, 2, 5), 8 / 3),
        ("majority", (4, 4, 1), 4),
        ("majority", (1, 2, 5), None),
    ],
)
def test_rules_on_a_scale(rule: str, votes: tuple[float, ...], value: float | None) -> None:
    vote = jury_vote(jury(rule=rule), dict(zip(THREE, votes, strict=True)), binary=False)
    assert vote.value == (None if value is None else pytest.approx(value))


def test_minimum_passes_needs_so_many_and_waits_for_nobody() -> None:
    seats = jury(rule="minimum", passes=2)
    assert jury_vote(seats, {"a": 1, "b": 1, "c": None}, binary=True).value == 1
    assert jury_vote(seats, {"a": 0, "b": 0, "c": None}, binary=True).value == 0
    assert jury_vote(seats, {"a": 1, "b": 0, "c": None}, binary=True).value is None


def test_weights_are_log_odds_of_agreeing_and_never_negative() -> None:
    labels = [1, 0] * 5
    weights = member_weights(
        {"good": judged("good", labels, labels), "bad": judged("bad", [1 - label for label in labels], labels)}
    )
    assert weights == {"good": pytest.approx(log(10.5 / 0.5)), "bad": 0.0}


def test_a_heavy_member_outvotes_two_light_ones() -> None:
    seats = jury(rule="weighted", weights={"a": 3, "b": 1, "c": 1})
    assert jury_vote(seats, {"a": 1, "b": 0, "c": 0}, binary=True, weights=seats.weights).value == 1
    with pytest.raises(StatisticsError, match="no weight for"):
        jury_vote(jury(rule="weighted"), {"a": 1, "b": 0, "c": 0}, binary=True)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"members": ("a", "a")}, "two copies of one judge are one judge"),
        ({"rule": "minimum"}, "rule minimum needs it"),
        ({"rule": "minimum", "passes": 4}, "passes is 4"),
        ({"members": ("a", "b"), "seating": "on_split"}, "third member"),
        ({"seating": "screen"}, "exactly two members"),
        ({"seating": "on_split", "rule": "stacked"}, "seating all"),
        ({"weights": {"a": 1}}, "rule weighted"),
    ],
)
def test_a_jury_that_cannot_sit_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        jury(**fields)


def test_rules_that_learn_ask_for_dev_labels() -> None:
    data = {name: judged(name, [1, 0, 1, 0], [1, 0, 1, 0]) for name in THREE}
    for rule in ("weighted", "stacked"):
        with pytest.raises(TooFewLabels, match="dev labels"):
            seat(jury(rule=rule), data)
    with pytest.raises(TooFewLabels, match="4 dev labels, need 100"):
        seat(jury(rule="stacked"), data, data)


def test_dawid_skene_listens_to_the_two_that_agree_with_each_other() -> None:
    rng = np.random.default_rng(5)
    labels = rng.integers(2, size=200).tolist()
    sharp = [[label if rng.random() < 0.95 else 1 - label for label in labels] for _ in range(2)]
    noise = rng.integers(2, size=200).tolist()
    data = dict(zip(THREE, (judged(n, v, labels) for n, v in zip(THREE, [*sharp, noise], strict=True)), strict=True))
    found = seat(jury(rule="dawid_skene"), data).data
    right = np.mean([v == label for v, label in zip(found.verdicts, labels, strict=True)])
    assert right > 0.9


def test_a_stack_learns_to_read_a_judge_that_is_always_wrong() -> None:
    labels = np.asarray([1, 0] * 60)
    weights = fit_stack(1 - labels[:, None], labels)
    assert weights[1] < 0
    assert stacked_chance(weights, [[0.0], [1.0], [np.nan]]).round().tolist()[:2] == [1.0, 0.0]


def test_calls_are_counted_for_the_price_of_a_jury() -> None:
    labels = [1, 1, 0, 0]
    data = {
        "a": judged("a", [1, 1, 0, 0], labels),
        "b": judged("b", [1, 0, 0, 0], labels),
        "c": judged("c", [1, 1, 1, 1], labels),
    }
    seated = seat(jury(seating="on_split"), data)
    assert seated.calls == {"a": 1.0, "b": 1.0, "c": 0.25}
    assert seated.data.verdicts == (1, 1, 0, 0)


def test_effective_votes_run_from_all_to_one() -> None:
    assert effective_votes(5, 0.0) == 5
    assert effective_votes(5, 1.0) == 1
    assert effective_votes(9, 0.47) == pytest.approx(9 / (1 + 8 * 0.47))
    assert effective_votes(3, -0.4) == 3


def test_errors_are_correlated_by_hand() -> None:
    labels = [1] * 4
    a, b = judged("a", [0, 0, 1, 1], labels), judged("b", [0, 1, 0, 1], labels)
    found = jury_errors(shared_runs([a, b]), ("a", "b"))
    # wrong: a on 0 and 1, b on 0 and 2: independent, phi 0; all wrong on one of four; unanimous on runs 0 and 3
    assert found.mean_phi == pytest.approx(0.0)
    assert found.effective_votes == pytest.approx(2.0)
    assert found.all_wrong == 0.25
    assert (found.unanimous, found.right_if_unanimous) == (0.5, 0.5)


def test_a_split_without_a_majority_is_counted_and_not_held_against_it() -> None:
    labels = [1, 1, 1, 1, 0]
    # run 0: all right. run 1: three right. run 2: two against two. run 3: three wrong. run 4: two against two
    said = {"a": [1, 1, 1, 0, 1], "b": [1, 1, 1, 0, 1], "c": [1, 1, 0, 0, 0], "d": [1, 0, 0, 1, 0]}
    runs = shared_runs([judged(name, values, labels) for name, values in said.items()])
    found = jury_errors(runs, tuple(said))
    assert (found.unanimous, found.no_majority) == (0.2, 0.4)
    assert (found.right_if_unanimous, found.right_if_split) == (1.0, 0.5)
    assert "majority against others on 40%, right on 50% of these; no majority on 40%" in "\n".join(
        jury_lines("jury/j", found)
    )
    two = jury_errors(runs, ("a", "d"))
    assert two.right_if_split is None  # two that differ have no majority


def test_copies_families_and_weak_members_are_warned_of() -> None:
    labels = [1, 1, 0, 0, 1]
    said = [1, 1, 1, 0, 1]
    runs = shared_runs([judged("openai/gpt-4o", said, labels), judged("GPT-5", said, labels)])
    found = jury_errors(runs, ("openai/gpt-4o", "GPT-5"), kappas={"GPT-5": 0.1})
    text = " ".join(found.warnings)
    assert "one judge, not two" in text
    assert "one family (gpt)" in text
    assert "Weak members (kappa may be below 0.4): GPT-5" in text
    assert "1.0 independent votes" in text
    assert family("anthropic/claude-opus-4") == "claude"
