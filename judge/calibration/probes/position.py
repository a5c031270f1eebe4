"""Position bias of a judge that compares two runs: what the first place is worth, found by asking in both orders."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from judge.calibration.concordance import leniency
from judge.calibration.pairwise import Contest
from judge.calibration.probes.findings import bias_row
from judge.types.estimate import Statistic, undefined
from judge.types.probe import BiasRow

PLACE_BAND = 0.10
"""Innocent pull of a place, net of that of the other, as a share of pairs; argued in docs/probes.md."""


def pull_of_first(contest: Contest) -> float | None:
    """Verdicts for the run that stood first minus those for the other, of both orders, as a share in [-1, 1].

    0 where both orders name the same run, or tie; 1 where the first place won both; None where an order has no verdict.
    """
    if contest.ab is None or contest.ba is None:
        return None
    return ({1: 1, 2: -1, 0: 0}[contest.ab] + {2: 1, 1: -1, 0: 0}[contest.ba]) / 2


def position_effect(contests: Sequence[Contest], *, rng: np.random.Generator, confidence: float = 0.95) -> Statistic:
    """Mean pull of the first place in [-1, 1] over pairs with two verdicts, clustered by task; below 0 for the second.

    A judge that wobbles between places without preferring one has 0 here and a low order agreement. Null without a pair
    that has two verdicts; without an interval where all pairs are of one task.

    When not to use: on verdicts of one order, where a pull cannot be told from a merit.
    """
    pulls: list[float] = []
    groups: list[Hashable] = []
    for place, contest in enumerate(contests):
        pull = pull_of_first(contest)
        if pull is not None:
            pulls.append(pull)
            groups.append(place if contest.group is None else contest.group)
    if not pulls:
        return undefined("no pair has a verdict in both orders", n=0, clusters=0, confidence=confidence)
    share_first = [(1 + pull) / 2 for pull in pulls]
    share_second = [(1 - pull) / 2 for pull in pulls]
    return leniency(share_second, share_first, scale=(0.0, 1.0), groups=groups, rng=rng, confidence=confidence)


def position_row(contests: Sequence[Contest], *, rng: np.random.Generator) -> BiasRow:
    """Position bias with its state: flagged only when the whole interval leaves the innocent band."""
    return bias_row(
        "position",
        position_effect(contests, rng=rng),
        (-PLACE_BAND, PLACE_BAND),
        pairs=len(contests),
        no_score=sum(pull_of_first(contest) is None for contest in contests),
        unit="share of pairs",
        note="verdicts for the run that stood first, minus those for the other",
    )
