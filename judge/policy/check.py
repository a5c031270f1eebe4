"""A policy against a trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from judge.errors import PolicyError
from judge.policy.history import History, history
from judge.policy.library import load_policy
from judge.policy.rules import RULES
from judge.policy.secrets import mask
from judge.protocols import CustomCheck
from judge.registry import find, names, unknown
from judge.types.metric import Check
from judge.types.policy import CustomRule, Policy, PolicyResult, Rule, Ruling
from judge.types.trajectory import Trajectory


class Checker:
    """A policy made ready for many trajectories.

    Attributes:
        policy: The policy.
    """

    def __init__(self, policy: Policy, custom: Mapping[str, CustomCheck] | None = None) -> None:
        """
        Args:
            custom: Checks of the caller by name, beside those that installed packages register.

        Raises:
            UnknownName: The policy names a custom check that neither has.
        """
        self.policy = policy
        self._custom = {
            rule.custom.name: _custom_check(rule.custom.name, custom or {})
            for rule in policy.checks
            if rule.custom is not None
        }

    def check(self, trajectory: Trajectory) -> PolicyResult:
        """Every check of the policy, in its order.

        Raises:
            PolicyError: A custom check raised, or returned no `Ruling`.
        """
        run = history(trajectory, self.policy.unknown_status)
        checks = tuple([self._check(rule, run) for rule in self.policy.checks])
        passed = not any(check.status == "failed" and check.severity == "rule" for check in checks)
        return PolicyResult(trajectory_id=trajectory.id, passed=passed, checks=checks)

    def _check(self, rule: Rule, run: History) -> Check:
        kind = rule.kind
        ruling = self._own(rule, rule.custom, run) if rule.custom is not None else RULES[kind](getattr(rule, kind), run)
        return Check(
            id=rule.id, severity=rule.severity, status=ruling.status, detail=mask(ruling.detail), steps=ruling.steps
        )

    def _own(self, rule: Rule, custom: CustomRule, run: History) -> Ruling:
        where = f"Custom check {custom.name!r} (check {rule.id!r}, trajectory {run.trajectory.id!r})"
        try:
            ruling = self._custom[custom.name](run.trajectory, custom.parameters)
        except Exception as error:  # a plugin may raise anything, and a rule that crashed was not checked
            raise PolicyError(
                f"{where} raised {type(error).__name__}: {mask(str(error))}.",
                hint="Repair the check; nothing was decided.",
            ) from error
        if not isinstance(ruling, Ruling):
            raise PolicyError(f"{where} returned {type(ruling).__name__}, needed a Ruling.")
        return ruling


def check(
    trajectory: Trajectory,
    policy: Policy | str | Path | Mapping[str, Any],
    *,
    custom: Mapping[str, CustomCheck] | None = None,
) -> PolicyResult:
    """Every check of a policy on one trajectory; no model is called.

    Args:
        policy: A policy, the path of a policy file, or the content of one as a mapping.
        custom: Checks of your own by the name that the policy gives them.

    Raises:
        PolicyError: The policy does not load, or a custom check crashed.
        UnknownName: The policy names a custom check that does not exist.
    """
    return Checker(policy if isinstance(policy, Policy) else load_policy(policy), custom).check(trajectory)


def _custom_check(name: str, given: Mapping[str, CustomCheck]) -> CustomCheck:
    if name in given:
        return given[name]
    if name in names("checks"):
        found: CustomCheck = find("checks", name)
        return found
    raise unknown("custom check", name, (*given, *names("checks")))
