"""Vote rules: how the valid scores of several samples become one.

A rule sees valid scores only; what failed never reaches it. Each gives the same result for
every order of the scores, or None when the votes tie and the rule has no middle to offer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from judge.types.rubric import BinaryScale, LevelScale, RangeScale
from judge.types.verdict import Vote, VoteRule
from judge.voting.exact import exact_mean

TRIM = 0.2
"""Share of the votes that a trimmed mean leaves out at each end; at least one vote, given three."""


def chosen_rule(rule: VoteRule, scale: LevelScale | BinaryScale | RangeScale) -> VoteRule:
    """What "auto" stands for on a scale: majority on a binary one, else the median."""
    if rule != "auto":
        return rule
    return "majority" if isinstance(scale, BinaryScale) else "median"


def median(scores: Sequence[float]) -> float:
    """Middle score; for an even count the mean of the two middle ones. `scores` is not empty."""
    ordered = sorted(scores)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    low, high = ordered[half - 1], ordered[half]
    return low if low == high else exact_mean((low, high))


def majority(scores: Sequence[float]) -> float | None:
    """Most common score, or None when two or more are equally common: a tie is not a result."""
    counts = Counter(scores).most_common(2)
    if len(counts) > 1 and counts[0][1] == counts[1][1]:
        return None
    return counts[0][0]


def trimmed_mean(scores: Sequence[float]) -> float:
    """Mean without the lowest and highest 20 % of the scores, at least one at each end given three.

    One or two scores: their mean.
    """
    ordered = sorted(scores)
    cut = max(1, int(TRIM * len(ordered))) if len(ordered) > 2 else 0
    return exact_mean(ordered[cut : len(ordered) - cut])


def expected_score(votes: Sequence[Vote]) -> float | None:
    """Mean of the scores that the judge's own token probabilities expect.

    None when any vote lacks one: the caller falls back to the mean and records that it did.
    """
    values = [vote.expected for vote in votes]
    known = [value for value in values if value is not None]
    return exact_mean(known) if known and len(known) == len(values) else None


def apply(rule: VoteRule, votes: Sequence[Vote], scores: Sequence[float]) -> tuple[VoteRule, float | None]:
    """The rule that was really used, and its result; None for a tie.

    Args:
        rule: Not "auto" (see `chosen_rule`).
        votes: The valid votes, at least one.
        scores: Their scores, in the same order.
    """
    if rule == "median":
        return rule, median(scores)
    if rule == "majority":
        return rule, majority(scores)
    if rule == "trimmed_mean":
        return rule, trimmed_mean(scores)
    if rule == "expected":
        value = expected_score(votes)
        if value is not None:
            return rule, value
    return "mean", exact_mean(scores)
