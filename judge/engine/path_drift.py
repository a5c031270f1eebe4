"""Path drift: how far repeated attempts at one task take the same way, without a judge."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

from judge.types.estimate import Statistic, undefined


def sequence_agreement(one: Sequence[str], other: Sequence[str]) -> float:
    """1 less the share of steps to insert, delete or replace to turn one sequence into the other.

    In [0, 1]: 1 for equal sequences (two empty ones too), 0 where nothing stands in its place.

    Source: Levenshtein 1966, over the longer length.
    """
    if not one and not other:
        return 1.0
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, start=1):
        previous, row[0] = row[0], i
        for j, right in enumerate(other, start=1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (left != right))
    return 1 - row[-1] / max(len(one), len(other))


def path_agreement(sequences: Sequence[Sequence[str]]) -> Statistic:
    """Mean agreement over all pairs of attempts; undefined with fewer than two."""
    n = len(sequences)
    if n < 2:
        return undefined(f"{n} attempt{'s' * (n != 1)}: agreement over repeats needs two", n=n)
    return Statistic(value=fmean(sequence_agreement(a, b) for a, b in combinations(sequences, 2)), n=n)
