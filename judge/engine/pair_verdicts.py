"""Samples of both orders of a pair → its verdict, with everything that a reader may ask about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judge.engine.draw import Sample
from judge.engine.pairing import Pair
from judge.engine.setup import Setup
from judge.prompt import Prompt
from judge.prompt.pairwise_parse import PREFERENCE
from judge.prompt.pairwise_text import FIRST, SECOND, TIE
from judge.types.pair import PairCite, PairVerdict, PairVote, Side
from judge.types.record import fingerprint
from judge.types.reference import Reference
from judge.types.verdict import JudgementError, Trust, Vote
from judge.voting import add_known, add_usage
from judge.voting.pair_votes import both_orders, criterion_result, rubric_winner, why_of
from judge.voting.tally import ANSWERED

UNTESTED = (
    "Untested: a certificate is of scores of single runs, and none is of pairs. Order agreement and, with --labels, "
    "agreement with people are in the report."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One order of a pair: what was asked, or None where it did not fit, and the samples."""

    first: Side
    prompt: Prompt | None
    samples: tuple[Sample, ...]


def pair_verdict(
    setup: Setup, pair: Pair, reference: Reference | None, asked: Sequence[Asked], *, seconds: float
) -> PairVerdict:
    """The verdict that the samples of both orders give."""
    rubric = setup.rubric
    criteria = tuple(
        criterion_result(
            criterion.id,
            {one.first: [_pair_vote(sample.votes[criterion.id], one.first) for sample in one.samples] for one in asked},
        )
        for criterion in rubric.criteria
    )
    first, second = (
        rubric_winner(rubric, {criterion.id: criterion.orders[place].winner for criterion in criteria})
        for place in (0, 1)
    )
    winner = both_orders(first, second)
    samples = [sample for one in asked for sample in one.samples]
    cuts = tuple(dict.fromkeys(cut for one in asked if one.prompt is not None for cut in one.prompt.cuts))
    return PairVerdict(
        a=pair.a.id,
        b=pair.b.id,
        task=pair.task,
        contestants=pair.contestants,
        rubric=rubric.id,
        judge=setup.spec.name,
        winner=winner,
        why=why_of(winner, (first, second), criteria),
        orders=(first, second),
        criteria=criteria,
        trust=Trust(state="uncertified", reasons=(UNTESTED,)),
        reference=reference.status if reference else "none",
        usage=add_usage([usage for sample in samples for usage in sample.usages]),
        cost_usd=add_known(sample.cost_usd for sample in samples),
        seconds=seconds,
        calls=sum(sample.calls for sample in samples),
        cached=sum(sample.recalled for sample in samples),
        truncated=bool(cuts) or any(one.prompt is None for one in asked),
        cuts=cuts,
        dropped_params=tuple(dict.fromkeys(name for sample in samples for name in sample.dropped)),
        warnings=_warnings(setup, reference, asked),
        errors=tuple(error for one in asked for error in _errors(one)),
        fingerprints=_fingerprints(setup, pair, reference, asked),
    )


def _pair_vote(vote: Vote, first: Side) -> PairVote:
    """A vote on the run that stood first (see `judge.prompt.pairwise_parse`) under the pair's own names."""
    sides: dict[str, Side] = {FIRST: first, SECOND: "b" if first == "a" else "a"}
    word = next((word for word, score in PREFERENCE.items() if score == vote.score), None)
    cites = vote.detail["evidence"] if vote.detail else []
    return PairVote(
        status=vote.status,
        preferred=None if word is None else "tie" if word == TIE else sides[word],
        reason=vote.reason,
        evidence=tuple(PairCite(run=sides[place], step=step, quote=quote) for place, step, quote in cites),
        sample=vote.sample,
        attempts=vote.attempts,
        cached=vote.cached,
        repaired=vote.repaired,
        served_model=vote.served_model,
        message=vote.message,
        raw_head=vote.raw_head,
        usage=vote.usage,
    )


def _errors(asked: Asked) -> list[JudgementError]:
    return [
        JudgementError(
            kind=sample.kind or vote.status,
            message=f"When {asked.first} stood first: {vote.message or vote.status}",
            attempts=vote.attempts,
            raw_head=vote.raw_head,
            criterion=name if len(sample.votes) > 1 else None,
            sample=sample.index,
            finish_reason=sample.finish_reason,
        )
        for sample in asked.samples
        for name, vote in sample.votes.items()
        if vote.status not in ANSWERED
    ]


def _warnings(setup: Setup, reference: Reference | None, asked: Sequence[Asked]) -> tuple[str, ...]:
    out = list(setup.warnings)
    if reference is None:
        out.append("No reference was given: a judge without one misses more failed runs.")
    prompts = [one.prompt.request.segments for one in asked if one.prompt is not None]
    if len(prompts) == 2 and prompts[0] == prompts[1]:
        out.append("Both runs say the same: only a tie is right.")
    return tuple(out)


def _fingerprints(setup: Setup, pair: Pair, reference: Reference | None, asked: Sequence[Asked]) -> dict[str, str]:
    out = {"a": pair.a.content_fingerprint, "b": pair.b.content_fingerprint, **setup.fingerprints}
    for one in asked:
        if one.prompt is not None:
            request = one.prompt.request
            body = [request.system, list(request.segments), request.reply_name, request.reply_schema]
            out[f"prompt_{one.first}_first"] = fingerprint(body)
    if reference is not None:
        out["reference"] = reference.fingerprint
    return out
