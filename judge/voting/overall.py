"""Criterion results → one overall result: gates before means, absence never filled in."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from judge.types.rubric import RangeScale, Rubric, Scale, normalise
from judge.types.verdict import CriterionResult, VerdictStatus
from judge.voting.exact import exact

UNIT = RangeScale(min=0.0, max=1.0)


class Overall(NamedTuple):
    """What a rubric says as a whole.

    Attributes:
        score: Of one criterion, on its own scale. Of several, 0 when a gate failed, else the aggregate
            in [0, 1]. None unless `status` is "ok".
        passed: False when a gate failed, True when all gates that apply passed, None where none decided.
    """

    status: VerdictStatus
    score: float | None
    scale: Scale
    passed: bool | None
    reason: str


def overall(rubric: Rubric, results: Sequence[CriterionResult]) -> Overall:
    """The rubric's results combined.

    One criterion: its own score on its own scale. Several, in this order:

    1. A gate that failed: passed False, score 0. It stands whatever else is missing, since no answer
       to another criterion could undo it.
    2. A criterion that is an error, or that has no result: status "error", score None. The rest is not
       renormalised over what happens to be there.
    3. A criterion that is inconclusive: status "inconclusive", score None.
    4. Criteria that do not apply are left out and the reason says so; weights are renormalised over the
       others. Nothing left to average: "not_applicable", except in a rubric of gates only, which scores 1
       when one applies and all that apply passed.
    """
    by_id = {result.id: result for result in results}
    if len(rubric.criteria) == 1 and len(by_id) == 1:
        only = results[0]
        return Overall(status=only.status, score=only.score, scale=only.scale, passed=only.passed, reason=only.reason)
    failed = [result for result in results if result.gate and result.passed is False]
    if failed:
        reason = " ".join(f"Gate {result.id} failed: {result.reason}" for result in failed)
        return Overall(status="ok", score=0.0, scale=UNIT, passed=False, reason=reason)
    missing = [criterion.id for criterion in rubric.criteria if criterion.id not in by_id]
    broken = [*missing, *(result.id for result in results if result.status == "error")]
    if broken:
        reason = f"No overall score: {', '.join(broken)} could not be judged."
        return Overall(status="error", score=None, scale=UNIT, passed=None, reason=reason)
    unsure = [result.id for result in results if result.status == "inconclusive"]
    if unsure:
        reason = f"No overall score: {', '.join(unsure)} is inconclusive."
        return Overall(status="inconclusive", score=None, scale=UNIT, passed=None, reason=reason)
    return _aggregate(rubric, by_id)


def _aggregate(rubric: Rubric, by_id: dict[str, CriterionResult]) -> Overall:
    left_out = [name for name, result in by_id.items() if result.status == "not_applicable"]
    note = f" Left out as not applicable: {', '.join(left_out)}." if left_out else ""
    gates = [result for result in by_id.values() if result.gate and result.status == "ok"]
    passed = True if gates else None
    averaged = [criterion for criterion in rubric.criteria if not criterion.gate]
    parts: list[tuple[Fraction, Fraction]] = []
    said: list[str] = []
    for criterion in averaged:
        result = by_id[criterion.id]
        if result.status == "ok" and result.score is not None:
            parts.append((exact(criterion.weight), exact(normalise(result.score, criterion.scale))))
            said.append(f"{criterion.id} {result.score:g}")
    if not parts:
        if not averaged and gates:
            names = ", ".join(result.id for result in gates)
            return Overall(status="ok", score=1.0, scale=UNIT, passed=True, reason=f"Gates passed: {names}.{note}")
        reason = f"Nothing to score.{note}"
        return Overall(status="not_applicable", score=None, scale=UNIT, passed=passed, reason=reason)
    if rubric.aggregate == "min":
        score = float(min(value for _, value in parts))
        how = "Lowest of"
    else:
        total = sum((weight for weight, _ in parts), Fraction(0))
        score = float(sum((weight * value for weight, value in parts), Fraction(0)) / total)
        how = "Weighted mean of"
    gate_note = "Gates passed. " if gates else ""
    return Overall(
        status="ok", score=score, scale=UNIT, passed=passed, reason=f"{gate_note}{how} {', '.join(said)}.{note}"
    )
