"""Votes on two runs: in one order, in both, and over the criteria of a rubric."""

from __future__ import annotations

import itertools

import pytest

from judge.types.pair import PairVote, PairWinner, Preferred, Side
from judge.types.rubric import BinaryScale, Criterion, RangeScale, Rubric
from judge.types.verdict import VoteStatus
from judge.voting.pair_votes import both_orders, criterion_result, order_winner, rubric_winner, why_of


def vote(word: str) -> PairVote:
    statuses: dict[str, VoteStatus] = {"?": "abstain", "!": "refusal", "-": "not_applicable"}
    if word in statuses:
        return PairVote(status=statuses[word], message="I will not." if word == "!" else None)
    names: dict[str, Preferred] = {"a": "a", "b": "b", "t": "tie"}
    return PairVote(status="ok", preferred=names[word], reason=f"It is {word}.")


def votes(words: str) -> list[PairVote]:
    return [vote(word) for word in words]


@pytest.mark.parametrize(
    ("words", "winner"),
    [
        ("a", "a"),
        ("b", "b"),
        ("t", "tie"),
        ("aab", "a"),
        ("att", "tie"),
        ("ab", "inconclusive"),  # split: nobody said that they tie
        ("abt", "inconclusive"),
        ("?", "inconclusive"),
        ("a?", "inconclusive"),  # one of two is no more than half
        ("aa?", "a"),
        ("!", "failed"),
        ("a!", "failed"),
        ("aa!", "a"),
        ("a!!", "failed"),
        ("-", "not_applicable"),
        ("--a", "not_applicable"),
        ("aa-", "a"),
        ("", "failed"),
    ],
)
def test_one_order(words: str, winner: PairWinner) -> None:
    for order in itertools.permutations(words):
        assert order_winner(votes("".join(order))) == winner


@pytest.mark.parametrize(
    ("one", "other", "winner"),
    [
        ("a", "a", "a"),
        ("tie", "tie", "tie"),
        ("a", "b", "inconclusive"),
        ("a", "tie", "inconclusive"),
        ("a", "inconclusive", "inconclusive"),
        ("inconclusive", "inconclusive", "inconclusive"),
        ("a", "failed", "failed"),
        ("failed", "failed", "failed"),
        ("not_applicable", "not_applicable", "not_applicable"),
        ("not_applicable", "a", "inconclusive"),
    ],
)
def test_both_orders(one: PairWinner, other: PairWinner, winner: PairWinner) -> None:
    assert both_orders(one, other) == both_orders(other, one) == winner


def rubric(gates: str = "", weights: tuple[float, ...] = (1, 1, 1)) -> Rubric:
    unit = RangeScale(min=0, max=1)
    criteria = [
        Criterion(
            id=name, question="Which?", scale=BinaryScale() if name in gates else unit, gate=name in gates, weight=w
        )
        for name, w in zip("pqr", weights, strict=True)
    ]
    return Rubric(id="test", version="1", title="Test", intent="Test.", criteria=tuple(criteria))


WORDS: dict[str, PairWinner] = {
    "a": "a", "b": "b", "t": "tie", "?": "inconclusive", "!": "failed", "-": "not_applicable",
}  # fmt: skip


@pytest.mark.parametrize(
    ("found", "gates", "weights", "winner"),
    [
        ("aab", "", (1, 1, 1), "a"),
        ("abt", "", (1, 1, 1), "tie"),
        ("aab", "", (1, 1, 2), "tie"),  # 1 + 1 - 2
        ("aab", "", (1, 1, 2.5), "b"),
        ("abb", "", (0.3, 0.1, 0.2), "tie"),  # decimals: .3 - .1 - .2 is 0, and not -2.8e-17
        ("bba", "r", (1, 1, 1), "a"),  # a gate before any weight
        ("bat", "pq", (1, 1, 1), "inconclusive"),  # gates for different runs
        ("bbt", "r", (1, 1, 1), "b"),
        ("a-b", "", (1, 1, 1), "tie"),
        ("a--", "", (1, 1, 1), "a"),
        ("---", "", (1, 1, 1), "not_applicable"),
        ("aa?", "", (1, 1, 1), "inconclusive"),
        ("aa!", "", (1, 1, 1), "failed"),
        ("?a!", "", (1, 1, 1), "failed"),
    ],
)
def test_several_criteria(found: str, gates: str, weights: tuple[float, ...], winner: PairWinner) -> None:
    given = {name: WORDS[word] for name, word in zip("pqr", found, strict=True)}
    assert rubric_winner(rubric(gates, weights), given) == winner


def test_a_criterion_without_an_answer_fails_the_pair() -> None:
    assert rubric_winner(rubric(), {"p": "a", "q": "a"}) == "failed"


def result(first: str, second: str) -> tuple[PairWinner, str]:
    orders: dict[Side, list[PairVote]] = {"a": votes(first), "b": votes(second)}
    found = criterion_result("p", orders)
    return found.winner, found.why


def test_the_cause_is_said_in_words() -> None:
    assert result("a", "a") == ("a", "It is a.")
    assert result("a", "b") == ("inconclusive", "The orders disagree: a when a stood first, b when b did.")
    assert result("?", "?")[1].startswith("In both orders the votes are split")
    assert result("a", "!") == ("failed", "No answer when b stood first (refusal: I will not.).")


def test_several_criteria_are_listed() -> None:
    orders: dict[Side, list[PairVote]] = {"a": votes("a"), "b": votes("b")}
    found = [criterion_result(name, orders) for name in "pq"]
    said = why_of("inconclusive", ("a", "b"), found)
    assert said.endswith("By criterion: p inconclusive, q inconclusive.")
    assert said.startswith("The orders disagree")
