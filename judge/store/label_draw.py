"""Which trajectories people label, and in what order, with the chance that each was drawn.

Every design draws `n` of the trajectories and records for each the probability of being drawn, so that an estimate
weighted by its inverse (Horvitz & Thompson 1952, doi:10.1080/01621459.1952.10483446) stays unbiased. Within the draw
the order is random: whoever stops early has labelled a random part of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from judge.errors import UsageError
from judge.types.record import Record

Order = Literal["random", "stratified", "uncertainty"]
FLOOR = 0.25
"""Least weight of a trajectory in the uncertainty design, as a share of the largest: none is ever left out for sure."""


class Known(Record):
    """What is known of a trajectory before anyone labels it.

    Attributes:
        score: The judge's, in [0, 1] with 0 the worst; None where it gave none.
        spread: Highest minus lowest of its votes, in [0, 1]; None with fewer than two.
    """

    score: float | None = None
    spread: float | None = None


class Drawn(Record):
    """One trajectory of the draw. `probability` is the chance, in (0, 1], that it was drawn."""

    id: str
    probability: float


def draw(known: Mapping[str, Known], n: int | None, order: Order, rng: np.random.Generator) -> tuple[Drawn, ...]:
    """Draws `n` trajectories (all when None or more than there are) and puts them in a random order.

    Args:
        order: "random": each with the same chance. "stratified": the judge's scores are strata; each gets a share
            of `n` in proportion to its size, at least one. "uncertainty": the chance grows with how unsure the judge
            is (spread of its votes, nearness to the middle of the scale); no score counts as most unsure.

    Raises:
        UsageError: There is nothing to draw from, or `n` is below 1.
    """
    ids = sorted(known)
    if not ids or (n is not None and n < 1):
        raise UsageError(f"{len(ids)} trajectories and a draw of {n!r}: at least one of each is needed.")
    size = len(ids) if n is None else min(n, len(ids))
    if order == "uncertainty":
        chances = proportional([unsureness(known[id]) for id in ids], size)
        found = {ids[k]: float(chances[k]) for k in systematic(chances, rng)}
    elif order == "stratified":
        found = _stratified(known, ids, size, rng)
    else:
        found = {ids[int(k)]: size / len(ids) for k in rng.permutation(len(ids))[:size]}
    names = sorted(found)
    return tuple(Drawn(id=names[int(k)], probability=found[names[int(k)]]) for k in rng.permutation(len(names)))


def unsureness(known: Known) -> float:
    """How much a label would tell, in [FLOOR, 1]: 1 for a score in the middle, for split votes, and for no score."""
    if known.score is None:
        return 1.0
    middle = 1.0 - abs(2 * known.score - 1)
    return FLOOR + (1 - FLOOR) * max(middle, known.spread or 0.0)


def proportional(weights: Sequence[float], n: int) -> np.ndarray:
    """Chances in proportion to `weights` that sum to `n`, none above 1; what is cut off goes to the others."""
    chances = np.zeros(len(weights))
    certain = np.zeros(len(weights), dtype=bool)
    given = np.asarray(weights, dtype=float)
    while True:
        left = n - int(certain.sum())
        total = given[~certain].sum()
        chances[certain] = 1.0
        if left <= 0 or total <= 0:
            return chances
        chances[~certain] = given[~certain] * left / total
        over = (chances >= 1.0) & ~certain
        if not over.any():
            return chances
        certain |= over


def systematic(chances: np.ndarray, rng: np.random.Generator) -> list[int]:
    """Indices of a draw in which each item has exactly its chance: one random start, equal steps, shuffled items."""
    shuffled = rng.permutation(len(chances))
    ends = np.cumsum(chances[shuffled])
    marks = np.arange(round(float(ends[-1]))) + rng.random()
    places = np.minimum(np.searchsorted(ends, marks, side="right"), len(chances) - 1)
    return [int(shuffled[place]) for place in places]


def _stratified(
    known: Mapping[str, Known], ids: Sequence[str], size: int, rng: np.random.Generator
) -> dict[str, float]:
    strata: dict[float | None, list[str]] = {}
    for id in ids:
        strata.setdefault(known[id].score, []).append(id)
    ordered = [strata[key] for key in sorted(strata, key=lambda score: (score is not None, score or 0.0))]
    if size < len(ordered):
        raise UsageError(
            f"A stratified draw of {size} from {len(ordered)} different scores leaves some without a label.",
            hint=f"Draw at least {len(ordered)}, or use the order random or uncertainty.",
        )
    # One for each stratum, the rest by size: largest remainders first.
    rest = size - len(ordered)
    spare = sum(len(stratum) - 1 for stratum in ordered)
    exact = [(len(stratum) - 1) * rest / spare if spare else 0.0 for stratum in ordered]
    counts = [1 + int(share) for share in exact]
    by_remainder = sorted(range(len(ordered)), key=lambda k: exact[k] - int(exact[k]), reverse=True)
    for k in by_remainder[: size - sum(counts)]:
        counts[k] += 1
    out: dict[str, float] = {}
    for stratum, count in zip(ordered, counts, strict=True):
        for k in rng.permutation(len(stratum))[:count]:
            out[stratum[int(k)]] = count / len(stratum)
    return out
