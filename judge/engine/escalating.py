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
from judge.engine.judging import Case
from judge.errors import ConfigError
from judge.types.escalation import PERSON, REASON_WORDS, EscalationReason, EscalationRules
from judge.types.reference import Reference
from judge.types.rubric import Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import Escalated, JudgeResult, Verdict
from judge.voting import add_known, add_usage


@dataclass(slots=True)
class EscalatingCase:
    """One trajectory under way: the open case of each step, or its verdict, and what was said so far."""

    trajectory: Trajectory
    reference: Reference | None
    begun: list[Any]
    said: list[Verdict] = field(default_factory=list)
    why: list[tuple[EscalationReason, ...]] = field(default_factory=list)


class EscalatingBench:
    """Judges with a first bench, and with a second what the rules send on; see `judge.engine.bench.Bench`.

    Both are paid from the first one's budget. A verdict that is sent to a judge says what that judge says, whatever the
    first said; one that is sent to a person has no score. Either way all that was said stands in `Verdict.escalation`,
    and name and fingerprints stay the first judge's, whose run it is.
    """

    def __init__(self, first: Bench, second: Bench | None, rules: EscalationRules) -> None:
        self.setup = first.setup
        self.budget = first.budget
        self.stopped: BaseException | None = None
        self._steps = [first] if second is None else [first, second]
        self._rules = rules
        self._promised = 0.0
        self._under_way = 0

    def begin(self, trajectory: Trajectory, reference: Reference | None) -> EscalatingCase:
        """The case of a trajectory; under a cap with the second judge's prompt made, so that it has a price."""
        case = EscalatingCase(trajectory, reference, [self._steps[0].begin(trajectory, reference)])
        if self.setup.capped:
            for step in range(1, len(self._steps)):
                self._begun(case, step)
        return case

    def whole(self, case: EscalatingCase) -> float:
        """Most that all judges still to be asked may cost, without retries; 0 where no cap is set."""
        if not self.setup.capped:
            return 0.0
        return sum(
            self._steps[step].whole(begun)
            for step, begun in enumerate(case.begun)
            if step >= len(case.said) and not isinstance(begun, Verdict)
        )

    def may_begin(self, case: EscalatingCase) -> bool:
        """Whether all judges fit under the cap beside everything under way."""
        return self.budget.fits_beside(self._promised + self.whole(case))

    def recall(self, case: EscalatingCase) -> Verdict | None:
        """The verdict when the cache holds every sample of every judge that is asked, else None."""
        while (step := self._next(case)) is not None:
            begun = self._begun(case, step)
            verdict = begun if isinstance(begun, Verdict) else self._steps[step].recall(begun)
            if verdict is None:
                return None
            self._hear(case, verdict)
        return self._verdict(case)

    async def finish(self, case: EscalatingCase) -> Verdict:
        """The verdict, each judge asked in its turn.

        Raises:
            TerminalError, BudgetReached: A judge can make no further call.
        """
        promised = self.whole(case)
        self._promised += promised
        self._under_way += 1
        try:
            while (step := self._next(case)) is not None:
                begun = self._begun(case, step)
                bench = self._steps[step]
                settled = begun if isinstance(begun, Verdict) else bench.recall(begun) or await bench.finish(begun)
                self._hear(case, settled)
            return self._verdict(case)
        finally:
            self._under_way -= 1
            self._promised = self._promised - promised if self._under_way else 0.0

    def stop(self, error: BaseException) -> None:
        """Lets no judge begin a further call; the first cause stays."""
        if self.stopped is None:
            self.stopped = error
        for bench in self._steps:
            bench.stop(error)

    def _begun(self, case: EscalatingCase, step: int) -> Any:
        if step == len(case.begun):
            begun = self._steps[step].begin(case.trajectory, case.reference)
            first = case.begun[0]
            if isinstance(begun, Case) and isinstance(first, Case):
                begun.budget = first.budget  # one cap for the trajectory, whoever judges it
            case.begun.append(begun)
        return case.begun[step]

    def _next(self, case: EscalatingCase) -> int | None:
        """The step whose judge is asked next; None when no further one is."""
        if case.said and (not case.why[-1] or len(case.said) == len(self._steps)):
            return None
        return len(case.said)

    def _hear(self, case: EscalatingCase, verdict: Verdict) -> None:
        rules = self._rules if not case.said else self._rules.model_copy(update={"mode": "balanced"})
        goes_on = len(case.said) < len(self._rules.to)
        case.said.append(verdict)
        case.why.append(escalation_reasons(verdict, rules) if goes_on else ())

    def _verdict(self, case: EscalatingCase) -> Verdict:
        said, why = case.said, case.why
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
