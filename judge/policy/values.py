"""Rules about values: what an argument may be, add up to, come from, and look like."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from judge.policy.arguments import arguments_of, content_of, values_at
from judge.policy.history import (
    Attempt,
    History,
    blocked,
    counted,
    indices,
    named,
    places,
    succeeded,
    unsure,
)
from judge.policy.secrets import shown
from judge.types.json_equality import json_key
from judge.types.policy import AllowedRule, FromResultRule, Ruling, SchemaRule, SumRule

EXACT = Context(prec=1000)
"""Enough digits that no sum of amounts is ever rounded."""


def allowed(rule: AllowedRule, history: History) -> Ruling:
    """`argument` of every call is one of `values`; a blocked attempt counts too.

    Vacuous: passed where no call was made. Steps: the calls with another value, or without the argument.
    """
    legal = {json_key(value) for value in rule.values}
    return _each(
        rule.tools,
        history,
        lambda attempt: _not_allowed(rule, legal, attempt),
        f"every {rule.argument} is allowed",
    )


def _not_allowed(rule: AllowedRule, legal: set[Hashable], attempt: Attempt) -> str | None:
    values = values_at(arguments_of(attempt.call), rule.argument)
    if not values:
        return None if rule.optional else f"{rule.argument} is missing"
    wrong = [value for value in values if json_key(value) not in legal]
    return f"{rule.argument} is {shown(wrong[0], rule.argument)}, which is not allowed" if wrong else None


def from_result(rule: FromResultRule, history: History) -> Ruling:
    """`argument` of every call equals a value at `field` of an earlier successful result of `result_of`.

    Vacuous: passed where no call was made. Steps: the calls whose value no earlier result gave.
    """
    sources = [attempt for attempt in succeeded(history.of(rule.result_of)) if attempt.result is not None]
    first_seen: dict[Hashable, int] = {}
    for attempt in sources:
        if attempt.result is not None:
            for value in values_at(content_of(attempt.result), rule.field):
                at = first_seen.setdefault(json_key(value), attempt.result.index)
                first_seen[json_key(value)] = min(at, attempt.result.index)

    def invented(attempt: Attempt) -> str | None:
        values = values_at(arguments_of(attempt.call), rule.argument)
        if not values:
            return f"{rule.argument} is missing"
        for value in values:
            if first_seen.get(json_key(value), attempt.index) >= attempt.index:
                return (
                    f"{rule.argument} is {shown(value, rule.argument)}, which no earlier result of "
                    f"{named(rule.result_of)} has at {rule.field}"
                )
        return None

    return _each(rule.tools, history, invented, f"every {rule.argument} comes from {named(rule.result_of)}")


def total(rule: SumRule, history: History) -> Ruling:
    """`argument` summed over the successful calls is at most `at_most`, in exact decimal arithmetic.

    A call without the number, or with a negative one (which would hide another), fails the check.
    Vacuous: passed where no call succeeded (the sum is 0). Steps: from the call that passed the limit on.
    """
    tried = history.of(rule.tools)
    done = succeeded(tried)
    if not done:
        why = "was tried without success" if tried else "was not called"
        return Ruling(status="passed", detail=f"{named(rule.tools)} {why}, so nothing adds up.")
    limit = Decimal(repr(rule.at_most))
    sum_ = Decimal(0)
    over: list[int] = []
    for attempt in done:
        amounts = values_at(arguments_of(attempt.call), rule.argument)
        if not amounts:
            return _no_sum(attempt, f"{rule.argument} is missing")
        for amount in amounts:
            number = _decimal(amount)
            if number is None:
                return _no_sum(attempt, f"{rule.argument} is {shown(amount, rule.argument)}, which is no number")
            if number < 0:
                return _no_sum(attempt, f"{rule.argument} is {number}, and a negative amount would hide another")
            sum_ = EXACT.add(sum_, number)
        if sum_ > limit:
            over.append(attempt.index)
    calls = counted(len(done), "successful call")
    detail = f"{rule.argument} adds up to {sum_} over {calls}, against {limit}{unsure(done)}."
    if over:
        return Ruling(status="failed", detail=f"{detail[:-1]}, over it from {places(over[:1])} on.", steps=tuple(over))
    return Ruling(status="passed", detail=detail)


def _no_sum(attempt: Attempt, why: str) -> Ruling:
    detail = f"The sum is not known: {why} at {attempt.call.name} [S{attempt.index}]."
    return Ruling(status="failed", detail=detail, steps=(attempt.index,))


def _decimal(value: Any) -> Decimal | None:
    """The number that was written: a float by its shortest text, so that 0.1 is a tenth. Numeric text counts."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def arguments(rule: SchemaRule, history: History, problem_of: Callable[[Any, Any], str | None]) -> Ruling:
    """The arguments of every call fit the schema of the rule, or else what the trajectory's tool list declares.

    Args:
        problem_of: (schema, arguments) to what does not fit, without the value; None where all does. Raises ValueError
            where the schema cannot be used.

    Vacuous: passed where no call was made. Not applicable: no schema is given, and some tool that was called declares
    none or one that cannot be used. Steps: the calls that do not fit.
    """
    declared = {tool.name: tool.parameters for tool in history.trajectory.tools if tool.parameters is not None}
    attempts = history.of(rule.tools)
    if rule.schema_ is None:
        bare = sorted({attempt.call.name for attempt in attempts if attempt.call.name not in declared})
        if bare:
            why = f"the trajectory declares no parameters of {', '.join(bare)}"
            return Ruling(status="not_applicable", detail=f"not applicable: {why}")

    def misfit(attempt: Attempt) -> str | None:
        call = attempt.call
        if call.arguments_error is not None and call.arguments is None:
            return "the arguments are not JSON"
        return problem_of(declared[call.name] if rule.schema_ is None else rule.schema_, arguments_of(call))

    try:
        return _each(rule.tools, history, misfit, "the arguments of every call fit the schema")
    except ValueError as error:
        return Ruling(status="not_applicable", detail=f"not applicable: the declared schema cannot be used: {error}")


def _each(tools: tuple[str, ...], history: History, problem_of: Callable[[Attempt], str | None], kept: str) -> Ruling:
    """The ruling of a rule that asks something of every call of some tools."""
    attempts = history.of(tools)
    if not attempts:
        return Ruling(status="passed", detail=f"{named(tools)} was not called.")
    wrong: list[Attempt] = []
    problems: dict[str, list[int]] = {}
    for attempt in attempts:
        problem = problem_of(attempt)
        if problem is not None:
            wrong.append(attempt)
            problems.setdefault(f"{attempt.call.name}: {problem}", []).append(attempt.index)
    if not wrong:
        return Ruling(status="passed", detail=f"{kept[:1].upper()}{kept[1:]} (calls: {len(attempts)}).")
    parts = "; ".join(f"{problem} {places(steps)}" for problem, steps in list(problems.items())[:5])
    more = f"; and {len(problems) - 5} other problems" if len(problems) > 5 else ""
    return Ruling(status="failed", detail=f"{parts}{more}{blocked(wrong)}.", steps=indices(wrong))
