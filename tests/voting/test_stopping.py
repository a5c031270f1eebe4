"""How many samples are drawn: one for binary, two and a third if they differ elsewhere, or as asked."""

from __future__ import annotations

from typing import Any

import pytest

from judge.types import Criterion, Rubric, Vote
from judge.voting import even_label_vote, more_samples

ORDINAL: dict[str, Any] = {"min": 1, "max": 5, "step": 1}


def rubric(**scales: Any) -> Rubric:
    criteria = tuple(Criterion(id=name, question="?", scale=scale) for name, scale in scales.items())
    return Rubric(id="r", version="1", title="R", intent="", criteria=criteria)


def vote(answer: float | str) -> Vote:
    if isinstance(answer, str):
        return Vote(status=answer)  # type: ignore[arg-type]
    return Vote(status="ok", score=answer)


def drawn(*answers: float | str) -> list[Vote]:
    return [vote(answer) for answer in answers]


@pytest.mark.parametrize(
    ("scale", "answers", "more"),
    [
        ("binary", (), 1),
        ("binary", (1,), 0),
        ("binary", ("unparsed",), 0),
        (ORDINAL, (), 2),
        (ORDINAL, (4,), 1),
        (ORDINAL, (4, 4), 0),
        (ORDINAL, (4, 3), 1),
        (ORDINAL, (4, 3, 5), 0),
        (ORDINAL, (4, "unparsed"), 1),  # a third can still make two of three
        (ORDINAL, ("unparsed", "refusal"), 0),  # a third cannot make a quorum
        (ORDINAL, ("not_applicable", "not_applicable"), 0),
        (ORDINAL, ("not_applicable", 3), 1),
        (ORDINAL, ("not_applicable", "abstain"), 1),
    ],
)
def test_the_default_follows_the_scale(scale: Any, answers: tuple[float | str, ...], more: int) -> None:
    assert more_samples({"a": drawn(*answers)}, rubric(a=scale)) == more


def test_a_third_sample_when_any_criterion_differs() -> None:
    mixed = rubric(a="binary", b=ORDINAL)
    assert more_samples({"a": drawn(1, 0), "b": drawn(4, 4)}, mixed) == 1
    assert more_samples({"a": drawn(1, 1), "b": drawn(4, 4)}, mixed) == 0


@pytest.mark.parametrize("samples", [1, 2, 3, 5])
def test_a_given_number_is_drawn_whatever_the_votes_say(samples: int) -> None:
    one = rubric(a=ORDINAL)
    assert more_samples({}, one, samples) == samples
    assert more_samples({"a": drawn(*[4] * samples)}, one, samples) == 0
    assert more_samples({"a": drawn("empty")}, one, samples) == samples - 1


def test_an_even_number_for_a_label_vote_is_warned_of() -> None:
    warning = even_label_vote(rubric(a="binary", b=ORDINAL), 4)
    assert warning == "4 samples can tie on a: a tie is inconclusive. Use an odd number of samples."
    assert even_label_vote(rubric(a="binary"), 3) is None
    assert even_label_vote(rubric(b=ORDINAL), 4) is None
    assert even_label_vote(rubric(a="binary"), None) is None
