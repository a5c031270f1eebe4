"""Calls made again, letter for letter."""

from __future__ import annotations

from typing import Any

from judge.metrics.calls import Calls, keys
from judge.metrics.metric import Measured, metric


@metric(unit="calls")
def num_exact_repeats(calls: Calls) -> Measured:
    """Number of calls whose tool and JSON-equal arguments an earlier call already had.

    Range: 0 to the number of calls less one.
    Not applicable: never; a run without calls repeated 0.
    Steps: the repeats; `detail.pairs` joins each to the first call like it.
    """
    if len(calls.calls) < 2:
        return Measured(0)
    first: dict[Any, int] = {}
    pairs: list[list[int]] = []
    for call, key in zip(calls.calls, calls.once(keys), strict=True):
        earlier = first.setdefault(key, call.index)
        if earlier != call.index:
            pairs.append([earlier, call.index])
    return Measured(len(pairs), tuple([later for _, later in pairs]), {"pairs": pairs} if pairs else None)
