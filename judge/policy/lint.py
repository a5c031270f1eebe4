"""What is wrong in a policy file that loads: rules that contradict each other, and names that mean nothing."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator

from judge.document import Document, Finding, Path_, suggestion
from judge.policy.form import read_policy
from judge.policy.history import is_pattern, matches
from judge.policy.schema import schema_fault
from judge.policy.secrets import KINDS as CREDENTIALS
from judge.types.json_equality import json_key
from judge.types.policy import Policy, Rule

CODES = {
    "syntax": "The file is no YAML mapping.",
    "unknown-key": "A key that no policy has; the nearest is suggested.",
    "duplicate-key": "One key stands twice in a mapping.",
    "unquoted-boolean": "yes, no, on, off, true or false without quotes where text is wanted.",
    "invalid": "A value does not fit, a key is missing, or a check has no rule or more than one.",
    "duplicate-id": "Two checks share an id.",
    "contradiction": "A rule that cannot be kept, alone or beside another one.",
    "unknown-tool": "A tool that the policy's own list of tools lacks, or that no trace has and a near name does.",
    "unknown-kind": "A kind of credential that does not exist.",
    "schema": "A JSON Schema that cannot be used.",
}
"""Every code that a finding about a policy can have, and what it means."""

NEAR = 0.75
"""Similarity of two tool names (difflib's ratio) from which one is taken for a typo of the other."""


def lint_text(text: str) -> tuple[Finding, ...]:
    """Findings about the text of a policy file, by line; empty for a clean one."""
    policy, document = read_policy(text)
    if policy is not None:
        examine(document, policy)
    return tuple(sorted(document.findings, key=lambda finding: (finding.line, finding.code)))


def examine(document: Document, policy: Policy) -> None:
    """Adds what is wrong with a policy that loads to the findings of its file."""
    first: dict[str, int] = {}
    for position, rule in enumerate(policy.checks):
        at = ("checks", position)
        earlier = first.setdefault(rule.id, position)
        if earlier != position:
            line = document.line(("checks", earlier, "id"))
            message = f"Check {rule.id!r} has the id of the check in line {line}: give it another."
            document.wrong(document.line((*at, "id")), "duplicate-id", message)
        for message, path in _alone(rule):
            document.wrong(document.line((*at, *path)), "contradiction", f"Check {rule.id!r}: {message}")
        _names(document, policy, rule, at)
    for message, position, path in _together(policy):
        document.wrong(document.line(("checks", position, *path)), "contradiction", message)


def tool_names(rule: Rule) -> Iterator[tuple[Path_, str]]:
    """(path below the check, tool name or pattern) of every tool that a rule names."""
    kind = rule.kind
    value = getattr(rule, kind)
    if kind in ("must_call", "must_not_call", "must_end_with"):
        yield from (((kind,), name) for name in value if not (kind == "must_end_with" and name == "final"))
        return
    for key in ("first", "then", "tools", "except_tools", "result_of", "read", "write", "mutate"):
        for name in getattr(value, key, None) or ():
            yield (kind, key), name


def unknown_tools(policy: Policy, seen: Collection[str]) -> list[tuple[int, Path_, str, str | None]]:
    """(position of the check, path, name, near name or None) of every tool that neither a trace nor the policy has.

    Args:
        seen: Tool names of the traces: those that were called and those that were listed.
    """
    known = sorted({*seen, *(policy.tools or ())})
    found: list[tuple[int, Path_, str, str | None]] = []
    for position, rule in enumerate(policy.checks):
        for path, name in tool_names(rule):
            if name in known or (is_pattern(name) and any(matches(tool, (name,)) for tool in known)):
                continue
            near = difflib.get_close_matches(name, known, n=1, cutoff=NEAR)
            found.append((position, path, name, near[0] if near else None))
    return found


def _alone(rule: Rule) -> Iterator[tuple[str, Path_]]:
    """(message, path) of what no run, or every run, would do under one rule."""
    if rule.before is not None:
        for name in rule.before.first:
            if matches(name, rule.before.then) or any(matches(then, (name,)) for then in rule.before.then):
                yield f"{name!r} stands in first and in then, and cannot come before itself.", ("before",)
    if rule.allowed is not None and not rule.allowed.values:
        message = "values is empty, so that no call could pass: list values, or use must_not_call."
        yield message, ("allowed", "values")
    if rule.sum is not None and rule.sum.at_most < 0:
        yield f"at_most is {rule.sum.at_most:g}, and a sum cannot be below 0: use 0 or more.", ("sum", "at_most")
    for cap, limit in (rule.at_most or {}).items():
        if limit < 0:
            yield f"{cap} is {limit:g}, and cannot be below 0: use 0 or more.", ("at_most", cap)
        elif cap in ("tool_calls", "steps", "tokens", "retries") and limit != int(limit):
            yield f"{cap} is {limit:g}, and is counted in whole numbers: use {int(limit)}.", ("at_most", cap)


def _together(policy: Policy) -> Iterator[tuple[str, int, Path_]]:
    """(message, position of the later check, path) of pairs of rules that no run could keep."""
    forbidden = [
        (position, rule.id, rule.must_not_call)
        for position, rule in enumerate(policy.checks)
        if rule.must_not_call is not None
    ]
    wanted: list[tuple[int, Rule, str, str]] = []
    for position, rule in enumerate(policy.checks):
        wanted += [(position, rule, "must_call", name) for name in rule.must_call or ()]
        if rule.must_end_with is not None and len(rule.must_end_with) == 1 and rule.must_end_with != ("final",):
            wanted.append((position, rule, "must_end_with", rule.must_end_with[0]))
    for position, rule, kind, name in wanted:
        for other, other_id, names in forbidden:
            if matches(name, names):
                later, path = max((position, kind), (other, "must_not_call"))
                message = (
                    f"{name!r} stands in {kind} of check {rule.id!r} and in must_not_call of {other_id!r}: drop one."
                )
                yield message, later, (path,)
    required = {name for _, _, kind, name in wanted if kind == "must_call"}
    for position, rule in enumerate(policy.checks):
        cap = (rule.at_most or {}).get("tool_calls")
        if cap is not None and cap < len(required):
            message = f"Check {rule.id!r}: {cap:g} tool calls cannot hold the {len(required)} that must_call asks for."
            yield message, position, ("at_most",)
    yield from _orders(policy)
    yield from _disjoint(policy)


def _orders(policy: Policy) -> Iterator[tuple[str, int, Path_]]:
    seen: dict[tuple[str, str], str] = {}
    for position, rule in enumerate(policy.checks):
        if rule.before is None:
            continue
        for first in rule.before.first:
            for then in rule.before.then:
                if first != then and (then, first) in seen:
                    message = f"Check {rule.id!r} puts {first!r} before {then!r}, and {seen[then, first]!r} after it."
                    yield message, position, ("before",)
                seen.setdefault((first, then), rule.id)


def _disjoint(policy: Policy) -> Iterator[tuple[str, int, Path_]]:
    seen: dict[tuple[str, str], tuple[str, set[object]]] = {}
    for position, rule in enumerate(policy.checks):
        if rule.allowed is None or not rule.allowed.values:
            continue
        legal: set[object] = {json_key(value) for value in rule.allowed.values}
        for tool in rule.allowed.tools:
            other_id, other = seen.setdefault((tool, rule.allowed.argument), (rule.id, legal))
            if not legal & other:
                what = f"{rule.allowed.argument} of {tool!r}"
                message = f"Checks {other_id!r} and {rule.id!r} allow no common value for {what}: merge them."
                yield message, position, ("allowed", "values")


def _names(document: Document, policy: Policy, rule: Rule, at: Path_) -> None:
    if policy.tools is not None:
        for path, name in tool_names(rule):
            if name in policy.tools or (is_pattern(name) and any(matches(tool, (name,)) for tool in policy.tools)):
                continue
            message = f"Check {rule.id!r} names {name!r}, which `tools` does not list. {suggestion(name, policy.tools)}"
            document.wrong(document.line((*at, *path)), "unknown-tool", message)
    if rule.no_credentials is not None:
        for kind in rule.no_credentials.kinds or ():
            if not any(matches(known, (kind,)) for known in CREDENTIALS):
                message = f"{kind!r} is no kind of credential. {suggestion(kind, tuple(CREDENTIALS))}"
                document.wrong(document.line((*at, "no_credentials", "kinds")), "unknown-kind", message)
    if rule.arguments is not None and rule.arguments.schema_ is not None:
        fault = schema_fault(rule.arguments.schema_)
        if fault is not None:
            message = f"The schema of check {rule.id!r} cannot be used: {fault}."
            document.wrong(document.line((*at, "arguments", "schema")), "schema", message)
