"""Votes on two runs → who is better: first in one order, then in both, never half a point for a run that did not win.

What the two orders say differently is inconclusive. A tie is a tie only where the judge said so in both orders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from judge.types.pair import PairCriterion, PairOrder, PairVote, PairWinner, Side
from judge.types.rubric import Rubric
from judge.voting.exact import exact
from judge.voting.tally import ANSWERED


def order_winner(votes: Sequence[PairVote]) -> PairWinner:
    """What the votes on one criterion in one order say; their order never changes it.

    "not_applicable" where more than half say so. Else more than half must name a winner or a tie, and the most frequent
    of these wins; where two are as frequent, or where the judge could not tell, it is "inconclusive", and "failed"
    where too few votes are answers at all.
    """
    need = len(votes) // 2 + 1
    if votes and 2 * sum(vote.status == "not_applicable" for vote in votes) > len(votes):
        return "not_applicable"
    named = [vote.preferred for vote in votes if vote.status == "ok" and vote.preferred is not None]
    if len(named) < need:
        answered = sum(vote.status in ANSWERED for vote in votes)
        return "inconclusive" if votes and answered >= need else "failed"
    counts = Counter(named).most_common()
    return "inconclusive" if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]


def both_orders(one: PairWinner, other: PairWinner) -> PairWinner:
    """The winner that both orders name; "failed" where one has none, "inconclusive" where they differ."""
    if "failed" in (one, other):
        return "failed"
    return one if one == other else "inconclusive"


def rubric_winner(rubric: Rubric, winners: Mapping[str, PairWinner]) -> PairWinner:
    """What the criteria of a rubric say together, in one order.

    A criterion that failed fails all, one that is inconclusive leaves all inconclusive; those that do not apply are
    left out. Of the rest, gates come first: where every gate that prefers a run prefers the same one, it wins; gates
    for different runs are inconclusive. Without a preference of a gate the run with more weight of criteria wins, and
    equal weight is a tie.
    """
    found = [winners.get(criterion.id, "failed") for criterion in rubric.criteria]
    for blocking in ("failed", "inconclusive"):
        if blocking in found:
            return "failed" if blocking == "failed" else "inconclusive"
    if all(winner == "not_applicable" for winner in found):
        return "not_applicable"
    by_gates: set[PairWinner] = {
        winner
        for criterion, winner in zip(rubric.criteria, found, strict=True)
        if criterion.gate and winner in ("a", "b")
    }
    if len(by_gates) == 2:
        return "inconclusive"
    if by_gates:
        return by_gates.pop()
    lead = exact(0.0)
    for criterion, winner in zip(rubric.criteria, found, strict=True):
        if winner in ("a", "b"):
            lead += exact(criterion.weight) * (1 if winner == "a" else -1)
    return "tie" if lead == 0 else "a" if lead > 0 else "b"


def criterion_result(id: str, orders: Mapping[Side, Sequence[PairVote]]) -> PairCriterion:
    """One criterion in both orders, with the reason in words."""
    first, second = (
        PairOrder(first=side, winner=order_winner(orders[side]), votes=tuple(orders[side])) for side in ("a", "b")
    )
    winner = both_orders(first.winner, second.winner)
    return PairCriterion(id=id, winner=winner, why=_why(winner, first, second), orders=(first, second))


def why_of(winner: PairWinner, orders: tuple[PairWinner, PairWinner], criteria: Sequence[PairCriterion]) -> str:
    """The winner of a pair in words; of one criterion, with its reason."""
    if len(criteria) == 1:
        return criteria[0].why
    listed = ", ".join(f"{criterion.id} {criterion.winner}" for criterion in criteria)
    if winner == "inconclusive" and orders[0] != orders[1]:
        return f"The orders disagree: {orders[0]} when a stood first, {orders[1]} when b did. By criterion: {listed}."
    return f"By criterion: {listed}."


def _why(winner: PairWinner, first: PairOrder, second: PairOrder) -> str:
    if winner == "failed":
        return " ".join(_failure(order) for order in (first, second) if order.winner == "failed")
    if winner == "inconclusive":
        if first.winner != second.winner:
            return f"The orders disagree: {first.winner} when a stood first, {second.winner} when b did."
        return "In both orders the votes are split, or the judge could not tell."
    if winner == "not_applicable":
        return "The criterion applies to neither run."
    speaker = next((vote for vote in first.votes if vote.preferred == winner), None)
    return speaker.reason if speaker else ""


def _failure(order: PairOrder) -> str:
    failed = [vote for vote in order.votes if vote.status not in ANSWERED]
    causes = "; ".join(dict.fromkeys(f"{vote.status}: {vote.message or 'no cause was given'}" for vote in failed))
    return f"No answer when {order.first} stood first ({causes or 'no vote was drawn'})."
