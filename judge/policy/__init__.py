"""Trajectory → checks, no model: rules of a policy file, and what a run left behind."""

from judge.policy.check import Checker, check
from judge.policy.explain import explain
from judge.policy.library import lint_policy, load_policy, parse_policy
from judge.types.policy import Policy, PolicyResult, Ruling

__all__ = [
    "Checker",
    "Policy",
    "PolicyResult",
    "Ruling",
    "check",
    "explain",
    "lint_policy",
    "load_policy",
    "parse_policy",
]
