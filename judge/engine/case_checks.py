"""The checks of one attempt: what was left behind, what was answered, and how the path went."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from judge.policy.answer import check_answer
from judge.policy.check import Checker
from judge.policy.outcome import check_outcome, check_reward
from judge.types.metric import Check
from judge.types.policy import Policy, Rule
from judge.types.suite import Case, TrajectoryLimits
from judge.types.trajectory import Trajectory


def outcome_checks(case: Case, trajectory: Trajectory, left: Path | None, *, allow_commands: bool) -> list[Check]:
    """What is left behind and what was answered; empty where the case looks at neither."""
    if case.outcome == "reward":
        found = [check_reward(trajectory)]
    else:
        found = list(check_outcome(case.outcome, left, allow_commands=allow_commands))
    if case.answer is not None:
        found.append(check_answer(trajectory, case.answer))
    return found


class PathChecker:
    """The limits and invariants of a case and its policy file, made ready for many attempts.

    Raises:
        PolicyError: A policy file does not load.
    """

    def __init__(self, case: Case, policy: Policy | None) -> None:
        own = (*_limits(case.trajectory), *case.invariants)
        self._own = Checker(Policy(id=case.id, checks=own)) if own else None
        self._policy = Checker(policy) if policy is not None else None

    def check(self, trajectory: Trajectory) -> list[Check]:
        """Every check with the steps that broke it; ids begin with "path:", those of the policy with "policy:"."""
        found: list[Check] = []
        for name, checker in (("path", self._own), ("policy", self._policy)):
            if checker is not None:
                made = checker.check(trajectory).checks
                found += [check.model_copy(update={"id": f"{name}:{check.id}"}) for check in made]
        return found


def _limits(limits: TrajectoryLimits) -> Iterator[Rule]:
    for tool in limits.must_call:
        yield Rule(id=f"must_call:{tool}", must_call=(tool,))
    for tool in limits.must_not_call:
        yield Rule(id=f"must_not_call:{tool}", must_not_call=(tool,))
    if limits.max_steps is not None:
        yield Rule(id="max_steps", at_most={"steps": limits.max_steps})
    if limits.max_usd is not None:
        yield Rule(id="max_usd", at_most={"usd": limits.max_usd})
    if limits.finish_status is not None:
        yield Rule(id="finish_status", finish_status=(limits.finish_status,))
