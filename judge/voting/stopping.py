"""How many samples to draw, and when to stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judge.types.rubric import BinaryScale, Rubric
from judge.types.stop_rule import StopRule
from judge.types.verdict import Vote
from judge.voting.sequential import more_by_rule

WRAPPED_UP = "Most of the budget was spent: no votes were drawn beyond those that the verdict stands on."
"""Warning of a verdict with fewer votes than its rule would have drawn."""


def more_samples(
    votes: Mapping[str, Sequence[Vote]], rubric: Rubric, samples: int | None = None, stop: StopRule | None = None
) -> int:
    """How many more samples are wanted now; 0 to stop.

    With `samples` given: that many in all. Else with `stop`: until the outcome is decided. Else by the scales of the
    rubric: one sample where every criterion is binary; where one is not, two, and a third if they differ on any
    criterion. Two that agree fix the median of three, so the third would change nothing. Two failed votes are not
    asked a third time: one valid vote of three is no quorum.

    Args:
        votes: Votes so far by criterion id, failed ones included; empty before the first sample.

    Source: on ordinal scores this gives the median of three at 2.25 to 2.39 calls; see
    ``docs/decisions/0008-voting.md``.
    """
    drawn = max((len(given) for given in votes.values()), default=0)
    if samples is not None:
        return max(0, samples - drawn)
    if stop is not None:
        return more_by_rule(votes, rubric, stop)
    if all(isinstance(criterion.scale, BinaryScale) for criterion in rubric.criteria):
        return 1 if drawn == 0 else 0
    if drawn < 2:
        return 2 - drawn
    if drawn == 2 and any(_differ(given) for given in votes.values()):
        return 1
    return 0


def even_label_vote(rubric: Rubric, samples: int | None) -> str | None:
    """A warning when an even number of samples can tie on a binary criterion, else None."""
    if samples is None or samples % 2:
        return None
    binary = [criterion.id for criterion in rubric.criteria if isinstance(criterion.scale, BinaryScale)]
    if not binary:
        return None
    listed = ", ".join(binary)
    return f"{samples} samples can tie on {listed}: a tie is inconclusive. Use an odd number of samples."


def _differ(given: Sequence[Vote]) -> bool:
    first, second = given[0], given[1]
    if first.status == "ok" or second.status == "ok":
        return first.status != second.status or first.score != second.score
    answers = {"not_applicable", "abstain"}
    return (first.status in answers or second.status in answers) and first.status != second.status
