"""Every kind of rule and the function that decides it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from judge.policy import caps, invariants, order, values
from judge.policy.approval import approval
from judge.policy.history import History
from judge.policy.schema import problem
from judge.policy.secrets import no_credentials
from judge.types.policy import Ruling, SchemaRule

Decide = Callable[[Any, History], Ruling]
"""(what stands under the rule's key, the run) → ruling."""


def _arguments(rule: SchemaRule, history: History) -> Ruling:
    return values.arguments(rule, history, problem)


RULES: dict[str, Decide] = {
    "before": order.before,
    "must_call": order.must_call,
    "must_not_call": order.must_not_call,
    "must_end_with": order.must_end_with,
    "finish_status": order.finish_status,
    "approval": approval,
    "allowed": values.allowed,
    "sum": values.total,
    "from_result": values.from_result,
    "arguments": _arguments,
    "no_credentials": no_credentials,
    "read_before_write": invariants.read_before_write,
    "read_before_mutation": invariants.read_before_mutation,
    "no_repeats": invariants.no_repeats,
    "finish_agrees": invariants.finish_agrees,
    "at_most": caps.at_most,
}
"""By the key in a policy file; `custom` is decided by the function that it names (`judge.policy.check`)."""
