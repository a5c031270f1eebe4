"""One opened judge: its provider, with limits, the one retry layer, the cache and the price around it."""

from __future__ import annotations

import asyncio
import copy
import difflib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from pydantic import ValidationError

from judge.config import Settings
from judge.errors import ProviderError, RetryableError, TerminalError, UnknownName
from judge.protocols import Cache, Provider, SharedCache, SharingProvider
from judge.providers.claims import claimed
from judge.providers.failures import BILLED
from judge.providers.key import RunKeys, cache_key
from judge.providers.limits import Pace, PerLoop
from judge.providers.prices import Price, price_of
from judge.providers.quota import Quota, Ticket
from judge.providers.retry import backoff
from judge.providers.room import Room
from judge.registry import find, names, unknown
from judge.types.request import Reply, Request, Sharing
from judge.types.trajectory import Usage

Sleep = Callable[[float], Awaitable[Any]]
MISSES = 2
"""Requests that the cache did not hold whose keys are remembered until their replies are kept, as a multiple of the
concurrency."""
OVERLOADED = frozenset({429, 503, 529})
"""Statuses that say the provider has no capacity: all callers slow down, not only the one that was refused."""


class _Lane:
    """The limits of one running loop."""

    def __init__(self, room: Room, pace: Pace | None, quota: Quota) -> None:
        self.room = room
        self.pace = pace
        self.quota = quota


class Connection:
    """An opened judge. Made by `connect`.

    Attributes:
        name: The judge's full name, e.g. "openai/gpt-4o".
        provider, model: Its two parts.
        host: Host that is contacted (with its port), or None where no request leaves the process.
        offline: True for judges that answer from the request's subject and call no model.
        context_tokens: Tokens that prompt and reply may take together, or None where unknown.
        most_at_once: Calls that a judge in this process takes at once, or None where only settings limit them.
        requests: Calls of `complete` that reached the provider, retries included.
        keeps: Whether replies of this judge go into a cache, where there is one.
    """

    def __init__(
        self,
        opened: Provider,
        *,
        provider: str,
        model: str,
        settings: Settings,
        cache: Cache | None,
        sleep: Sleep,
        clock: Callable[[], float],
        draw: Callable[[], float],
    ) -> None:
        self.name = opened.name
        self.provider = provider
        self.model = model
        self.host: str | None = getattr(opened, "host", None)
        self.offline = opened.offline
        self.context_tokens = opened.context_tokens
        self.requests = 0
        self._opened = opened
        self._sharing = opened if isinstance(opened, SharingProvider) else None
        self._settings = settings
        self.keeps: bool = getattr(opened, "cacheable", not opened.offline)
        self._cache = cache if self.keeps else None
        self._shared_cache = self._cache if isinstance(self._cache, SharedCache) else None
        self._keys = RunKeys(self.payload) if getattr(opened, "sends_as_it_is", False) else None
        self._missed: dict[int, tuple[Request, str]] = {}
        self._sleep = sleep
        self._clock = clock
        self._draw = draw
        self._terminal: TerminalError | None = None
        self._price: Price | None = price_of(self.name, settings, free=opened.offline or provider == "local")
        limits = settings.provider(provider)
        self.most_at_once: int | None = getattr(opened, "most_at_once", None)
        concurrency = limits.concurrency or settings.concurrency
        self._concurrency = min(concurrency, self.most_at_once or concurrency)
        self._limits = limits
        self._lanes = PerLoop(self._lane)

    def _lane(self) -> _Lane:
        limits = self._limits
        per_minute = limits.requests_per_minute
        return _Lane(
            Room(
                self.name,
                self._concurrency,
                longest=self._settings.max_wait_s,
                tries=self._settings.http_retries + 1,
                clock=self._clock,
                draw=self._draw,
            ),
            Pace(per_minute, clock=self._clock, sleep=self._sleep) if per_minute else None,
            Quota(tokens_per_minute=limits.tokens_per_minute, clock=self._clock, sleep=self._sleep),
        )

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` for this model, exact or an overestimate."""
        return self._opened.count_tokens(text)

    def payload(self, request: Request) -> dict[str, Any]:
        """The call as it would be sent at the first attempt, with the effective host and without secrets."""
        return self._opened.payload(request if request.attempt == 0 else request.model_copy(update={"attempt": 0}))

    def key(self, request: Request) -> str:
        """Cache key: sha256 of everything that can change the reply, the sample index included."""
        return cache_key(self.payload, request) if self._keys is None else self._keys.of(request)

    def hit(self, request: Request) -> Reply | None:
        """The kept reply of this sample, or None. A retry (`attempt` > 0) never reads the cache."""
        if self._cache is None or request.attempt > 0:
            return None
        key = self.key(request)
        text = self._cache.get(key)
        if text is None:
            self._missed[id(request)] = request, key
            while len(self._missed) > MISSES * self._concurrency:
                del self._missed[next(iter(self._missed))]
            return None
        try:
            reply = Reply.model_validate_json(text)
        except ValidationError:
            return None
        return reply.model_copy(update={"cached": True})

    def keep(self, request: Request, reply: Reply) -> None:
        """Put a reply into the cache. Only for replies that parsed to a valid vote: the caller knows."""
        if self._cache is not None and not reply.cached:
            missed = self._missed.pop(id(request), None)  # the request is held with it, so that the id is its own
            key = missed[1] if missed is not None and missed[0] is request else self.key(request)
            self._cache.put(key, reply.model_dump_json(exclude_none=True))

    @property
    def shares_cache(self) -> bool:
        """Whether other processes may use the cache at the same moment, so that `alone` can make one wait."""
        return self._shared_cache is not None

    @asynccontextmanager
    async def alone(self, request: Request) -> AsyncIterator[bool]:
        """Lets one process at a time ask for the reply to `request`, where the cache is shared by several.

        Yields whether the cache may hold the reply by now: then look once more before asking. Samples are requests of
        their own, and each is asked for. A process that dies is overtaken; where the cache fails, nobody waits.
        """
        if self._shared_cache is None:
            yield False
            return
        key = self.key(request)
        async with claimed(
            self._shared_cache, key, lambda: self.hit(request) is not None, sleep=self._sleep, draw=self._draw
        ):
            yield True

    @property
    def cache_failures(self) -> int:
        """Reads and writes that the cache failed to do, for all that share it."""
        return getattr(self._cache, "failures", 0)

    async def complete(self, request: Request) -> Reply:
        """Ask the model, within the limits, again where waiting may help. Never reads the cache.

        A place among the concurrent calls is held while a request is under way, not while waiting.

        Raises:
            RetryableError: Every try failed, or the server asks for a wait longer than `max_wait_s`.
            RequestRefused: This request is wrong.
            Overloaded: The provider refuses every call, and is waited for no more (see `Room`).
            TerminalError: No call will succeed; every later call raises the same at once.
        """
        return (await self._answered(request, 1))[0]

    def sharing(self, request: Request, tokens: int) -> Sharing:
        """How samples of this request are best asked: see `SharingProvider`. "apart" where the provider shares nothing.

        Args:
            tokens: Of the prompt.
        """
        return "apart" if self._sharing is None else self._sharing.sharing(request, tokens)

    async def complete_together(self, request: Request, copies: int) -> tuple[Reply, ...]:
        """`copies` samples by one request, within the limits and raising as `complete` does.

        Returns:
            A reply for each, with status "missing" in the place of one that the answer left out. One reply alone
            where the server answers one at a time: then the others were not asked.
        """
        return await self._answered(request, copies)

    async def _answered(self, request: Request, copies: int) -> tuple[Reply, ...]:
        """All tries of one call. Whatever it ends with tells how many of them may have been billed unsaid."""
        lane = await self._lanes.get()
        begun = self._clock()
        spent = 0
        tries = untold = 0
        failed: RetryableError | None = None
        try:
            while True:
                async with lane.room:
                    await self._overload_over(lane.room, failed, spent, tries, begun)
                    ticket = await self._admitted(lane, request, copies)
                    tries += 1
                    self.requests += 1
                    sent = self._clock()
                    try:
                        replies = await self._timed(request, copies, begun)
                    except TerminalError as error:
                        self._terminal = self._terminal or error
                        lane.quota.answered(ticket, error.quota, now=time.time())
                        raise
                    except RetryableError as error:
                        spent += error.attempts
                        untold += error.reason in BILLED
                        failed = error
                        lane.quota.answered(ticket, error.quota, now=time.time())
                        if error.status_code in OVERLOADED:
                            lane.room.overloaded(sent, error.retry_after, error.status_code)
                            if lane.room.given_up:
                                raise lane.room.error(spent) from error
                    except BaseException:
                        lane.quota.answered(ticket, {}, now=time.time())
                        raise
                    else:
                        lane.quota.answered(ticket, replies[0].quota, now=time.time())
                        lane.room.answered()
                        seconds = self._clock() - begun
                        told = {"seconds": seconds, "untold": untold}
                        return tuple(
                            [reply.model_copy(update={"attempts": spent + reply.attempts, **told}) for reply in replies]
                        )
                await self._sleep(self._wait(failed, tries, spent, begun))
        except ProviderError as error:
            if not untold:
                raise
            ended = copy.copy(error)  # one error may end every call of this connection, and others lost no tries
            ended.untold = untold
            raise ended from error

    async def _admitted(self, lane: _Lane, request: Request, copies: int) -> Ticket:
        """Waits for what all calls of the provider share: the pace and the quotas."""
        if lane.pace is not None:
            await lane.pace.turn()
        tokens = (0, 0)
        if lane.quota.counts_tokens:
            text = "\n".join((request.system, *request.segments))
            tokens = self.count_tokens(text), request.sampling.max_output_tokens * copies
        ticket = await lane.quota.turn(*tokens)
        if self._terminal is not None:
            lane.quota.answered(ticket, {}, now=time.time())
            raise self._terminal.with_traceback(None)
        return ticket

    async def _overload_over(
        self, room: Room, failed: RetryableError | None, spent: int, tries: int, begun: float
    ) -> None:
        """Waits for an overload to pass, as long as the provider is waited for and this call may wait.

        Args:
            failed: Of the call's last try, or None before the first.
        """
        while room.overloads:
            pause = room.pause()
            if pause > 0 and room.given_up:
                raise room.error(spent)
            if not self._in_time(begun, pause):
                error = failed or room.unsent()
                error.attempts = spent
                error.hint = self._deadline_hint(tries)
                raise error
            if pause == 0:
                return
            await self._sleep(pause)

    def _in_time(self, begun: float, wait: float) -> bool:
        """Whether a call that waits so long ends its wait before its deadline."""
        deadline = self._settings.call_deadline_s
        return deadline is None or self._clock() + wait < begun + deadline

    def _deadline_hint(self, tries: int) -> str:
        after = f"{tries} {'try' if tries == 1 else 'tries'}"
        return f"Given up after {after}: call_deadline_s = {self._settings.call_deadline_s:g}."

    async def _timed(self, request: Request, copies: int, begun: float) -> tuple[Reply, ...]:
        """One try, with a time-limit from sending to the last byte: a server that drips holds nobody up."""
        if self.offline:
            return (await self._opened.complete(request),)
        limit = self._limits.timeout_s
        if self._settings.call_deadline_s is not None:
            limit = max(0.001, min(limit, begun + self._settings.call_deadline_s - self._clock()))
        try:
            async with asyncio.timeout(limit):
                if copies == 1 or self._sharing is None:
                    return (await self._opened.complete(request),)
                return await self._sharing.complete_together(request, copies)
        except TimeoutError:
            raise RetryableError(
                f"{self.name}: the request timed out (no whole answer within {limit:g} s).",
                provider=self.name,
                reason="timeout",
            ) from None

    def _wait(self, error: RetryableError, tries: int, spent: int, begun: float) -> float:
        """Seconds until the next try; raises where there is none."""
        error.attempts = spent
        asked = error.retry_after
        if asked is not None and asked > self._settings.max_wait_s:
            error.hint = (
                f"The server asks to wait {asked:g} s, more than max_wait_s = {self._settings.max_wait_s:g}. "
                "Run again later (finished work is kept), or raise max_wait_s."
            )
            raise error
        if tries > self._settings.http_retries:
            error.hint = error.hint or f"Given up after {tries} {'try' if tries == 1 else 'tries'}."
            raise error
        wait = max(asked, 0.0) if asked is not None else backoff(tries, draw=self._draw())
        if not self._in_time(begun, wait):
            error.hint = self._deadline_hint(tries)
            raise error
        return wait

    def price(self, usage: Usage) -> float | None:
        """US dollars for `usage`, or None where the price or the number of tokens is unknown."""
        return self._price.cost(usage) if self._price else None

    async def aclose(self) -> None:
        """Close the clients of every loop that runs; a later call opens new ones."""
        try:
            await self._lanes.aclose()
        finally:
            await self._opened.aclose()


def connect(
    name: str,
    settings: Settings,
    *,
    cache: Cache | None = None,
    sleep: Sleep = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    draw: Callable[[], float] = random.random,
) -> Connection:
    """Open the judge `name` ("PROVIDER/MODEL"). Nothing is sent yet.

    Args:
        sleep, clock, draw: Waiting, the time in seconds, and a random number in [0, 1) for jitter.

    Raises:
        UnknownName: No such provider or judge; the message suggests the nearest.
        MissingExtra: The provider needs a package that is not installed.
        ConfigError: A file or a setting that it needs is wrong or missing.
    """
    provider, slash, model = name.partition("/")
    if not slash or not model:
        known = names("providers")
        if provider in known:
            raise UnknownName(f"Judge {name!r} names no model.", hint=f'Write it as "{provider}/MODEL".')
        error = unknown("judge", name, [f"{each}/MODEL" for each in known])
        raise UnknownName(error.message, hint=f'{error.hint} A judge is named "PROVIDER/MODEL".')
    if provider not in names("providers"):
        near = difflib.get_close_matches(provider, names("providers"), n=1)
        guess = (
            f"Did you mean {f'{near[0]}/{model}'!r}?" if near else f"Known providers: {', '.join(names('providers'))}."
        )
        raise UnknownName(f"No judge is named {name!r}: there is no provider {provider!r}.", hint=guess)
    opened: Provider = find("providers", provider)(model, settings)
    return Connection(
        opened,
        provider=provider,
        model=model,
        settings=settings,
        cache=cache if settings.cache else None,
        sleep=sleep,
        clock=clock,
        draw=draw,
    )
