"""How much of what was expected was called, and how much of what was called was expected.

Recall alone lets a run that calls everything look perfect, so every result carries both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

from judge.metrics.assignment import assign
from judge.metrics.calls import Calls, expected_calls, keys, turns
from judge.metrics.matching import NO_REFERENCE
from judge.metrics.metric import Measured, absent, metric
from judge.metrics.subsequence import common_length, common_pairs
from judge.types.json_equality import json_key
from judge.types.reference import ExpectedCall


def partners(calls: Calls) -> list[int | None]:
    """For each call of the run the position of its expected call, or None."""
    return assign(calls.calls, expected_calls(calls.reference) or (), keys=known_keys(calls))


def known_keys(calls: Calls) -> list[Any]:
    """The calls' keys, computed once."""
    return calls.once(keys)


def counts(calls: Calls) -> tuple[int, int, int] | None:
    """(calls that stand for an expected one, calls, expected calls), or None without expected calls."""
    expected = expected_calls(calls.reference)
    if expected is None:
        return None
    found = calls.once(partners)
    return len(found) - found.count(None), len(found), len(expected)


def _detail(calls: Calls, joined: int, called: int, expected: int) -> dict[str, Any]:
    wanted = expected_calls(calls.reference) or ()
    made = set(calls.once(partners))
    missing = [one.name for position, one in enumerate(wanted) if position not in made]
    return {
        "matched": joined,
        "called": called,
        "expected": expected,
        "precision": joined / called if called else None,
        "recall": joined / expected if expected else None,
        "missing": missing,
    }


def _extra(calls: Calls) -> tuple[int, ...]:
    found = calls.once(partners)
    return tuple([call.index for call, partner in zip(calls.calls, found, strict=True) if partner is None])


@metric(unit="ratio")
def call_precision(calls: Calls) -> Measured:
    """Share of the run's calls that are expected ones: matched / called, each expected call used once.

    Range: 0 to 1.
    Not applicable: no expected calls are given, or no call was made.
    Steps: the calls that were not expected.
    """
    found = counts(calls)
    if found is None:
        return absent(NO_REFERENCE)
    joined, called, expected = found
    if not called:
        return absent("no call was made")
    return Measured(joined / called, _extra(calls), _detail(calls, joined, called, expected))


@metric(unit="ratio")
def call_recall(calls: Calls) -> Measured:
    """Share of the expected calls that were made: matched / expected. Read it beside `call_precision`: calls
    that nobody expected do not lower it.

    Range: 0 to 1.
    Not applicable: no expected calls are given, or none is expected.
    Steps: the calls that were not expected; `detail.missing` names the expected calls that were not made.
    """
    found = counts(calls)
    if found is None:
        return absent(NO_REFERENCE)
    joined, called, expected = found
    if not expected:
        return absent("no call is expected")
    return Measured(joined / expected, _extra(calls), _detail(calls, joined, called, expected))


@metric(unit="ratio")
def call_f1(calls: Calls) -> Measured:
    """Harmonic mean of precision and recall over the multiset of calls: 2 · matched / (called + expected).

    Range: 0 to 1; 1 when nothing was expected and nothing called, 0 when only one of the two is empty.
    Not applicable: no expected calls are given.
    Steps: the calls that were not expected.
    """
    found = counts(calls)
    if found is None:
        return absent(NO_REFERENCE)
    joined, called, expected = found
    value = 2 * joined / (called + expected) if called + expected else 1.0
    return Measured(value, _extra(calls), _detail(calls, joined, called, expected))


@metric(unit="ratio")
def call_order_f1(calls: Calls) -> Measured:
    """F1 that counts a call only where it keeps the expected order: 2 · L / (called + expected), L the length of the
    longest common subsequence. Calls of one turn are first put into the order of their expected partners.

    Range: 0 to `call_f1`; 1 when nothing was expected and nothing called.
    Not applicable: no expected calls are given.
    Steps: the calls outside the common subsequence.
    """
    expected = expected_calls(calls.reference)
    if expected is None:
        return absent(NO_REFERENCE)
    order = _order(calls)
    rows = _rows([known_keys(calls)[at] for at in order], expected)
    pairs = common_pairs(rows, len(expected))
    length = common_length(rows, len(expected)) if pairs is None else len(pairs)
    total = len(order) + len(expected)
    inside = {order[row] for row, _ in pairs or ()}
    outside = () if pairs is None else tuple(c.index for at, c in enumerate(calls.calls) if at not in inside)
    detail = {"common": length, "called": len(order), "expected": len(expected)}
    return Measured(2 * length / total if total else 1.0, outside, detail)


def _order(calls: Calls) -> list[int]:
    """Positions of the calls, those of one turn by the position of their expected partner, the rest last."""
    found = calls.once(partners)
    order: list[int] = []
    for group in calls.once(turns):
        if len(group) > 1:
            group = sorted(group, key=lambda at: (found[at] is None, found[at] or 0))
        order += group
    return order


def _rows(made: Sequence[Hashable], expected: Sequence[ExpectedCall]) -> list[int]:
    """For each call the bits of the expected calls that it fits."""
    exact: dict[Hashable, list[int]] = defaultdict(list)
    any_will_do: dict[Hashable, list[int]] = defaultdict(list)
    for position, one in enumerate(expected):
        if one.arguments is None:
            any_will_do[one.name].append(position)
        else:
            exact[one.name, json_key(one.arguments)].append(position)
    any_bits = {name: _bits(positions) for name, positions in any_will_do.items()}
    by_key: dict[Hashable, int] = {}
    rows: list[int] = []
    for key in made:
        if key not in by_key:
            name = key[0] if isinstance(key, tuple) else key
            by_key[key] = _bits(exact.get(key, [])) | any_bits.get(name, 0)
        rows.append(by_key[key])
    return rows


def _bits(positions: list[int]) -> int:
    if not positions:
        return 0
    filled = bytearray(positions[-1] // 8 + 1)
    for position in positions:
        filled[position // 8] |= 1 << (position % 8)
    return int.from_bytes(filled, "little")
