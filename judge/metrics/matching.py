"""Whether the calls of a run are the expected ones: strict, in order, any order, subset, superset.

Calls of one assistant turn run in parallel, so their order among themselves does not matter, in the ordered
modes either, unless it is asked for. Calls are a multiset; each is used once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

from judge.errors import UsageError
from judge.metrics.arguments import EXACT, Modes, checked_modes, difference, fits
from judge.metrics.assignment import assign
from judge.metrics.calls import Calls, expected_calls, keys, turns
from judge.metrics.metric import CallMetric, Measured, absent, metric
from judge.types.record import Record
from judge.types.reference import ExpectedCall
from judge.types.trajectory import ToolCall

Mode = Literal["strict", "in_order", "any_order", "subset", "superset"]
MODES: tuple[Mode, ...] = ("strict", "in_order", "any_order", "subset", "superset")
NO_REFERENCE = "no expected calls are given"


class Match(Record):
    """Whether calls match, and the first thing that does not.

    Attributes:
        steps: Indices of the calls that have no expected partner under this mode.
        difference: The first differing step and argument, in words under "text"; None when `matched`.
        vacuous: Why a match says little (nothing called, nothing expected), or None.
    """

    matched: bool
    steps: tuple[int, ...] = ()
    difference: dict[str, Any] | None = None
    vacuous: str | None = None


def match_calls(
    called: Sequence[ToolCall],
    expected: Sequence[ExpectedCall],
    mode: Mode = "strict",
    *,
    arguments: Modes = EXACT,
    groups: Sequence[Sequence[int]] | None = None,
    known_keys: Sequence[Hashable] | None = None,
) -> Match:
    """Compares calls with the expected ones.

    Args:
        mode: "strict" the same calls in the same order; "in_order" the expected ones in order, others between
            them allowed; "any_order" the same multiset; "subset" every call is an expected one; "superset"
            every expected one was called.
        arguments: Argument mode by tool (see `judge.metrics.arguments`).
        groups: Positions in `called` that share a turn, in order; None keeps the order of every call.
        known_keys: `call_key` of each call where computed already.

    Raises:
        UsageError: No such mode.
    """
    checked_modes(arguments)
    if mode not in MODES:
        raise UsageError(f"Match mode is {mode!r}; needed one of {', '.join(MODES)}.")
    if mode in ("strict", "in_order"):
        ordered = groups if groups is not None else [[position] for position in range(len(called))]
        result = (_strict if mode == "strict" else _in_order)(called, expected, ordered, arguments, known_keys)
    else:
        result = _unordered(called, expected, mode, arguments, known_keys)
    vacuous = _vacuous(called, expected, mode) if result.matched else None
    return result.model_copy(update={"vacuous": vacuous}) if vacuous else result


def _vacuous(called: Sequence[ToolCall], expected: Sequence[ExpectedCall], mode: Mode) -> str | None:
    if not called and not expected:
        return "nothing was expected and nothing was called"
    if mode == "subset" and not called:
        return "nothing was called"
    if mode in ("superset", "in_order") and not expected:
        return "nothing was expected"
    return None


def _strict(
    called: Sequence[ToolCall],
    expected: Sequence[ExpectedCall],
    groups: Sequence[Sequence[int]],
    arguments: Modes,
    known: Sequence[Hashable] | None,
) -> Match:
    start = 0
    for group in groups:
        wanted = expected[start : start + len(group)]
        partners = _assign(called, group, wanted, arguments, known)
        if None in partners or len(wanted) < len(group):
            return _mismatch([called[at] for at in group], partners, wanted, arguments)
        start += len(group)
    if start < len(expected):
        return Match(matched=False, difference=difference(None, expected[start], arguments))
    return Match(matched=True)


def _in_order(
    called: Sequence[ToolCall],
    expected: Sequence[ExpectedCall],
    groups: Sequence[Sequence[int]],
    arguments: Modes,
    known: Sequence[Hashable] | None,
) -> Match:
    # taking as many of the next expected calls as a turn can give is never worse than taking fewer
    start = 0
    matched_until = -1
    extra: list[int] = []
    for number, group in enumerate(groups):
        taken, partners = _longest_prefix(called, group, expected, start, arguments, known)
        extra += [called[at].index for at, partner in zip(group, partners, strict=True) if partner is None]
        if taken:
            start, matched_until = start + taken, number
    if start == len(expected):
        return Match(matched=True, steps=tuple(extra))
    missing = expected[start]
    after = [called[at] for group in groups[matched_until + 1 :] for at in group]
    near = next((call for call in after if call.name == missing.name), None)
    return Match(matched=False, steps=tuple(extra), difference=difference(near, missing, arguments))


def _longest_prefix(
    called: Sequence[ToolCall],
    group: Sequence[int],
    expected: Sequence[ExpectedCall],
    start: int,
    arguments: Modes,
    known: Sequence[Hashable] | None,
) -> tuple[int, list[int | None]]:
    """How many of the next expected calls this turn makes, and its calls' partners among them."""
    low, high = 0, min(len(group), len(expected) - start)
    best: list[int | None] = [None] * len(group)
    while low < high:  # if a turn makes the first k, it makes the first k - 1
        middle = (low + high + 1) // 2
        partners = _assign(called, group, expected[start : start + middle], arguments, known)
        if len(group) - partners.count(None) == middle:
            low, best = middle, partners
        else:
            high = middle - 1
    return low, best


def _unordered(
    called: Sequence[ToolCall],
    expected: Sequence[ExpectedCall],
    mode: Mode,
    arguments: Modes,
    known: Sequence[Hashable] | None,
) -> Match:
    partners = assign(called, expected, arguments, known)
    joined = len(called) - partners.count(None)
    covered_called, covered_expected = joined == len(called), joined == len(expected)
    matched = (covered_called or mode == "superset") and (covered_expected or mode == "subset")
    if matched:
        return Match(matched=True, steps=_extra(called, partners))
    if mode == "superset":
        return _missing(called, partners, expected, arguments)
    return _mismatch(called, partners, expected, arguments)


def _assign(
    called: Sequence[ToolCall],
    group: Sequence[int],
    expected: Sequence[ExpectedCall],
    arguments: Modes,
    known: Sequence[Hashable] | None,
) -> list[int | None]:
    if len(group) == 1 and len(expected) == 1:
        return [0 if fits(called[group[0]], expected[0], arguments) else None]
    part = None if known is None else [known[at] for at in group]
    return assign([called[at] for at in group], expected, arguments, part)


def _extra(called: Sequence[ToolCall], partners: Sequence[int | None]) -> tuple[int, ...]:
    return tuple([call.index for call, partner in zip(called, partners, strict=True) if partner is None])


def _mismatch(
    called: Sequence[ToolCall], partners: Sequence[int | None], expected: Sequence[ExpectedCall], arguments: Modes
) -> Match:
    """The first call without a partner, beside the nearest thing that was expected in its place."""
    joined = set(partners)
    free = [one for position, one in enumerate(expected) if position not in joined]
    first = next((call for call, partner in zip(called, partners, strict=True) if partner is None), None)
    if first is None:
        found = difference(None, free[0], arguments)
    else:
        near = next((one for one in free if one.name == first.name), free[0] if free else None)
        found = difference(first, near, arguments)
    return Match(matched=False, steps=_extra(called, partners), difference=found)


def _missing(
    called: Sequence[ToolCall], partners: Sequence[int | None], expected: Sequence[ExpectedCall], arguments: Modes
) -> Match:
    """The first expected call that was not made, beside the nearest call that has no partner."""
    joined = set(partners)
    lacking = next(one for position, one in enumerate(expected) if position not in joined)
    free = (call for call, partner in zip(called, partners, strict=True) if partner is None)
    near = next((call for call in free if call.name == lacking.name), None)
    return Match(matched=False, steps=_extra(called, partners), difference=difference(near, lacking, arguments))


def _measured(calls: Calls, mode: Mode, arguments: Modes = EXACT, turn_order: bool = False) -> Measured:
    expected = expected_calls(calls.reference)
    if expected is None:
        return absent(NO_REFERENCE)
    groups = None if turn_order else calls.once(turns)
    match = match_calls(calls.calls, expected, mode, arguments=arguments, groups=groups, known_keys=calls.once(keys))
    detail: dict[str, Any] = {"called": len(calls.calls), "expected": len(expected)}
    if match.difference is not None:
        detail["difference"] = match.difference
    if match.vacuous is not None:
        detail["vacuous"] = match.vacuous
    return Measured(match.matched, match.steps, detail)


def match_metric(name: str, mode: Mode, *, arguments: Modes = EXACT, turn_order: bool = False) -> CallMetric:
    """A matching metric of your own: argument modes by tool, and whether order inside a turn matters.

    Raises:
        UsageError: An argument mode is unknown.
    """
    checked_modes(arguments)
    return CallMetric(name, "boolean", lambda calls: _measured(calls, mode, arguments, turn_order))


@metric(unit="boolean")
def match_strict(calls: Calls) -> Measured:
    """Whether the run made exactly the expected calls in the expected order; order inside one turn is free.

    Range: true or false; true when nothing was expected and nothing called.
    Not applicable: no expected calls are given.
    Steps: the calls of the first turn that differs; `detail.difference` names the first step and argument.
    """
    return _measured(calls, "strict")


@metric(unit="boolean")
def match_in_order(calls: Calls) -> Measured:
    """Whether the run made the expected calls in the expected order, with other calls allowed between them.

    Range: true or false; true when nothing was expected.
    Not applicable: no expected calls are given.
    Steps: the calls that stand for no expected one; `detail.difference` names the first that is missing.
    """
    return _measured(calls, "in_order")


@metric(unit="boolean")
def match_any_order(calls: Calls) -> Measured:
    """Whether the run made exactly the expected calls, as a multiset: two equal calls are two.

    Range: true or false; true when nothing was expected and nothing called.
    Not applicable: no expected calls are given.
    Steps: the calls that stand for no expected one; `detail.difference` names the first step and argument.
    """
    return _measured(calls, "any_order")


@metric(unit="boolean")
def match_subset(calls: Calls) -> Measured:
    """Whether every call is an expected one; expected calls may be missing.

    Range: true or false; vacuously true when nothing was called, and `detail.vacuous` says so.
    Not applicable: no expected calls are given.
    Steps: the calls that were not expected; `detail.difference` names the first step and argument.
    """
    return _measured(calls, "subset")


@metric(unit="boolean")
def match_superset(calls: Calls) -> Measured:
    """Whether every expected call was made; other calls are allowed.

    Range: true or false; vacuously true when nothing was expected, and `detail.vacuous` says so.
    Not applicable: no expected calls are given.
    Steps: the calls that stand for no expected one; `detail.difference` names the first that is missing.
    """
    return _measured(calls, "superset")
