"""The desk of a run at a provider's batch API: collects requests, hands batches in, looks after them, fetches outcomes.

Every step is in the ledger before it is taken, so that a session which is killed at any moment is taken up by the next.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from judge.config import Settings
from judge.engine.batch_outcomes import GONE, counted, fetch
from judge.engine.batch_purse import BatchPurse
from judge.engine.connection import Connection
from judge.engine.control import Control
from judge.engine.draw import most
from judge.engine.judging import Stopped
from judge.errors import ProviderError, RequestRefused, RetryableError, TerminalError
from judge.providers.batches import (
    NOT_TAKEN,
    BatchApi,
    BatchLimits,
    BatchState,
    Outcome,
    not_submitted,
    patiently,
)
from judge.providers.redaction import redact
from judge.store.batch_ledger import BatchLedger, Chunk
from judge.types.request import Reply, Request

LOG = logging.getLogger("judge.batches")
LOOK_UP_S = 0.2
"""Seconds between two looks at whether the run is to end, while waiting."""
SLOWER = 1.5
"""Factor from one wait to the next."""


class Waiting(Stopped):
    """The trajectory needs an outcome that is not here yet: it is taken up again in a later pass."""


class BatchDesk:
    """One session at the desk. Bound to the event loop that it is used in.

    Attributes:
        short: US dollars of what did not fit under the cap in this pass, or None.
    """

    def __init__(
        self,
        api: BatchApi,
        ledger: BatchLedger,
        purse: BatchPurse,
        connection: Connection,
        settings: Settings,
        *,
        notice: Callable[[str], None],
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`connection` counts tokens and knows the price; `notice` takes what a person should read at once."""
        self.short: float | None = None
        self._api = api
        self._ledger = ledger
        self._purse = purse
        self._connection = connection
        self._settings = settings
        self._own = settings.batch_api
        self._notice = notice
        self._sleep = sleep
        self._now = now
        most = self._own.megabytes
        self._limits = BatchLimits(
            requests=min(api.limits.requests, self._own.requests or api.limits.requests),
            bytes=min(api.limits.bytes, int(most * 1e6) if most is not None else api.limits.bytes),
        )
        self._refused = frozenset[str]().union(*(chunk.refused for chunk in ledger.chunks.values()))
        self._earlier = frozenset(chunk.number for chunk in ledger.chunks.values() if chunk.ended is not None)
        self._turn = asyncio.Lock()
        self._names: dict[str, None] = {}
        self._bytes = 0
        self._usd: float | None = 0.0
        self._made_without = self._refused
        self._told: set[int] = set()
        self._round: Counter[str] = Counter()
        self._silent = False
        self._turned_down: TerminalError | None = None
        for path in ledger.folder.glob("*.requests.jsonl"):
            if not any(path == ledger.requests_path(chunk.number) for chunk in ledger.under_way()):
                path.unlink()  # a session was killed while it collected

    # -- one request -------------------------------------------------------------------------------------------

    def knows(self, name: str) -> bool:
        """Whether a request was asked before, and no verdict has used it up."""
        return name in self._names or self._ledger.is_known(name)

    def last_batch(self, name: str) -> Chunk | None:
        """The batch that the newest outcome of a request came from, or None."""
        places = self._ledger.places(name)
        return self._ledger.chunks[places[-1].chunk] if places else None

    async def ask(self, name: str, request: Request) -> Reply:
        """The reply to a request, where its outcome is here.

        Raises:
            Waiting: It is in a batch, or was put into the next one; or there is no money for it at present.
            ProviderError: It failed for good, or as often as it may.
        """
        places = self._ledger.places(name)
        if name in self._names or self._ledger.is_open(name):
            raise Waiting
        if not places:
            await self._add(name, request)
            raise Waiting
        last = places[-1]
        outcome = Outcome(**self._ledger.outcome(last))
        chunk = self._ledger.chunks[last.chunk]
        if outcome.kind == "succeeded":
            reply = self._api.reply(outcome, request, chunk.refused)
            return reply.model_copy(update={"attempts": len(places)})
        error = self._api.failure(outcome, request, chunk.refused)
        error.attempts = len(places)
        if isinstance(error, RequestRefused) and error.parameter and error.parameter not in chunk.refused:
            self._refused |= {error.parameter}
        elif isinstance(error, TerminalError) and last.chunk in self._earlier:
            pass  # it ended that session: the key or the account may have been seen to since
        elif (
            not isinstance(error, RetryableError)
            or sum(place.counts for place in places) >= self._own.tries
            or outcome.kind == "gone"
            or (outcome.kind == "canceled" and chunk.canceled)
        ):
            raise error
        await self._add(name, request)
        raise Waiting

    def fits(self, request: Request, samples: int) -> bool:
        """Whether so many samples of a request that was never asked fit under the cap; `short` says where not."""
        if self.short is not None:
            return False
        whole = (self.estimate(request) or 0.0) * samples
        if not self._purse.fits((self._usd or 0.0) + whole):
            self.short = whole
            return False
        return True

    def estimate(self, request: Request) -> float | None:
        """Most that a request can cost in US dollars, or None where the price is not known."""
        tokens = sum(map(self._connection.count_tokens, (request.system, *request.segments)))
        return most(self._connection, tokens, request)

    async def _add(self, name: str, request: Request) -> None:
        async with self._turn:
            if name in self._names or self._ledger.is_open(name):
                return
            usd = self.estimate(request)
            if not self._purse.fits((self._usd or 0.0) + (usd or 0.0)):
                self.short = usd or 0.0
                return
            if self._refused != self._made_without or len(self._names) >= self._limits.requests:
                await self._hand_in()
            entry = self._entry(name, request)
            if self._names and self._bytes + len(entry) > self._limits.bytes:
                await self._hand_in()
                entry = self._entry(name, request)
            if len(entry) > self._limits.bytes:
                raise RequestRefused(
                    f"{self._api.name}: the request takes {len(entry):,} bytes, and a batch {self._limits.bytes:,}.",
                    provider=self._api.name,
                    reason="too_large",
                )
            self._made_without = self._refused
            with self._path().open("ab") as file:
                file.write(entry)
            self._names[name] = None
            self._bytes += len(entry)
            self._usd = None if usd is None or self._usd is None else self._usd + usd

    def _entry(self, name: str, request: Request) -> bytes:
        mark = self._ledger.mark(self._ledger.next_number())
        return self._api.entry(mark + name, request, self._refused)

    def _path(self) -> Path:
        return self._ledger.requests_path(self._ledger.next_number())

    # -- handing in --------------------------------------------------------------------------------------------

    async def hand_in(self) -> None:
        """Hands in what is collected, in one batch.

        Raises:
            TerminalError: The provider turns batches down.
        """
        async with self._turn:
            await self._hand_in()

    def drop(self) -> None:
        """Forgets what is collected and was not handed in."""
        self._path().unlink(missing_ok=True)
        self._names, self._bytes, self._usd = {}, 0, 0.0

    async def _hand_in(self) -> None:
        if self._turned_down is not None:
            raise self._turned_down.with_traceback(None)
        if not self._names:
            return
        number, usd = self._ledger.next_number(), self._usd
        if not self._purse.hold(number, usd or 0.0):  # the day's cap, which others share
            self.short = usd or 0.0
            self.drop()
            return
        with self._path().open("rb+") as file:
            os.fsync(file.fileno())
        names, self._names, self._bytes, self._usd = tuple(self._names), {}, 0, 0.0
        chunk = self._ledger.mean(names, at=self._now(), usd=usd, refused=self._made_without)
        await self._submit(chunk)

    async def _submit(self, chunk: Chunk) -> None:
        mark, path = self._ledger.mark(chunk.number), self._ledger.requests_path(chunk.number)
        try:
            state = await patiently(
                lambda: self._api.submit(mark, path, lambda file: self._ledger.uploaded(chunk, file)),
                self._settings,
                only=NOT_TAKEN,
                sleep=self._sleep,
            )
        except RetryableError as error:
            if error.status_code in NOT_TAKEN:
                raise self._give_up(chunk, error) from None
            LOG.warning("a batch may or may not have been taken", extra={"facts": _facts(chunk, error=error.reason)})
            self._notice(
                f"It is not known whether the provider has batch {chunk.number} ({error.reason}); looking for it."
            )
            return
        except (RequestRefused, TerminalError) as error:
            raise self._give_up(chunk, error) from None
        self._taken(chunk, state)

    def _taken(self, chunk: Chunk, state: BatchState) -> None:
        self._ledger.submitted(chunk, state.id)
        LOG.info("batch handed in", extra={"facts": _facts(chunk, id=state.id)})
        self._notice(
            f"Batch {chunk.number} is with the provider as {state.id}: {counted(len(chunk.names), 'request')}."
        )

    def _give_up(self, chunk: Chunk, error: ProviderError) -> TerminalError:
        self._forget(chunk, error.reason)
        self._turned_down = not_submitted(error)
        return self._turned_down

    def _forget(self, chunk: Chunk, why: str) -> None:
        self._ledger.given_up(chunk, why)
        self._purse.settle(chunk.number, 0.0)

    # -- looking after what is under way -----------------------------------------------------------------------

    async def wait(self, control: Control) -> None:
        """Looks after the batches, ever less often, until none is under way or the run is to end.

        Raises:
            TerminalError: All of them were turned down.
        """
        self._round.clear()
        pause = self._own.first_poll_s
        while self._ledger.under_way() and not control.ending():
            left = pause
            while left > 0 and not control.ending():
                await self._sleep(min(LOOK_UP_S, left))
                left -= LOOK_UP_S
            if not control.ending():
                await self.look()
            pause = min(pause * SLOWER, self._own.longest_poll_s)
        if set(self._round) == {"turned_down"}:
            raise TerminalError(
                f"{self._api.name}: every batch of the round was turned down.",
                hint="The provider limits what may be enqueued at once: set batch_api.megabytes lower, or run with "
                "--resume later.",
                provider=self._api.name,
                reason="batch_refused",
            )

    async def look(self) -> None:
        """Asks once for every batch that is under way, and fetches the outcomes of those that have ended."""
        for chunk in self._ledger.under_way():
            try:
                if chunk.batch is None:
                    await self._search(chunk)
                if chunk.batch is not None:
                    await self._look_at(chunk, chunk.batch)
            except RetryableError as error:  # the next look asks again
                LOG.warning("a batch cannot be looked at", extra={"facts": _facts(chunk, error=error.reason)})
                if not self._silent:
                    self._notice(f"The provider does not answer, and is asked again until it does: {error.message}")
                self._silent = True
            else:
                self._silent = False

    async def _search(self, chunk: Chunk) -> None:
        """Finds a batch that was meant and whose id is not known: it was taken, or hands it in again."""
        known = frozenset(other.batch for other in self._ledger.chunks.values() if other.batch is not None)
        got = await patiently(
            lambda: self._api.search(
                self._ledger.mark(chunk.number), total=len(chunk.names), since=chunk.at, known=known
            ),
            self._settings,
            sleep=self._sleep,
        )
        if got.found is not None:
            self._taken(chunk, got.found)
        elif got.unclear:
            if chunk.number not in self._told:
                self._told.add(chunk.number)
                self._notice(
                    f"Whether the provider took batch {chunk.number} cannot be told before "
                    f"{', '.join(state.id for state in got.unclear)} (as many requests, of the same time) has ended. "
                    "Nothing is handed in twice."
                )
        elif self._now() - chunk.sent_at >= self._own.settle_s:
            if self._ledger.requests_path(chunk.number).is_file():
                self._ledger.again(chunk, at=self._now())
                await self._submit(chunk)
            else:
                self._forget(chunk, "requests_gone")

    async def _look_at(self, chunk: Chunk, id: str) -> None:
        try:
            state = await patiently(lambda: self._api.state(id), self._settings, sleep=self._sleep)
        except RequestRefused as error:
            LOG.error("a batch is gone", extra={"facts": _facts(chunk, id=id, message=error.message)})
            state = BatchState(id, GONE, ended=True, total=None, done=None, created=chunk.at)
        facts = _facts(chunk, id=id, status=state.status, done=state.done)
        LOG.info("batch looked at", extra={"facts": facts})
        if not state.ended:
            return
        got = await patiently(
            lambda: fetch(
                self._api,
                state,
                mark=self._ledger.mark(chunk.number),
                names=chunk.names,
                path=self._ledger.outcomes_path(chunk.number),
                price=self._connection.price,
                clean=lambda text: redact(text, self._settings.secrets()),
            ),
            self._settings,
            sleep=self._sleep,
        )
        self._notice(f"Batch {chunk.number} ({id}) is {state.status}: {got.text()}.")
        self._ledger.ended(chunk, state.status, paid=got.paid, kinds=got.kinds)
        self._purse.settle(chunk.number, got.paid)
        self._round += got.kinds
        LOG.info("batch fetched", extra={"facts": {**facts, "outcomes": dict(got.kinds), "cost_usd": got.paid}})


def _facts(chunk: Chunk, **more: object) -> dict[str, object]:
    return {"batch": chunk.number, "requests": len(chunk.names), **more}
