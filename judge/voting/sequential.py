"""Adaptive voting: stop when the outcome is decided, at a stated risk.

Two reasons to stop, for each criterion. *Certain*: the votes left to draw cannot change the outcome. *Likely*: with a
uniform prior, the chance that the leading answer is not the one that endless votes would give is at most `risk`. For
two answers that is the Beta rule of Adaptive-Consistency; for ordered scores it is asked twice, of the share of votes
below and above the median, with half the risk each.

The stated risk is that of one look. Looking after every vote makes the true error larger: `binary_outcome` computes it
exactly, `bench/adaptive.py` simulates it for scores, and `docs/probes.md` shows both.

Source: Aggarwal, Madaan, Yang & Mausam 2023, arXiv 2305.11860.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from math import comb

from judge.types.record import Record
from judge.types.rubric import BinaryScale, LevelScale, RangeScale, Rubric
from judge.types.stop_rule import StopRule
from judge.types.verdict import Vote

SAME = 0.05
"""Scores of a scale without steps count as equal within this share of its range."""
LOST = 3
"""After this many votes without one answer, no more are drawn."""


def more_by_rule(votes: Mapping[str, Sequence[Vote]], rubric: Rubric, rule: StopRule) -> int:
    """How many more samples are wanted now; 0 to stop. One criterion that is not decided keeps the drawing going.

    Args:
        votes: Votes so far by criterion id, failed ones included; empty before the first sample.
    """
    drawn = max((len(given) for given in votes.values()), default=0)
    if drawn < rule.least:
        return rule.least - drawn
    left = rule.most - drawn
    if left <= 0:
        return 0
    if drawn >= LOST and not any(vote.status in ("ok", "not_applicable") for given in votes.values() for vote in given):
        return 0
    for criterion in rubric.criteria:
        if not _decided(votes.get(criterion.id, ()), criterion.scale, left, rule.risk):
            return 1
    return 0


def _decided(votes: Sequence[Vote], scale: LevelScale | BinaryScale | RangeScale, left: int, risk: float) -> bool:
    scores = [vote.score for vote in votes if vote.status == "ok" and vote.score is not None]
    absent = sum(vote.status == "not_applicable" for vote in votes)
    if absent and not scores:
        return two_decided(absent, 0, left, risk)
    if not scores:
        return False
    if absent and not two_decided(max(absent, len(scores)), min(absent, len(scores)), left, risk):
        return False
    if isinstance(scale, BinaryScale):
        counts = [count for _, count in Counter(scores).most_common(2)]
        return two_decided(counts[0], counts[1] if len(counts) > 1 else 0, left, risk)
    return median_decided(scores, left, risk, width=_width(scale))


def two_decided(first: int, second: int, left: int, risk: float) -> bool:
    """Whether the answer with `first` votes stays ahead of that with `second`: for certain, or at the risk."""
    return first > second + left or chance_of_lead(first, second) >= 1 - risk


def median_decided(scores: Sequence[float], left: int, risk: float, *, width: float = 0.0) -> bool:
    """Whether the median of the scores stays where it is, within `width`; an even number may have none."""
    ordered = sorted(scores)
    n = len(ordered)
    low, high = ordered[(n - 1) // 2], ordered[n // 2]
    if high - low > width:
        return False
    middle = (low + high) / 2
    slack = width / 2 + 1e-9
    below, above = sum(s < middle - slack for s in ordered), sum(s > middle + slack for s in ordered)
    if 2 * (max(below, above) + left) < n + left:
        return True
    need = 1 - risk / 2
    return chance_of_lead(n - below, below) >= need and chance_of_lead(n - above, above) >= need


def reckoned_risk(votes: Sequence[Vote], scale: LevelScale | BinaryScale | RangeScale, left: int) -> float | None:
    """Chance in [0, 1], as the rule reckons it, that more votes on one criterion would give another outcome.

    0 where the `left` votes that were not drawn could not change it, or none was left. None without a valid vote.
    """
    scores = [vote.score for vote in votes if vote.status == "ok" and vote.score is not None]
    absent = sum(vote.status == "not_applicable" for vote in votes)
    if left <= 0 and (scores or absent):
        return 0.0
    if not scores:
        return _two_risk(absent, 0, left) if absent else None
    parts = _two_risk(max(absent, len(scores)), min(absent, len(scores)), left) if absent else 0.0
    if isinstance(scale, BinaryScale):
        counts = [count for _, count in Counter(scores).most_common(2)]
        return min(1.0, parts + _two_risk(counts[0], counts[1] if len(counts) > 1 else 0, left))
    return min(1.0, parts + _median_risk(scores, left, _width(scale)))


def _two_risk(first: int, second: int, left: int) -> float:
    return 0.0 if first > second + left else 1 - chance_of_lead(first, second)


def _median_risk(scores: Sequence[float], left: int, width: float) -> float:
    if median_decided(scores, left, 0.0, width=width):
        return 0.0
    ordered = sorted(scores)
    n = len(ordered)
    middle, slack = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2, width / 2 + 1e-9
    below, above = sum(s < middle - slack for s in ordered), sum(s > middle + slack for s in ordered)
    return 2 - chance_of_lead(n - below, below) - chance_of_lead(n - above, above)


@cache
def chance_of_lead(first: int, second: int) -> float:
    """Chance that a share with `first` votes for and `second` against it is above one half, after a uniform prior.

    P(Beta(first + 1, second + 1) > 1/2) = P(Binomial(first + second + 1, 1/2) <= first), exactly.
    """
    n = first + second + 1
    return float(sum(comb(n, k) for k in range(first + 1)) / 2**n)


def _width(scale: LevelScale | RangeScale) -> float:
    if isinstance(scale, RangeScale) and scale.step is None:
        return SAME * (scale.max - scale.min)
    return 0.0


class StopOutcome(Record):
    """What a rule does to a binary judge that is right with a given chance per vote.

    Attributes:
        error: Chance that the verdict is not what most endless votes would say.
        calls: Expected votes for one verdict.
    """

    error: float
    calls: float


def binary_outcome(rule: StopRule, accuracy: float) -> StopOutcome:
    """Exact error and expected calls of a rule where each vote is right with `accuracy` in (1/2, 1], independently."""
    open_: dict[tuple[int, int], float] = {(0, 0): 1.0}
    error = calls = 0.0
    for drawn in range(rule.most + 1):
        following: dict[tuple[int, int], float] = {}
        for (right, wrong), chance in open_.items():
            done = drawn >= rule.least and two_decided(
                max(right, wrong), min(right, wrong), rule.most - drawn, rule.risk
            )
            if done or drawn == rule.most:
                error += chance * (wrong > right)
                calls += chance * drawn
                continue
            for more, p in (((right + 1, wrong), accuracy), ((right, wrong + 1), 1 - accuracy)):
                following[more] = following.get(more, 0.0) + chance * p
        open_ = following
    return StopOutcome(error=error, calls=calls)
