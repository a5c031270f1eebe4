"""Longest common subsequence, 64 places at a time.

Hyyrö 2004 (bit-parallel LCS length; Crochemore et al. 2001, doi:10.1016/S0020-0190(01)00182-X) on one wide
integer: n rows of m bits. The cost is n·m/64 word operations whatever the data, so 10,000 against 10,000 is 1.6
million, less than hashing the calls. Any relation of fitting will do, not only equality.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST_BYTES_FOR_PAIRS = 64_000_000
"""Memory for the rows from which the pairs are read back; above it only the length is known."""


def common_length(rows: Sequence[int], width: int) -> int:
    """Length of the longest common subsequence, 0 to min(len(rows), width).

    Args:
        rows: For each item of one sequence, an integer whose bit j says that it fits item j of the other.
        width: Length of the other sequence.
    """
    mask = (1 << width) - 1
    state = mask
    for row in rows:
        fitting = state & row
        state = ((state + fitting) | (state - fitting)) & mask
    return width - state.bit_count()


def common_pairs(rows: Sequence[int], width: int) -> list[tuple[int, int]] | None:
    """One longest common subsequence as ascending (row, column) pairs; None where it would take too much memory."""
    if len(rows) * width > 8 * MOST_BYTES_FOR_PAIRS:
        return None
    mask = (1 << width) - 1
    state = mask
    states: list[int] = []
    for row in rows:
        fitting = state & row
        state = ((state + fitting) | (state - fitting)) & mask
        states.append(state)
    pairs: list[tuple[int, int]] = []
    at, column = len(rows), width
    while at and column:
        bit = 1 << (column - 1)
        if states[at - 1] & bit:
            column -= 1
            continue
        at -= 1
        if not at or states[at - 1] & bit:
            column -= 1
            pairs.append((at, column))
    return pairs[::-1]
