"""What the batch APIs of providers have in common: many requests handed in at once, answered within a day for half.

A request in a batch has a custom id, and its outcome comes back under it, in any order. `BatchApi` is what an engine
needs of one provider; `open_batches` finds it for a judge. Nothing here remembers anything: that is the caller's.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from judge.config import Settings
from judge.errors import ProviderError, RetryableError, TerminalError, UsageError
from judge.providers.retry import backoff
from judge.types.request import Reply, Request
from judge.types.trajectory import Usage

Got = TypeVar("Got")
OutcomeKind = Literal["succeeded", "errored", "expired", "canceled", "turned_down", "missing", "duplicate", "gone"]
LONGEST_TRANSFER_S = 1800.0
"""Time limit for one upload or download, in seconds: batches are large."""
CLOCKS_APART_S = 86_400.0
"""Most by which a provider's clock is taken to differ from ours, in seconds, when a lost batch is looked for."""
NOT_TAKEN = frozenset({429, 529})
"""Statuses after which a submission was certainly not taken, so that it may be sent again at once. Any other failure
may come from something in between, after the provider took it."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Most requests, and most bytes, of one batch."""

    requests: int
    bytes: int


@dataclass(frozen=True, slots=True)
class BatchState:
    """A batch at the provider.

    Attributes:
        status: In the provider's own word.
        ended: Whether nothing more will happen to it; its outcomes can be fetched then.
        total, done: Requests in it, and those that have an outcome; None where not told.
        created: Seconds since the epoch.
        files: Where the outcomes are.
        problem: Why the whole batch was turned down, or "".
        passing: Whether that cause passes with time, such as a limit on what may be enqueued at once.
    """

    id: str
    status: str
    ended: bool
    total: int | None
    done: int | None
    created: float
    files: tuple[str, ...] = ()
    problem: str = ""
    passing: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one request.

    Attributes:
        kind: "turned_down": its batch was not begun, for a cause that passes; "missing": the provider gave no outcome;
            "duplicate": it gave two; "gone": outcomes are no longer kept.
        status: As an HTTP status, or None where there is none.
        body: The reply, or the error.
    """

    custom_id: str
    kind: OutcomeKind
    status: int | None = None
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """What a search for a batch, whose id was lost, came to.

    Attributes:
        found: The batch, or None.
        unclear: Batches that may be it and cannot be told from it before they end.
    """

    found: BatchState | None = None
    unclear: tuple[BatchState, ...] = ()


class BatchApi(Protocol):
    """A provider's batch API, for one model."""

    name: str
    limits: BatchLimits

    def entry(self, custom_id: str, request: Request, refused: frozenset[str]) -> bytes:
        """One line of a file of requests. `refused`: parameters that the model has been found to refuse."""
        ...

    async def submit(self, mark: str, entries: Path, uploaded: Callable[[str], None]) -> BatchState:
        """Hands a file of requests in, once.

        Args:
            mark: Told to the provider where it keeps such a thing; every custom id begins with it.
            uploaded: Takes the id of a file as soon as the provider has it.

        Raises:
            RetryableError: It may or may not have been taken; `status_code` in `NOT_TAKEN` says that it was not.
            RequestRefused, TerminalError: It was not taken.
        """
        ...

    async def search(self, mark: str, *, total: int, since: float, known: frozenset[str]) -> Search:
        """Looks for a batch by its mark.

        Args:
            since: Seconds since the epoch before which it cannot have been made.
            known: Ids of batches that are others.
        """
        ...

    async def state(self, id: str) -> BatchState: ...

    def outcomes(self, state: BatchState) -> AsyncGenerator[Outcome, None]:
        """The outcomes of a batch that has ended, in any order, as the provider gives them.

        Raises:
            RequestRefused: They are no longer kept.
        """
        ...

    async def cancel(self, id: str) -> BatchState:
        """Asks to end a batch; what is done by then is billed and can be fetched."""
        ...

    def reply(self, outcome: Outcome, request: Request, refused: frozenset[str]) -> Reply:
        """The reply of a "succeeded" outcome."""
        ...

    def usage(self, outcome: Outcome) -> Usage | None:
        """What a "succeeded" outcome is billed by; None where it does not say."""
        ...

    def failure(self, outcome: Outcome, request: Request, refused: frozenset[str]) -> ProviderError:
        """Our error for every other outcome; a refused parameter is named in it."""
        ...

    async def aclose(self) -> None: ...


_APIS = {
    "openai": "judge.providers.openai_batches:open_batches",
    "anthropic": "judge.providers.message_batches:open_batches",
}


def open_batches(judge: str, settings: Settings) -> BatchApi:
    """The batch API for a judge by its full name.

    Raises:
        UsageError: Its provider has none that is known here.
    """
    from importlib import import_module

    provider, _, model = judge.partition("/")
    target = _APIS.get(provider)
    if target is None or not model:
        raise UsageError(
            f"The judge {judge!r} has no batch API here.",
            hint="Batches are handed in for judges named openai/MODEL and anthropic/MODEL; others run with "
            "--engine local.",
        )
    module, attribute = target.split(":")
    made: BatchApi = getattr(import_module(module), attribute)(model, settings)
    return made


async def patiently(
    call: Callable[[], Awaitable[Got]],
    settings: Settings,
    *,
    only: frozenset[int] | None = None,
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    draw: Callable[[], float] = random.random,
) -> Got:
    """What `call` returns, tried again where waiting may help.

    Args:
        only: Statuses after which it may be tried again; None for every failure that may pass.

    Raises:
        RetryableError: Every try failed, or it failed in a way that forbids another.
    """
    tries = 0
    while True:
        try:
            return await call()
        except RetryableError as error:
            tries += 1
            asked = error.retry_after
            again = only is None or error.status_code in only
            if not again or tries > settings.http_retries or (asked or 0.0) > settings.max_wait_s:
                raise
            wait = backoff(tries, draw=draw()) if asked is None else asked
        await sleep(wait)


def not_answered(provider: str, outcome: Outcome) -> ProviderError:
    """Our error for a request that the provider did not work on, or whose outcome cannot be used."""
    said = {
        "expired": ("batch_expired", "was not reached before its batch expired"),
        "canceled": ("batch_canceled", "was canceled with its batch"),
        "turned_down": ("batch_turned_down", "was in a batch that was turned down"),
        "missing": ("no_outcome", "has no outcome in its batch"),
        "duplicate": ("duplicate_outcome", "has more than one outcome in its batch, and none is used"),
        "gone": ("outcome_gone", "has an outcome that the provider no longer keeps"),
    }
    reason, text = said.get(outcome.kind, ("bad_response", "came back without a reply"))
    return RetryableError(f"{provider}: the request {text}.", provider=provider, reason=reason)


def not_submitted(error: ProviderError) -> TerminalError:
    """The error that ends a run whose batches are turned down as they are handed in."""
    return TerminalError(
        f"The batch was turned down: {error.message}",
        hint=error.hint or "Nothing of it was run. Run with --resume once the cause is gone.",
        provider=error.provider,
        status_code=error.status_code,
        reason="batch_refused" if error.reason in {"request_refused", "context_length"} else error.reason,
    )


async def json_lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Whole lines of a stream, split at line feeds only: text in JSON may hold other line ends."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield line
    if rest.strip():
        yield rest
