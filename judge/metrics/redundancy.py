"""Calls that ask almost the same as an earlier call of the same tool."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from judge.metrics.calls import Calls, keys
from judge.metrics.metric import Measured, metric
from judge.metrics.word_overlap import earliest_similar
from judge.types.json_equality import decoded
from judge.types.trajectory import ToolCall

_WORD = re.compile(r"\w+")


def words(call: ToolCall) -> frozenset[str]:
    """Lower-cased words of all argument values at any depth; names of arguments are not values.

    A number is one word (1 and 1.0 the same), a boolean too; null and arguments that did not parse have none.
    """
    found: set[str] = set()
    left = [] if call.arguments is None else [decoded(call.arguments)]
    while left:
        value = left.pop()
        if isinstance(value, str):
            found.update(_WORD.findall(value.lower()))
        elif isinstance(value, dict):
            left.extend(value.values())
        elif isinstance(value, list | tuple):
            left.extend(value)
        elif isinstance(value, bool):
            found.add("true" if value else "false")
        elif isinstance(value, float) and value.is_integer():
            found.add(str(int(value)))
        elif value is not None:
            found.add(str(value).lower())
    return frozenset(found)


def redundant_pairs(calls: Calls) -> list[list[int]]:
    """[earlier, later] step indices, one pair a redundant call: it with the first earlier call that it overlaps.

    One pair each, and not all, keeps the answer linear in the calls: 10,000 equal calls have 50 million pairs.
    """
    if len(calls.calls) < 2:
        return []
    by_tool: dict[str, list[int]] = defaultdict(list)
    for position, call in enumerate(calls.calls):
        by_tool[call.name].append(position)
    pairs: list[list[int]] = []
    for positions in by_tool.values():
        if len(positions) > 1:
            pairs += _pairs_of_tool(calls, positions)
    return sorted(pairs, key=lambda pair: pair[1])


def _pairs_of_tool(calls: Calls, positions: list[int]) -> list[list[int]]:
    sets = [words(calls.calls[position]) for position in positions]
    partners = earliest_similar(sets, calls.redundancy_threshold)
    wordless: dict[Any, int] = {}
    pairs: list[list[int]] = []
    for position, partner, own in zip(positions, partners, sets, strict=True):
        earlier = None if partner is None else positions[partner]
        if not own:
            first = wordless.setdefault(calls.once(keys)[position], position)
            earlier = None if first == position else first
        if earlier is not None:
            pairs.append([calls.calls[earlier].index, calls.calls[position].index])
    return pairs


@metric(unit="boolean")
def has_redundant_call(calls: Calls) -> Measured:
    """Whether two calls of one tool overlap: |A ∩ B| / |A ∪ B| ≥ threshold (default 0.5) for A and B the
    lower-cased words of all their argument values. A call without words matches only an exact repeat.

    Range: true or false.
    Not applicable: never; a run without calls has no redundant one (false).
    Steps: all calls in a pair; `detail.pairs` joins each redundant call to the first earlier one it overlaps.
    """
    pairs = calls.once(redundant_pairs)
    steps = sorted({step for pair in pairs for step in pair})
    return Measured(bool(pairs), tuple(steps), _detail(calls, pairs))


@metric(unit="calls")
def num_redundant_calls(calls: Calls) -> Measured:
    """Number of calls that overlap an earlier call of the same tool, as in `has_redundant_call`.

    Range: 0 to the number of calls less one.
    Not applicable: never; a run without calls has 0.
    Steps: the redundant calls, not those they repeat.
    """
    pairs = calls.once(redundant_pairs)
    return Measured(len(pairs), tuple([later for _, later in pairs]), _detail(calls, pairs))


def _detail(calls: Calls, pairs: list[list[int]]) -> dict[str, Any] | None:
    return {"pairs": pairs, "threshold": calls.redundancy_threshold} if pairs else None
