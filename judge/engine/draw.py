"""One sample of one trajectory: the call, its retries, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from judge.engine.budget import Budget, Purse
from judge.engine.connection import Connection
from judge.engine.setup import Setup
from judge.errors import ContextOverflow, JudgeError, ProviderError, TerminalError
from judge.prompt import Prompt, parse
from judge.providers.redaction import redact
from judge.types.request import Reply, Request, Sampling
from judge.types.trajectory import Trajectory, Usage
from judge.types.verdict import Vote, VoteStatus
from judge.voting.tally import ANSWERED
from judge.voting.usage import add_known

RETRIED_ONCE = frozenset({"truncated", "refusal", "content_filter"})
"""Reply statuses that one more try may cure and a third hardly will."""
BILLED = frozenset({"timeout", "bad_response"})
"""Reasons of a failed call that the provider may have billed: it counts with its whole estimate."""
LARGER = 2
"""Factor on `max_output_tokens` for the retry of a truncated reply."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample's votes by criterion id, and what they took.

    Attributes:
        calls: Judge calls that this run made for it; 0 when it came from the cache.
        usages: Of each call that was answered; None where the provider did not say.
        cost_usd: Of those calls; None when one is not known.
        kind: Why there is no reply, for the summary, e.g. "rate_limit"; None when there is one.
    """

    index: int
    votes: dict[str, Vote]
    calls: int = 0
    usages: tuple[Usage | None, ...] = ()
    cost_usd: float | None = 0.0
    finish_reason: str | None = None
    dropped: tuple[str, ...] = ()
    kind: str | None = None

    @property
    def answered(self) -> bool:
        """Whether every criterion got an answer, be it an abstention."""
        return all(vote.status in ANSWERED for vote in self.votes.values())


def numbered(request: Request, index: int) -> Request:
    """The request of one more draw of the same prompt."""
    return request if request.sample == index else request.model_copy(update={"sample": index})


def recall(setup: Setup, connection: Connection, trajectory: Trajectory, request: Request) -> Sample | None:
    """The sample that the cache holds, parsed anew, or None. A kept reply that no longer parses is a miss."""
    reply = connection.hit(request)
    if reply is None:
        return None
    votes = parse(reply, setup.rubric, trajectory, sample=request.sample)
    found = Sample(request.sample, votes, dropped=reply.dropped, finish_reason=reply.finish_reason)
    return found if found.answered else None


async def draw(
    setup: Setup,
    connection: Connection,
    budget: Purse,
    trajectory: Trajectory,
    prompt: Prompt,
    index: int,
    check: Callable[[], None],
    item: Budget | None = None,
) -> Sample:
    """Asks the judge for one sample, again while the reply is of no use and tries are left.

    A reply in which every criterion got an answer is kept in the cache, under the first try's key. Otherwise the
    try with the most answers counts (the latest of equals): it is chosen by what came back, never by
    the score.

    Args:
        check: Raises when the run has been stopped; asked before each call.
        item: Money for this trajectory alone; a call that does not fit is not made, and its votes say so.

    Raises:
        TerminalError, BudgetReached: The run has to stop.
    """
    base = numbered(prompt.request, index)
    request = base
    spent = _Spent()
    seen: set[str] = set()
    check()
    sample, reply = await _try(setup, connection, budget, trajectory, prompt, request, spent, item)
    best = sample
    for attempt in range(1, setup.retries + 1):
        if reply is None or sample.answered:
            break
        sampling = _again(reply, seen, request.sampling, prompt.tokens, connection.context_tokens)
        if sampling is None:
            break
        request = base.model_copy(update={"attempt": attempt, "sampling": sampling})
        check()
        sample, reply = await _try(setup, connection, budget, trajectory, prompt, request, spent, item)
        if _answers(sample) >= _answers(best) and reply is not None:
            best = sample
    if reply is not None and sample.answered:
        connection.keep(base, reply.model_copy(update={"attempts": spent.requests}))
    return _with_totals(best, spent, setup)


class _Spent:
    """Running totals of one sample's tries."""

    def __init__(self) -> None:
        self.calls = 0
        self.requests = 0
        self.usages: list[Usage | None] = []
        self.costs: list[float | None] = []


async def _try(
    setup: Setup,
    connection: Connection,
    budget: Purse,
    trajectory: Trajectory,
    prompt: Prompt,
    request: Request,
    spent: _Spent,
    item: Budget | None,
) -> tuple[Sample, Reply | None]:
    estimate = estimated(setup, connection, prompt, request)
    if estimate is not None:
        if item is not None and not item.admit(estimate):
            return _no_reply(setup, request, "provider_error", "item_budget", item.reached(estimate)), None
        try:
            await budget.reserve(estimate)
        except BaseException:
            if item is not None:
                item.release(estimate)
            raise
    cost: float | None = None
    billed = False
    try:
        spent.calls += 1
        reply = await connection.complete(request)
        billed = True
        cost = _cost(connection, reply.usage)
    except TerminalError:
        raise
    except ContextOverflow as error:
        spent.requests += 1
        return _no_reply(setup, request, "context_overflow", "context_overflow", error), None
    except ProviderError as error:
        spent.requests += getattr(error, "attempts", 1)
        billed = error.reason in BILLED
        return _no_reply(setup, request, "provider_error", error.reason, error), None
    finally:
        for purse in (budget, item):
            if estimate is not None and purse is not None:
                if billed:
                    purse.settle(estimate, cost)
                else:
                    purse.release(estimate)
    spent.requests += reply.attempts
    spent.usages.append(reply.usage)
    spent.costs.append(cost)
    votes = parse(reply, setup.rubric, trajectory, sample=request.sample)
    return Sample(request.sample, votes, finish_reason=reply.finish_reason, dropped=reply.dropped), reply


def estimated(setup: Setup, connection: Connection, prompt: Prompt, request: Request) -> float | None:
    """Most that the call can cost in US dollars; None where no cap is set or nothing is paid."""
    if not setup.capped or connection.offline:
        return None
    output = request.sampling.max_output_tokens + (request.sampling.thinking_tokens or 0)
    return connection.price(Usage(input_tokens=prompt.tokens, output_tokens=output))


def _cost(connection: Connection, usage: Usage | None) -> float | None:
    if connection.offline:
        return 0.0
    if usage is None:
        return None
    return usage.cost_usd if usage.cost_usd is not None else connection.price(usage)


def _again(
    reply: Reply, seen: set[str], sampling: Sampling, prompt_tokens: int, context_tokens: int | None
) -> Sampling | None:
    """Sampling of the next try after a reply of no use, or None when a further try is not worth its price.

    A truncated reply is tried once more with more room, unless the context has none.
    """
    if reply.status not in RETRIED_ONCE:
        return sampling
    if reply.status in seen:
        return None
    seen.add(reply.status)
    if reply.status != "truncated":
        return sampling
    most = sampling.max_output_tokens * LARGER
    if context_tokens is not None:
        most = min(most, context_tokens - prompt_tokens - (sampling.thinking_tokens or 0))
    return sampling.model_copy(update={"max_output_tokens": most}) if most > sampling.max_output_tokens else None


def _no_reply(setup: Setup, request: Request, status: VoteStatus, kind: str, error: JudgeError) -> Sample:
    votes = {
        criterion.id: Vote(status=status, sample=request.sample, message=str(error))
        for criterion in setup.rubric.criteria
    }
    return Sample(request.sample, votes, kind=kind)


def _answers(sample: Sample) -> int:
    return sum(vote.status in ANSWERED for vote in sample.votes.values())


def _with_totals(sample: Sample, spent: _Spent, setup: Setup) -> Sample:
    """The sample with what all tries took, and nothing secret in what failed votes show."""
    votes = {}
    for name, vote in sample.votes.items():
        change: dict[str, object] = {}
        if vote.attempts != spent.requests:
            change["attempts"] = spent.requests
        if vote.status not in ANSWERED:
            for field in ("message", "raw_head"):
                text = getattr(vote, field)
                if text:
                    change[field] = redact(text, setup.secrets)
        votes[name] = vote.model_copy(update=change) if change else vote
    return Sample(
        index=sample.index,
        votes=votes,
        calls=spent.calls,
        usages=tuple(spent.usages),
        cost_usd=add_known(spent.costs),
        finish_reason=sample.finish_reason,
        dropped=sample.dropped,
        kind=sample.kind,
    )
