"""A policy in plain sentences: what each check demands."""

from __future__ import annotations

from typing import Any

from judge.policy.history import named
from judge.types.policy import Policy, Rule


def explain(policy: Policy) -> dict[str, str]:
    """One sentence a check, by its id, in the policy's order."""
    return {rule.id: sentence(rule) for rule in policy.checks}


def sentence(rule: Rule) -> str:
    """What a rule demands, in words; its note follows."""
    kind = rule.kind
    text = _SENTENCES[kind](getattr(rule, kind))
    return f"{text} {rule.note}".rstrip()


def _approval(r: Any) -> str:
    by = f" by {named(r.by)}" if r.by else ""
    return f"Every successful call of {named(r.tools)} has been approved{by} before its result."


def _allowed(r: Any) -> str:
    values = ", ".join(map(repr, r.values))
    rest = "it may be left out" if r.optional else "it may not be left out"
    return f"In every call of {named(r.tools)}, {r.argument} is one of {values}; {rest}."


def _credentials(r: Any) -> str:
    kinds = f" of kind {named(r.kinds)}" if r.kinds else ""
    but = f", except in calls of {named(r.except_tools)}" if r.except_tools else ""
    return f"No argument, message or result holds a credential{kinds}{but}."


def _end(r: Any) -> str:
    words = ["a final answer" if name == "final" else f"a call of {name}" for name in r]
    return f"The run ends with {' or '.join(words)}."


def _schema(r: Any) -> str:
    whose = "that the trajectory declares" if r.schema_ is None else "of the policy"
    return f"The arguments of every call of {named(r.tools)} fit the JSON Schema {whose}."


def _repeats(r: Any) -> str:
    of = f" of {named(r.tools)}" if r.tools else ""
    return f"No call{of} is made with identical arguments more than {r.at_most} times."


_SENTENCES: dict[str, Any] = {
    "before": lambda r: f"{' and '.join(r.first)} succeeded before the first successful call of {named(r.then)}.",
    "must_call": lambda r: f"{' and '.join(r)} succeeded at least once.",
    "must_not_call": lambda r: f"{named(r)} is never called; a blocked attempt counts.",
    "must_end_with": _end,
    "finish_status": lambda r: f"The run finishes as {named(r)}.",
    "approval": _approval,
    "allowed": _allowed,
    "sum": lambda r: f"Over successful calls of {named(r.tools)}, {r.argument} adds up to at most {r.at_most:g}.",
    "from_result": lambda r: (
        f"In every call of {named(r.tools)}, {r.argument} equals {r.field} of an earlier successful result of "
        f"{named(r.result_of)}."
    ),
    "arguments": _schema,
    "no_credentials": _credentials,
    "read_before_write": lambda r: (
        f"No call of {named(r.write)} names a {r.path} that no earlier successful {named(r.read)} named."
    ),
    "read_before_mutation": lambda r: f"No call of {named(r.mutate)} before a successful call of {named(r.read)}.",
    "no_repeats": _repeats,
    "finish_agrees": lambda r: "The finish status agrees with the recorded outcome.",
    "at_most": lambda r: "".join(f"At most {limit:g} {cap.replace('_', ' ')}." for cap, limit in r.items()),
    "custom": lambda r: f"The Python check {r.name!r} passes.",
}
