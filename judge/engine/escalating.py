"""A bench that sends on what its first judge should not decide alone: to a second judge, a person, or both in turn."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from judge.calibration.escalation import escalation_reasons
from judge.config import Settings
from judge.engine.bench import Bench, make_bench
from judge.engine.budget import Purse
from judge.engine.facade import open_judge
from judge.engine.guarantee import with_guarantee
from judge.engine.in_turn import InTurn, TurnCase
from judge.engine.judging import Case
from judge.errors import ConfigError
from judge.types.escalation import PERSON, REASON_WORDS, EscalationReason, EscalationRules
from judge.types.reference import Reference
from judge.types.rubric import Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import Escalated, JudgeResult, Verdict
from judge.voting import add_at_most, add_known, add_usage


@dataclass(slots=True)
class EscalatingCase(TurnCase):
    """One trajectory under way, with why each verdict so far does not stand; () for one that does."""

    why: list[tuple[EscalationReason, ...]] = field(default_factory=list)


class EscalatingBench(InTurn[EscalatingCase]):
    """Judges with a first bench, and with a second what the rules send on; see `judge.engine.bench.Bench`.

    Both are paid from the first one's budget. A verdict that is sent to a judge says what that judge says, whatever the
    first said; one that is sent to a person has no score. Either way all that was said stands in `Verdict.escalation`,
    and name and fingerprints stay the first judge's, whose run it is.
    """

    def __init__(self, first: Bench, second: Bench | None, rules: EscalationRules) -> None:
        seats = {"first": first} if second is None else {"first": first, "second": second}
        super().__init__(first.setup, seats, first.budget, priced=list(seats))
        self._rules = rules

    def begin(self, trajectory: Trajectory, reference: Reference | None) -> EscalatingCase:
        """The case of a trajectory; under a cap with the second judge's prompt made, so that it has a price."""
        case = EscalatingCase(trajectory, reference)
        first = self._begun(case, "first")
        case.budget = first.budget if isinstance(first, Case) else None
        return self._price(case)

    def _next(self, case: EscalatingCase) -> str | None:
        if case.why and not case.why[-1]:
            return None
        return next((seat for seat in self._seats if seat not in case.said), None)

    def _hear(self, case: EscalatingCase, seat: str, verdict: Verdict) -> None:
        rules = self._rules if not case.said else self._rules.model_copy(update={"mode": "balanced"})
        goes_on = len(case.said) < len(self._rules.to)
        case.said[seat] = verdict
        case.why.append(escalation_reasons(verdict, rules) if goes_on else ())

    def _verdict(self, case: EscalatingCase) -> Verdict:
        said, why = list(case.said.values()), case.why
        if len(said) == 1 and not why[0]:
            return said[0]
        stands = said[-1]
        taken = ("status", "score", "scale", "passed", "reason", "criteria", "trust", "truncated", "cuts", "errors")
        results = tuple(_result(verdict, reasons) for verdict, reasons in zip(said, why, strict=True))
        update: dict[str, Any] = {
            **{name: getattr(stands, name) for name in taken},
            "escalation": Escalated(to=PERSON if why[-1] else stands.judge, results=results),
            "usage": add_usage([verdict.usage for verdict in said]),
            "cost_usd": add_known(verdict.cost_usd for verdict in said),
            "at_most_usd": add_at_most((verdict.cost_usd, verdict.at_most_usd) for verdict in said),
            "seconds": add_known(verdict.seconds for verdict in said),
            "calls": sum(verdict.calls for verdict in said),
            "cached": sum(verdict.cached for verdict in said),
            "dropped_params": tuple(dict.fromkeys(name for verdict in said for name in verdict.dropped_params)),
            "warnings": tuple(dict.fromkeys(warning for verdict in said for warning in verdict.warnings)),
        }
        if why[-1] and stands.status == "ok":
            update |= _for_a_person(stands, why[-1])
        return said[0].model_copy(update=update)


def _for_a_person(verdict: Verdict, reasons: Sequence[EscalationReason]) -> dict[str, Any]:
    """What turns a verdict with a score into one that waits for a person; a failed one stays failed, to be redone."""
    why = f"A person decides: {', '.join(REASON_WORDS[reason] for reason in reasons)}."
    waiting = {"status": "inconclusive", "score": None, "passed": None, "reason": why}
    return {**waiting, "criteria": tuple(result.model_copy(update=waiting) for result in verdict.criteria)}


def _result(verdict: Verdict, reasons: tuple[EscalationReason, ...]) -> JudgeResult:
    shared = {name: getattr(verdict, name) for name in JudgeResult.model_fields if name != "reasons"}
    return JudgeResult(**shared, reasons=reasons)


@asynccontextmanager
async def escalating(
    first: Bench,
    rules: EscalationRules | None,
    rubric: Rubric,
    settings: Settings,
    *,
    policy: str | None = None,
    purse: Purse | None = None,
    require_trust: bool = False,
) -> AsyncIterator[Bench]:
    """The bench with what `rules` send on sent on, its second judge opened for the time of the block.

    Args:
        rules: None, or rules that send nothing on, leave the bench as it is.
        purse: Pays for the second judge's calls in place of the first one's budget.

    Raises:
        ConfigError: The second judge is the first.
        UsageError: The rules need a guarantee that is not there, is of another judge, or was not reached.
        TrustRequired: Trust was required and the second judge has none.
    """
    if rules is None or not rules.to:
        yield first
        return
    rules = with_guarantee(rules, first.setup)
    if rules.second is None:
        yield EscalatingBench(first, None, rules)
        return
    if rules.second == first.setup.spec.name:
        raise ConfigError(
            f"Verdicts of {rules.second!r} are to be sent on to {rules.second!r} itself.",
            hint="Name another judge, or draw more samples.",
        )
    async with open_judge(rules.second, settings) as opened:
        second = make_bench(opened, rubric, settings, policy=policy, purse=purse or first.budget)
        if require_trust:
            second.setup.standing.require()
        yield EscalatingBench(first, second, rules)
