"""Sums of usage and cost in which something unknown stays unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from judge.types.trajectory import Usage

_FIELDS = tuple(Usage.model_fields)
NOTHING = Usage(
    input_tokens=0,
    output_tokens=0,
    cache_read_input_tokens=0,
    cache_creation_input_tokens=0,
    reasoning_output_tokens=0,
    cost_usd=0.0,
)
"""What no call at all uses: known, and zero."""


def add_usage(parts: Sequence[Usage | None]) -> Usage:
    """Field by field; a field that one part does not know is not known of the sum. No part: all zero."""
    if not parts:
        return NOTHING
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return Usage()
    if len(known) == 1:
        return known[0]
    return Usage.model_validate({name: add_known([getattr(part, name) for part in known]) for name in _FIELDS})


def add_at_most(parts: Iterable[tuple[float | None, float | None]]) -> float | None:
    """The most that all parts may cost, each a cost and, where that is not known, the most that it may be.

    None where one has neither, and where every cost is known: then their sum is the cost.
    """
    given = list(parts)
    if all(cost is not None for cost, _ in given):
        return None
    return add_known(most if cost is None else cost for cost, most in given)


def add_known(values: Iterable[float | None]) -> float | None:
    """Sum of `values`, or None when one of them is not known. No value: 0."""
    total: float = 0
    for value in values:
        if value is None:
            return None
        total += value
    return total
