"""The final answer: texts, patterns, numbers with tolerance."""

from __future__ import annotations

from typing import Any

import pytest
from suite_records import recorded

from judge.errors import UsageError
from judge.policy.answer import check_answer
from judge.types.suite import AnswerCheck

REPLY = "We refund 1,288.50 USD in 5 to 10 business days."


@pytest.mark.parametrize(
    ("wanted", "right"),
    [
        ({"contains": "refund"}, True),
        ({"contains": "WE REFUND"}, True),
        ({"contains": "escalated"}, False),
        ({"regex": r"\d+ to \d+ business"}, True),
        ({"regex": r"^refund"}, False),
        ({"number": 1288.5}, True),
        ({"number": 1288}, False),
        ({"number": 1288, "tolerance": 0.5}, True),
        ({"number": 1288, "tolerance": 0.4}, False),
        ({"number": 288.5}, False),
        ({"number": 10}, True),
    ],
)
def test_the_answer_is_compared(wanted: dict[str, Any], right: bool) -> None:
    check = check_answer(recorded([], REPLY), AnswerCheck.from_json(wanted))
    assert (check.status == "passed", check.steps) == (right, (2,))


def test_no_answer_fails() -> None:
    assert check_answer(recorded([], None), AnswerCheck(contains="")).status == "failed"


def test_an_answer_without_a_number_says_so() -> None:
    check = check_answer(recorded([], "No idea."), AnswerCheck(number=3))
    assert check.detail == "the answer has no number, wanted 3"


def test_a_pattern_that_does_not_compile_is_an_error() -> None:
    with pytest.raises(UsageError, match="does not compile"):
        check_answer(recorded([]), AnswerCheck(regex="("))
