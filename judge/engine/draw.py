"""One sample of one trajectory, or several by one request: the call, its retries, and what they cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from judge.engine.budget import Budget, Purse
from judge.engine.connection import Connection, SharingConnection
from judge.engine.setup import Setup
from judge.errors import ContextOverflow, JudgeError, Overloaded, ProviderError, TerminalError
from judge.prompt import Prompt
from judge.providers.failures import may_be_billed
from judge.providers.redaction import redact
from judge.types.request import Reply, Request, Sampling
from judge.types.trajectory import Trajectory, Usage
from judge.types.verdict import Vote, VoteStatus
from judge.voting.tally import ANSWERED
from judge.voting.usage import add_at_most, add_known

Drawn = TypeVar("Drawn")

RETRIED_ONCE = frozenset({"truncated", "refusal", "content_filter"})
"""Reply statuses that one more try may cure and a third hardly will."""
LARGER = 2
"""Factor on `max_output_tokens` for the retry of a truncated reply."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample's votes by criterion id, and what they took.

    Attributes:
        calls: Judge calls that this run made for it; 0 when it came from the cache, or with another sample's call.
        recalled: Whether it came from the cache.
        usages: Of each call that was answered, or may have been billed; None where the provider did not say.
        cost_usd: Of those calls; None when one is not known. `at_most_usd` then counts it with its whole estimate.
        kind: Why there is no reply, for the summary, e.g. "rate_limit"; None when there is one.
    """

    index: int
    votes: dict[str, Vote]
    calls: int = 0
    usages: tuple[Usage | None, ...] = ()
    cost_usd: float | None = 0.0
    at_most_usd: float | None = None
    finish_reason: str | None = None
    dropped: tuple[str, ...] = ()
    kind: str | None = None
    recalled: bool = False

    @property
    def answered(self) -> bool:
        """Whether every criterion got an answer, be it an abstention."""
        return all(vote.status in ANSWERED for vote in self.votes.values())


@dataclass(frozen=True, slots=True)
class Asking:
    """What the samples of one trajectory are drawn with.

    Attributes:
        check: Raises when the run has been stopped; asked before each call.
        item: Money for this trajectory alone; a call that does not fit is not made, and its votes say so.
        seated: Whether others judge beside this judge: then its overload fails its votes alone, and stops nobody.
    """

    setup: Setup
    connection: Connection
    budget: Purse
    trajectory: Trajectory
    prompt: Prompt
    check: Callable[[], None]
    item: Budget | None = None
    seated: bool = False


@dataclass(frozen=True, slots=True)
class _Failed:
    """Why a call gave no reply."""

    status: VoteStatus
    kind: str
    error: JudgeError


def numbered(request: Request, index: int) -> Request:
    """The request of one more draw of the same prompt."""
    return request if request.sample == index else request.model_copy(update={"sample": index})


def recall(setup: Setup, connection: Connection, trajectory: Trajectory, request: Request) -> Sample | None:
    """The sample that the cache holds, parsed anew, or None. A kept reply that no longer parses is a miss."""
    reply = connection.hit(request)
    if reply is None:
        return None
    votes = setup.parse(reply, setup.rubric, trajectory, sample=request.sample)
    found = Sample(request.sample, votes, dropped=reply.dropped, finish_reason=reply.finish_reason, recalled=True)
    return found if found.answered else None


async def draw(asking: Asking, index: int) -> Sample:
    """Asks the judge for one sample, again while the reply is of no use and tries are left.

    A reply in which every criterion got an answer is kept in the cache, under the first try's key. Otherwise the
    try with the most answers counts (the latest of equals): it is chosen by what came back, never by
    the score.

    Raises:
        TerminalError, BudgetReached: The run has to stop.
    """
    request = numbered(asking.prompt.request, index)
    spent = _Spent()
    asking.check()
    got = await _call(asking, request, 1, spent)
    return await _settled(asking, request, got if isinstance(got, _Failed) else got[0], spent)


async def draw_together(asking: Asking, indices: Sequence[int]) -> list[Sample]:
    """Asks the judge for several samples in one request, then for each as `draw` does where its reply is of no use.

    The call counts with the first sample, what it used is split over all of them. Each reply is kept in the cache
    under its own sample's key, the same that it would have had alone. Where the server answers one at a time, or
    the money for this trajectory does not reach for all at once, the samples are asked one by one.

    Args:
        indices: At least two, each of them neither drawn nor in the cache.

    Raises:
        TerminalError, BudgetReached: The run has to stop.
    """
    requests = [numbered(asking.prompt.request, index) for index in indices]
    estimate = estimated(asking.setup, asking.connection, asking.prompt, requests[0], len(indices))
    if asking.item is not None and estimate is not None and not asking.item.fits(estimate):
        return await all_of(*(draw(asking, index) for index in indices))
    asking.check()
    tallies = [_Spent() for _ in indices]
    got = await _call(asking, requests[0], len(indices), tallies[0])
    firsts: Sequence[Reply | _Failed] = [got] * len(indices) if isinstance(got, _Failed) else got
    for tally, first in zip(tallies[1:], firsts[1:], strict=False):
        tally.requests = tallies[0].requests
        if isinstance(first, Reply):
            tally.add(asking.connection, first, 0.0)  # the whole request's estimate is with the first
    settled = [
        _settled(asking, request, first, tally)
        for request, first, tally in zip(requests, firsts, tallies, strict=False)
    ]
    return await all_of(*settled, *(draw(asking, index) for index in indices[len(firsts) :]))


async def all_of(*asked: Coroutine[Any, Any, Drawn]) -> list[Drawn]:
    """What each gives, in order; the first error only after all have ended, so that no paid reply is lost."""
    out = []
    for got in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(got, BaseException):
            raise got
        out.append(got)
    return out


async def _settled(asking: Asking, base: Request, first: Reply | _Failed, spent: _Spent) -> Sample:
    """The sample that a first reply gives, or a further try where that reply is of no use."""
    setup, connection, prompt = asking.setup, asking.connection, asking.prompt
    request, reply = base, first
    seen: set[str] = set()
    best = sample = _sample(asking, request, reply)
    for attempt in range(1, setup.retries + 1):
        if isinstance(reply, _Failed) or sample.answered:
            break
        sampling = _again(reply, seen, request.sampling, prompt.tokens, connection.context_tokens)
        if sampling is None:
            break
        request = base.model_copy(update={"attempt": attempt, "sampling": sampling})
        asking.check()
        got = await _call(asking, request, 1, spent)
        reply = got if isinstance(got, _Failed) else got[0]
        sample = _sample(asking, request, reply)
        if _answers(sample) >= _answers(best) and not isinstance(reply, _Failed):
            best = sample
    if not isinstance(reply, _Failed) and sample.answered:
        connection.keep(base, reply.model_copy(update={"attempts": spent.requests}))
    return _with_totals(best, spent, setup)


class _Spent:
    """Running totals of one sample's tries."""

    def __init__(self) -> None:
        self.calls = 0
        self.requests = 0
        self.usages: list[Usage | None] = []
        self.costs: list[float | None] = []
        self.mosts: list[float | None] = []

    def add(self, connection: Connection, reply: Reply, most_usd: float | None) -> None:
        """Counts what one reply used, at `most_usd` where that is not known."""
        self.usages.append(reply.usage)
        self.costs.append(cost_of(connection, reply.usage))
        self.mosts.append(most_usd)

    def untold(self, tries: int, most_usd: float | None) -> None:
        """Counts failed tries that may have been billed, at `most_usd` each if so: what they used is not known."""
        for _ in range(tries):
            self.usages.append(None)
            self.costs.append(0.0 if most_usd == 0 else None)
            self.mosts.append(most_usd)


async def _call(asking: Asking, request: Request, copies: int, spent: _Spent) -> Sequence[Reply] | _Failed:
    """One call, paid from both budgets. Counts the call, its HTTP requests and its first reply in `spent`."""
    connection, budget, item = asking.connection, asking.budget, asking.item
    estimate = estimated(asking.setup, connection, asking.prompt, request, copies)
    if estimate is not None:
        if item is not None and not item.admit(estimate):
            return _Failed("provider_error", "item_budget", item.reached(estimate))
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
        if copies > 1 and isinstance(connection, SharingConnection):
            replies: Sequence[Reply] = await connection.complete_together(request, copies)
        else:
            replies = (await connection.complete(request),)
        billed = True
        cost = add_known([cost_of(connection, reply.usage) for reply in replies])
    except ContextOverflow as error:
        spent.requests += 1
        return _Failed("context_overflow", "context_overflow", error)
    except ProviderError as error:
        untold = may_be_billed(error)
        billed = untold > 0
        if isinstance(error, TerminalError) and not (asking.seated and isinstance(error, Overloaded)):
            raise
        spent.requests += error.attempts
        spent.untold(untold, most(connection, asking.prompt.tokens, request, copies))
        return _Failed("provider_error", error.reason, error)
    finally:
        for purse in (budget, item):
            if estimate is not None and purse is not None:
                if billed:
                    purse.settle(estimate, cost)
                else:
                    purse.release(estimate)
    spent.requests += replies[0].attempts
    most_usd = most(connection, asking.prompt.tokens, request, copies)
    spent.add(connection, replies[0], most_usd)
    spent.untold(replies[0].untold, most_usd)
    return replies


def _sample(asking: Asking, request: Request, reply: Reply | _Failed) -> Sample:
    rubric = asking.setup.rubric
    if isinstance(reply, _Failed):
        votes = {
            criterion.id: Vote(status=reply.status, sample=request.sample, message=str(reply.error))
            for criterion in rubric.criteria
        }
        return Sample(request.sample, votes, kind=reply.kind)
    votes = asking.setup.parse(reply, rubric, asking.trajectory, sample=request.sample)
    return Sample(request.sample, votes, finish_reason=reply.finish_reason, dropped=reply.dropped)


def estimated(setup: Setup, connection: Connection, prompt: Prompt, request: Request, copies: int = 1) -> float | None:
    """Most that a call for so many samples can cost in US dollars; None where no cap is set or nothing is paid."""
    if not setup.capped or connection.offline:
        return None
    return most(connection, prompt.tokens, request, copies)


def most(connection: Connection, tokens: int, request: Request, copies: int = 1) -> float | None:
    """Most that a call with a prompt of `tokens` can cost in US dollars; None where the price is not known."""
    output = request.sampling.max_output_tokens + (request.sampling.thinking_tokens or 0)
    plain = Usage(input_tokens=tokens, output_tokens=output * copies)
    prices = [connection.price(plain)]
    if request.repeated:  # some providers take more for input that they keep in their prompt cache
        prices.append(connection.price(plain.model_copy(update={"cache_creation_input_tokens": tokens})))
    known = [price for price in prices if price is not None]
    return max(known, default=None)


def cost_of(connection: Connection, usage: Usage | None) -> float | None:
    """What an answered call cost in US dollars; 0 for a judge that calls nobody, None where it is not known."""
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
        at_most_usd=add_at_most(zip(spent.costs, spent.mosts, strict=True)),
        finish_reason=sample.finish_reason,
        dropped=sample.dropped,
        kind=sample.kind,
    )
