"""Checks of the final answer: a text, a pattern, a number. They say nothing of how it was reached."""

from __future__ import annotations

import re

from judge.policy.outcome import compiled
from judge.types.metric import Check
from judge.types.suite import AnswerCheck
from judge.types.trajectory import Trajectory

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w]|\.\d)")


def check_answer(trajectory: Trajectory, wanted: AnswerCheck) -> Check:
    """Whether the final answer is as wanted; a run without a final answer fails.

    Texts are compared without regard to case. A number may stand anywhere in the answer ("288 USD", "1,288.50"); one
    within the tolerance is enough.

    Raises:
        UsageError: The pattern does not compile.
    """
    answer = final_answer(trajectory)
    steps = tuple(step.index for step in trajectory.steps if step.kind == "final")
    if answer is None:
        return Check(id="answer", severity="rule", status="failed", detail="there is no final answer")
    problem = _problem(answer, wanted)
    return Check(
        id="answer",
        severity="rule",
        status="failed" if problem else "passed",
        detail=problem or "as wanted",
        steps=steps,
    )


def final_answer(trajectory: Trajectory) -> str | None:
    """The text of the last final step, else that of the trajectory, or None."""
    finals = [step.text for step in trajectory.steps if step.kind == "final"]
    return finals[-1] if finals else trajectory.final


def _problem(answer: str, wanted: AnswerCheck) -> str:
    if wanted.contains is not None:
        there = wanted.contains.casefold() in answer.casefold()
        return "" if there else f"the answer does not contain {wanted.contains!r}"
    if wanted.regex is not None:
        return "" if compiled(wanted.regex).search(answer) else f"nothing in the answer matches {wanted.regex!r}"
    target = wanted.number or 0.0
    found = [float(text.replace(",", "")) for text in _NUMBER.findall(answer)]
    if not found:
        return f"the answer has no number, wanted {target:g}"
    # one rounding error of the decimal text is no difference
    if any(abs(value - target) <= wanted.tolerance + 1e-9 * max(1.0, abs(target)) for value in found):
        return ""
    nearest = min(found, key=lambda value: abs(value - target))
    return f"the nearest number in the answer is {nearest:g}, wanted {target:g} within {wanted.tolerance:g}"
