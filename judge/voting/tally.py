"""Votes on one criterion → its result, with everything that failed or disagreed left visible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from judge.types.rubric import BinaryScale, Criterion
from judge.types.verdict import CriterionResult, VerdictStatus, Vote, VoteRule
from judge.voting.rules import apply, chosen_rule

ANSWERED = frozenset({"ok", "not_applicable", "abstain"})
"""Vote statuses by which the judge did answer, whatever it said; the others are failures."""


def tally(
    votes: Sequence[Vote], criterion: Criterion, *, rule: VoteRule = "auto", quorum: int | None = None
) -> CriterionResult:
    """One criterion's votes as one result. The order of the votes never changes it.

    A failed vote is counted and never a number. The status is, in this order:

    - "not_applicable": more than half of the drawn votes say so;
    - "error": the quorum of valid scores is missed, and too few votes were answers at all;
    - "inconclusive": the quorum is missed because the judge abstained or was split over whether the
      criterion applies, or the votes tie (a majority rule with equal counts; a gate split in half);
    - "ok": a score on the criterion's scale. An even number of ordinal votes has a median (the mean of
      the middle two), so it does not tie.

    Reason and evidence come from one vote that stands at the result or nearest to it; among equals the
    lower score, then the lower sample index.

    Args:
        votes: Every drawn vote, failed ones included.
        quorum: Valid scores needed; None for more than half of the drawn votes.
    """
    drawn = tuple(sorted(votes, key=_place)) if len(votes) > 1 else tuple(votes)
    valid = [vote for vote in drawn if vote.status == "ok" and vote.score is not None]
    scores = [vote.score for vote in valid if vote.score is not None]
    not_applicable = sum(vote.status == "not_applicable" for vote in drawn)
    need = len(drawn) // 2 + 1 if quorum is None else quorum
    used = chosen_rule(rule, criterion.scale)
    score: float | None = None
    tie = False
    status: VerdictStatus
    if drawn and 2 * not_applicable > len(drawn):
        status = "not_applicable"
    elif not valid or len(valid) < need:
        answered = sum(vote.status in ANSWERED for vote in drawn)
        status = "inconclusive" if drawn and answered >= need else "error"
    else:
        used, score = apply(used, valid, scores)
        tie = score is None or (_split(score, criterion, used))
        score = None if tie else score
        status = "inconclusive" if tie else "ok"
    speaker = _speaker(status, score, drawn, valid)
    return CriterionResult(
        id=criterion.id,
        status=status,
        score=score,
        scale=criterion.scale,
        reason=_reason(status, tie, drawn, speaker, need),
        evidence=speaker.evidence if speaker else (),
        votes=drawn,
        n_ok=len(valid),
        n_failed=len(drawn) - len(valid) - not_applicable,
        n_not_applicable=not_applicable,
        spread=max(scores) - min(scores) if len(scores) > 1 else None,
        agreement=max(Counter(scores).values()) / len(scores) if scores else None,
        rule=used,
        tie=tie,
        gate=criterion.gate,
        passed=_passed(score, criterion) if criterion.gate and score is not None else None,
    )


def _place(vote: Vote) -> tuple[int, str, float, str]:
    return vote.sample, vote.status, -1.0 if vote.score is None else vote.score, vote.reason


def _split(score: float, criterion: Criterion, rule: VoteRule) -> bool:
    """Whether a binary result stands exactly between pass and fail where one of them is needed."""
    if not isinstance(criterion.scale, BinaryScale) or score != 0.5:
        return False
    return criterion.gate or rule == "median"


def _passed(score: float, criterion: Criterion) -> bool:
    """A binary gate passes by more than half of its votes; another one at its `gate_min`."""
    return score > 0.5 if isinstance(criterion.scale, BinaryScale) else score >= criterion.pass_mark


def _speaker(status: VerdictStatus, score: float | None, drawn: Sequence[Vote], valid: Sequence[Vote]) -> Vote | None:
    if status == "ok" and score is not None:
        middle = score
        return min(valid, key=lambda vote: (abs((vote.score or 0.0) - middle), vote.score, *_place(vote)))
    if status == "not_applicable":
        return next(vote for vote in drawn if vote.status == "not_applicable")
    return None


def _reason(status: VerdictStatus, tie: bool, drawn: Sequence[Vote], speaker: Vote | None, need: int) -> str:
    if speaker is not None:
        return speaker.reason
    if not drawn:
        return "No vote was drawn."
    counts = Counter(_name(vote, scored=tie) for vote in drawn)
    listed = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    if tie:
        return f"The votes tie: {listed}."
    n_ok = sum(vote.status == "ok" for vote in drawn)
    lead = "The judge did not settle on a score" if status == "inconclusive" else "Too few valid votes"
    said = next((vote.reason for vote in drawn if vote.status == "abstain" and vote.reason), "")
    why = f" It says: {said}" if said and status == "inconclusive" else ""
    return f"{lead}: {n_ok} of {len(drawn)} votes are valid, {need} needed ({listed}).{why}"


def _name(vote: Vote, *, scored: bool) -> str:
    if scored and vote.status == "ok" and vote.score is not None:
        return f"for {vote.score:g}"
    return vote.status
