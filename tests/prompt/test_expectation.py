"""The expected score from token probabilities, and when there is none."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from judge.prompt import parse
from judge.types import Criterion, Final, Reply, Rubric, Source, TokenLogprob, Trajectory, Usage

RUN = Trajectory(id="t", source=Source(format="native"), steps=(Final(index=1, text="x"),))
FIVE = [{"value": k, "name": f"n{k}"} for k in range(1, 6)]


def rubric(*ids: str, scale: Any = None) -> Rubric:
    criteria = tuple(Criterion(id=i, question="Q?", scale=scale or FIVE, evidence="none") for i in ids or ("q",))
    return Rubric(id="r", version="1", title="t", intent="i", criteria=criteria)


def token(text: str, top: dict[str, float] | None = None) -> TokenLogprob:
    pairs = tuple((word, math.log(p)) for word, p in (top or {text: 1.0}).items())
    return TokenLogprob(token=text, logprob=math.log((top or {text: 1.0})[text]), top=pairs)


def reply(*tokens: TokenLogprob) -> Reply:
    return Reply(text="".join(t.token for t in tokens), logprobs=tokens, usage=Usage(output_tokens=9))


def test_the_mean_is_taken_over_legal_scores_and_the_rest_is_illegal_mass() -> None:
    got = parse(
        reply(
            token('{"reason": "a \\"score\\": 5 was asked", "score": '),
            token("4", {"4": 0.5, "2": 0.25, "9": 0.125, "x": 0.125}),
            token("}"),
        ),
        rubric(),
        RUN,
    )["q"]
    # legal mass 0.75: (4 * 0.5 + 2 * 0.25) / 0.75 = 3.3333
    assert (got.score, got.expected, got.illegal_mass) == (4.0, pytest.approx(10 / 3), pytest.approx(0.25))


def test_words_of_a_binary_scale_count_with_or_without_the_quote_mark() -> None:
    for lead, said in (('"', "pass"), ("", '"pass')):
        other = said.replace("pass", "fail")
        tokens = (token('{"reason": "r", "score": ' + lead), token(said, {said: 0.75, other: 0.25}), token('"}'))
        got = parse(reply(*tokens), rubric(scale="binary"), RUN)["q"]
        assert (got.score, got.expected, got.illegal_mass) == (1.0, pytest.approx(0.75), pytest.approx(0.0))


def test_each_of_several_criteria_has_its_own() -> None:
    tokens = (
        token('{"a": {"reason": "r", "score": '),
        token("1", {"1": 1.0}),
        token('}, "b": {"reason": "r", "score": '),
        token("2", {"2": 0.5, "3": 0.5}),
        token("}}"),
    )
    got = parse(reply(*tokens), rubric("a", "b"), RUN)
    assert (got["a"].expected, got["b"].expected) == (pytest.approx(1.0), pytest.approx(2.5))
    assert (got["a"].usage, got["b"].usage) == (Usage(output_tokens=9), None)


def test_scores_of_several_tokens_have_no_expectation() -> None:
    tokens = (token('{"reason": "r", "score": '), token("10"), token("}"))
    got = parse(reply(*tokens), rubric(scale={"min": 0, "max": 10, "step": 1}), RUN)["q"]
    assert (got.score, got.expected, got.illegal_mass) == (10.0, None, None)


def test_without_probabilities_there_is_none() -> None:
    got = parse(Reply(text=json.dumps({"reason": "r", "score": 3})), rubric(), RUN)["q"]
    assert (got.score, got.expected, got.illegal_mass) == (3.0, None, None)
