"""The file of a guarantee: what labels show of a judge whose doubtful verdicts are sent on, and its use in a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationError

from judge.calibration.escalation import Cascade, Escalation
from judge.engine.setup import Setup
from judge.errors import UsageError
from judge.types.escalation import EscalationReason, EscalationRules
from judge.types.estimate import Statistic
from judge.types.record import Record

HOW = "Run `judge escalate --set SET --judge JUDGE --out FILE`"


class ReasonRow(Record):
    """What one reason does on test labels.

    Attributes:
        n: Verdicts that it sends on, beside others or alone.
        wrong: Share of those with a score that people disagree with; above that of the rest, the reason is a good one.
    """

    omit_none: ClassVar[bool] = False

    reason: EscalationReason
    n: int
    wrong: Statistic


class EscalationPlan(Record):
    """What labels show of one judge under one rubric.

    Attributes:
        pass_mark: Lowest score that passes, on the rubric's scale; None on a binary one.
        dev_tasks: Runs that chose the threshold, one of each task; `test`: runs that it was checked on.
        guarantee: Threshold of the vote's confidence, chosen on dev labels, and what became of it on test labels.
        reasons: The rules' reasons on test labels, without that threshold.
        sent_on: Share of the test runs that some reason sends on.
        agreement: Share of the test runs without any reason that people agree with.
        cascade: Whether the judge may go first; None where that was not asked.
        left_out: Why how many labels or runs are not here.
        fingerprints: "judge" and "rubric", of exactly what was measured.
    """

    omit_none: ClassVar[bool] = False

    schema_: Literal["judge.escalation/1"] = Field(default="judge.escalation/1", alias="schema")
    judge: str
    rubric: str
    criterion: str
    label_set: str
    pass_mark: float | None
    dev_tasks: int
    test: int
    guarantee: Escalation
    reasons: tuple[ReasonRow, ...]
    sent_on: Statistic
    agreement: Statistic
    cascade: Cascade | None
    left_out: dict[str, int]
    fingerprints: dict[str, str]

    @property
    def holds(self) -> bool:
        """Whether everything that was asked for is shown."""
        return self.cascade.allowed if self.cascade is not None else self.guarantee.holds is True


def with_guarantee(rules: EscalationRules, setup: Setup) -> EscalationRules:
    """The rules with what their guarantee shows written into them, so that they need the file no more.

    Raises:
        UsageError: The file is missing, does not read, is of another judge or rubric, or does not show what the
            rules need.
    """
    if rules.guarantee is None:
        if rules.mode == "cheap_first":
            raise UsageError(
                f"{setup.spec.name!r} is to go first, and no labels show that its FAIL can stand.",
                hint=f"{HOW} --cheap-first, and give FILE with --escalate-guarantee.",
            )
        return rules
    plan = read_plan(rules.guarantee)
    other = [name for name, print_ in plan.fingerprints.items() if setup.fingerprints.get(name) != print_]
    if other:
        raise UsageError(
            f"The guarantee {str(rules.guarantee)!r} is of {plan.judge!r} under {plan.rubric!r}, with another "
            f"{' and another '.join(other)} than that of this run (samples, vote and sampling belong to the judge).",
            hint=f"{HOW} for the judge as it is now.",
        )
    update: dict[str, Any] = {"guarantee": None}
    if rules.pass_mark is None:
        update["pass_mark"] = plan.pass_mark
    if rules.mode == "cheap_first":
        _check_cascade(plan, rules.guarantee)
        update["mode"] = "screen"
    elif rules.least_confidence is None:
        update["least_confidence"] = _threshold(plan, rules.guarantee)
    return rules.model_copy(update=update)


def save_plan(path: Path, plan: EscalationPlan) -> None:
    """Writes the file that `with_guarantee` reads.

    Raises:
        UsageError: It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(plan.model_dump_json(indent=2, by_alias=True) + "\n", encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"The guarantee cannot be written to {str(path)!r}: {error.strerror or error}.") from None


def read_plan(path: Path) -> EscalationPlan:
    """The plan that `judge escalate --out` wrote.

    Raises:
        UsageError: There is none, or the file holds something else.
    """
    try:
        return EscalationPlan.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The guarantee {str(path)!r} cannot be read: {error}.", hint=f"{HOW} to make one.") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise UsageError(f"{str(path)!r} is no guarantee: {where}: {first['msg']}.", hint=f"{HOW} again.") from None


def _check_cascade(plan: EscalationPlan, path: Path) -> None:
    cascade = plan.cascade
    if cascade is None:
        raise UsageError(
            f"The guarantee {str(path)!r} does not say whether {plan.judge!r} may go first.",
            hint=f"{HOW} --cheap-first.",
        )
    if not cascade.allowed:
        found = cascade.precision
        shown = (
            cascade.reason
            if found.value is None
            else f"of {found.n} runs that it failed, people failed {found.value:.1%} too, at least "
            f"{'an unknown share' if found.lower is None else f'{found.lower:.1%}'} at {found.confidence:.0%}"
        )
        raise UsageError(
            f"{plan.judge!r} may not go first: {shown}; {cascade.needed:.0%} is needed.",
            hint="Label more runs that it fails, let the second judge see everything, or use mode balanced.",
        )


def _threshold(plan: EscalationPlan, path: Path) -> float:
    found = plan.guarantee
    if not found.holds or found.chosen.threshold is None:
        raise UsageError(
            f"The guarantee {str(path)!r} was not reached: {found.reason}.",
            hint="Give no guarantee and let the other reasons decide, or label more runs.",
        )
    return found.chosen.threshold
