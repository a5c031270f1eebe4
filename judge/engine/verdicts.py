"""Samples of one trajectory → its verdict, with everything that a reader may ask about."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import orjson

from judge.engine.draw import Sample
from judge.engine.setup import Setup
from judge.errors import ContextOverflow
from judge.prompt import Prompt
from judge.types.reference import Reference
from judge.types.rubric import RangeScale
from judge.types.trajectory import Trajectory
from judge.types.verdict import CriterionResult, JudgementError, Verdict, Vote
from judge.voting import add_at_most, add_known, add_usage, overall, tally
from judge.voting.tally import ANSWERED


def make_verdict(
    setup: Setup,
    trajectory: Trajectory,
    reference: Reference | None,
    prompt: Prompt,
    samples: Sequence[Sample],
    *,
    seconds: float | None,
) -> Verdict:
    """The verdict that the samples give.

    `calls`, `usage` and `cost_usd` are of this run: what came from the cache cost nothing now.
    """
    rubric = setup.rubric
    results = tuple(
        tally([sample.votes[criterion.id] for sample in samples], criterion, rule=setup.vote)
        for criterion in rubric.criteria
    )
    whole = overall(rubric, results)
    live = [sample for sample in samples if not sample.recalled]
    dropped = tuple(dict.fromkeys(name for sample in samples for name in sample.dropped))
    return Verdict(
        trajectory_id=trajectory.id,
        group=trajectory.group,
        rubric=rubric.id,
        judge=setup.spec.name,
        status=whole.status,
        score=whole.score,
        scale=whole.scale,
        passed=whole.passed,
        reason=whole.reason,
        criteria=results,
        trust=setup.standing.of(trajectory, _served(results), whole.score),
        reference=reference.status if reference else "none",
        usage=add_usage([usage for sample in live for usage in sample.usages]),
        cost_usd=add_known(sample.cost_usd for sample in live),
        at_most_usd=add_at_most((sample.cost_usd, sample.at_most_usd) for sample in live),
        seconds=seconds,
        calls=sum(sample.calls for sample in live),
        cached=len(samples) - len(live),
        truncated=prompt.truncated,
        cuts=prompt.cuts,
        dropped_params=dropped,
        warnings=_warnings(setup, reference, results),
        errors=tuple(error for sample in samples for error in _errors(sample)),
        fingerprints=_fingerprints(setup, trajectory, reference, prompt),
    )


def overflow_verdict(
    setup: Setup, trajectory: Trajectory, reference: Reference | None, error: ContextOverflow
) -> Verdict:
    """The verdict on a trajectory that does not fit the judge: an error and no score."""
    rubric = setup.rubric
    only = rubric.criteria[0].scale if len(rubric.criteria) == 1 else RangeScale(min=0, max=1)
    vote = Vote(status="context_overflow", message=str(error), attempts=0)
    return Verdict(
        trajectory_id=trajectory.id,
        group=trajectory.group,
        rubric=rubric.id,
        judge=setup.spec.name,
        status="error",
        score=None,
        scale=only,
        reason=str(error),
        criteria=tuple(tally([vote], criterion, rule=setup.vote) for criterion in rubric.criteria),
        trust=setup.standing.of(trajectory, (), None),
        reference=reference.status if reference else "none",
        usage=add_usage(()),
        cost_usd=0.0,
        truncated=True,
        warnings=_warnings(setup, reference, ()),
        errors=(JudgementError(kind="context_overflow", message=str(error), attempts=0),),
        fingerprints=_fingerprints(setup, trajectory, reference, None),
    )


def _served(results: Sequence[CriterionResult]) -> list[str]:
    """The models that answered, as far as the provider says which."""
    return sorted({vote.served_model for result in results for vote in result.votes if vote.served_model})


def _warnings(setup: Setup, reference: Reference | None, results: Sequence[CriterionResult]) -> tuple[str, ...]:
    out = list(setup.warnings)
    if reference is None:
        out.append("No reference was given: a judge without one misses more failed runs.")
    if setup.vote == "expected":
        plain = [result.id for result in results if result.status == "ok" and result.rule != "expected"]
        if plain:
            out.append(f"No token probabilities for {', '.join(plain)}: the plain mean was used instead.")
    return tuple(out)


def _errors(sample: Sample) -> list[JudgementError]:
    """One error for a reply that failed as a whole, else one for each criterion that failed."""
    failed = [(name, vote) for name, vote in sample.votes.items() if vote.status not in ANSWERED]
    if not failed:
        return []
    alike = len(failed) == len(sample.votes) and len({(vote.status, vote.message) for _, vote in failed}) == 1
    return [
        JudgementError(
            kind=sample.kind or vote.status,
            message=vote.message or f"The vote failed: {vote.status}.",
            attempts=vote.attempts,
            raw_head=vote.raw_head,
            criterion=None if alike and len(sample.votes) > 1 else name,
            sample=sample.index,
            finish_reason=sample.finish_reason,
        )
        for name, vote in (failed[:1] if alike else failed)
    ]


def _fingerprints(
    setup: Setup, trajectory: Trajectory, reference: Reference | None, prompt: Prompt | None
) -> dict[str, str]:
    out = {"trajectory": trajectory.content_fingerprint, **setup.fingerprints}
    if prompt is not None:
        out["prompt"] = _prompt_fingerprint(prompt)
    if reference is not None:
        out["reference"] = reference.fingerprint
    return out


def _prompt_fingerprint(prompt: Prompt) -> str:
    request = prompt.request
    body = [request.system, request.segments, request.reply_name, request.reply_schema]
    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()
