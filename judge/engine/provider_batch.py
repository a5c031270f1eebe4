"""A batch by the provider's own batch API: half the price, answers within a day.

The engine goes over the pending trajectories in passes. In a pass each is judged by the same code as anywhere; where
that code asks for a reply whose outcome is not here yet, the request goes into the next batch and the trajectory waits
for the next pass. So follow-up requests (a second try after a reply of no use, one more vote) form the next round by
themselves, and a session that was killed is taken up by nothing but another pass: requests have the same names again.

What is in memory: the trajectories of one moment of a pass, and the names of the requests (see `BatchLedger`); never
the prompts or replies of a round.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from judge.config import Settings
from judge.engine.batch_call import save_call
from judge.engine.batch_desk import BatchDesk, Waiting
from judge.engine.batch_engine import BatchJob
from judge.engine.batch_notes import BatchNotes
from judge.engine.batch_outcomes import counted
from judge.engine.batch_purse import BatchPurse
from judge.engine.budget import wrap_up_notice
from judge.engine.connection import Connection, Opened, OpenJury, cache_failures
from judge.engine.control import Control
from judge.engine.draw import numbered
from judge.engine.facade import ledger_of
from judge.engine.judging import Case, Judging
from judge.engine.run import Progress, Run
from judge.engine.setup import Setup
from judge.errors import ProviderError, UsageError
from judge.providers.batches import BatchApi, open_batches
from judge.providers.prices import batch_price_of
from judge.store.batch_ledger import BatchLedger
from judge.types.record import fingerprint
from judge.types.request import Reply, Request
from judge.types.trajectory import Trajectory, Usage
from judge.types.verdict import Verdict
from judge.voting.usage import add_known

LOG = logging.getLogger("judge.budget")


class ProviderBatchEngine:
    """Hands requests in, waits for the outcomes, and makes verdicts of them; `detach`ed, it does not wait."""

    @asynccontextmanager
    async def ready(self, judge: Opened, settings: Settings) -> AsyncIterator[None]:
        """As `BatchEngine.ready`: one judge, whose provider has a batch API."""
        await open_batches(_one(judge).name, settings).aclose()
        yield

    def cache_failures(self, judge: Opened) -> int | None:
        """As `BatchEngine.cache_failures`: the passes look replies up here."""
        return cache_failures(judge)

    async def run(
        self,
        job: BatchJob,
        trajectories: Iterable[Trajectory],
        *,
        control: Control,
        done: Callable[[Verdict], None],
        progress: Callable[[Progress], None] | None,
    ) -> None:
        """As `BatchEngine.run`. `trajectories` is gone over more than once."""
        connection = _one(job.connection)
        api = open_batches(connection.name, job.settings)
        try:
            with BatchLedger(job.folder) as ledger:
                save_call(job)
                await _Session(job, api, ledger, connection, control, done, progress).run(trajectories)
        finally:
            await api.aclose()


def _one(judge: Opened) -> Connection:
    if isinstance(judge, OpenJury):
        raise UsageError(
            f"{judge.name} is a jury, and batches are handed in for one judge.",
            hint="Give each judge a run of its own, or use --engine local.",
        )
    return judge


class _Session:
    def __init__(
        self,
        job: BatchJob,
        api: BatchApi,
        ledger: BatchLedger,
        connection: Connection,
        control: Control,
        done: Callable[[Verdict], None],
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._job = job
        self._ledger = ledger
        self._control = control
        self._done = done
        self._progress = progress
        self._before = self._so_far = Progress(0, job.pending, 0, 0, 0, 0.0)
        self._failed: set[str] = set()
        self._purse = BatchPurse(job.setup.max_usd, ledger=ledger_of(job.settings))
        ended = [chunk for chunk in ledger.chunks.values() if chunk.ended]
        paid = sum((chunk.usd or 0.0) if chunk.paid is None else chunk.paid for chunk in ended)
        untold = sum(chunk.paid is None for chunk in ended)
        earlier = max(paid, job.spent)
        self._purse.paid(earlier)
        if earlier and job.setup.max_usd is not None:
            most = f" at most ({counted(untold, 'bill')} not known)" if untold else ""
            job.notice(
                f"Earlier batches of this run cost ${earlier:.4f}{most}; they count towards "
                f"max_usd = {job.setup.max_usd}."
            )
        self._near_its_end = False
        for chunk in ledger.under_way():
            self._purse.carry(chunk.number, chunk.usd or 0.0)
        self._connection = BatchedConnection(connection, job)
        self._desk = BatchDesk(api, ledger, self._purse, self._connection, job.settings, notice=job.notice)
        self._connection.desk = self._desk
        self._setup = replace(job.setup, max_usd=None, max_usd_per_day=None)  # the purse holds these caps

    async def run(self, trajectories: Iterable[Trajectory]) -> None:
        desk, control, ledger = self._desk, self._control, self._ledger
        await desk.look()
        while True:
            self._warn()
            await self._pass(trajectories)
            if control.ending():
                desk.drop()
            else:
                await desk.hand_in()
            if not ledger.under_way():
                if desk.short is not None and not control.ending():
                    raise self._purse.reached(desk.short)
                if not control.ending():
                    ledger.all_used_up()  # such as outcomes of trajectories that have changed since
                return
            if self._job.detach:
                control.drain("detached")
            await desk.wait(control)
            if control.ending():
                self._tell()
                return

    async def _pass(self, trajectories: Iterable[Trajectory]) -> None:
        self._desk.short = None
        self._before = self._so_far
        run = Run(
            BatchJudging(self._setup, self._connection, self._purse.wrapping_up),
            (trajectory for trajectory in trajectories if trajectory.id not in self._failed),
            reference=self._job.references,
            concurrency=self._job.settings.concurrency,
            progress=self._show,
            done=self._keep,
            control=self._control,
        )
        try:
            async for _ in run.batches():
                pass  # each verdict went to `_keep`
        except BaseException:
            self._desk.drop()
            raise

    def _keep(self, verdict: Verdict) -> None:
        self._done(verdict)
        if verdict.status == "error":
            self._failed.add(verdict.trajectory_id)
        self._ledger.used_up(self._connection.settled(verdict.trajectory_id))

    def _show(self, progress: Progress) -> None:
        """What all passes came to, this one included."""
        before = self._before
        costs = before.cost_usd, progress.cost_usd
        self._so_far = Progress(
            done=before.done + progress.done,
            total=self._job.pending,
            failed=before.failed + progress.failed,
            calls=before.calls + progress.calls,
            cached=before.cached + progress.cached,
            cost_usd=add_known(costs),
            errors=Counter(before.errors) + Counter(progress.errors),
            known_usd=before.known_usd + progress.known_usd,
            unpriced=before.unpriced + progress.unpriced,
        )
        if self._progress is not None:
            self._progress(self._so_far)

    def _warn(self) -> None:
        if self._purse.wrapping_up() and not self._near_its_end:
            self._near_its_end = True
            LOG.warning("most of the budget is spent", extra={"facts": {"spent_usd": self._purse.spent}})
            self._job.notice(wrap_up_notice(self._purse.spent, self._job.setup.max_usd))

    def _tell(self) -> None:
        open_ = self._ledger.under_way()
        requests = sum(len(chunk.names) for chunk in open_)
        folder = self._job.folder
        amounts = [chunk.usd for chunk in open_]
        most = "" if None in amounts else f" (${sum(filter(None, amounts)):.2f} at most)"
        self._job.notice(
            f"{counted(requests, 'request')} in {counted(len(open_), 'batch')} at the provider{most}: they go on "
            f"there. `judge batch attach {folder}` waits for them and finishes the run; "
            f"`judge batch cancel {folder}` ends them."
        )


class BatchedConnection:
    """An engine's connection whose calls are answered by outcomes of batches.

    Attributes:
        desk: Set before the first call.
        asked: Names of the requests that each trajectory under way has used, by its id.
    """

    desk: BatchDesk

    def __init__(self, inner: Connection, job: BatchJob) -> None:
        self._inner = inner
        self._price = batch_price_of(inner.name, job.settings)
        self._notes = BatchNotes(self, job.settings)
        self._shared = job.setup.shared
        self._owners: dict[str, str] = {}
        self.asked: dict[str, list[str]] = {}
        self.name = inner.name
        self.provider = inner.provider
        self.model = inner.model
        self.host = inner.host
        self.offline = inner.offline
        self.context_tokens = inner.context_tokens

    def count_tokens(self, text: str) -> int:
        """As the inner connection's."""
        return self._inner.count_tokens(text)

    def payload(self, request: Request) -> dict[str, Any]:
        """As the inner connection's."""
        return self._inner.payload(request)

    def name_of(self, request: Request) -> str:
        """What a request is called in every session: its content, sample and try; where nothing is shared, its item."""
        seen = {
            "payload": self.payload(request),
            "versions": request.versions,
            "trajectory": None if self._shared else request.subject.trajectory_id,
        }
        return f"{fingerprint(seen)[:32]}-{request.sample}-{request.attempt}"

    def hit(self, request: Request) -> Reply | None:
        """As the inner connection's, but for requests of this run: their outcome, which says what they cost, counts."""
        name = self.name_of(request)
        if self.desk.knows(name) and self._is_owner(name, request):
            return None
        return self._inner.hit(request)

    def keep(self, request: Request, reply: Reply) -> None:
        """As the inner connection's."""
        self._inner.keep(request, reply)

    async def complete(self, request: Request) -> Reply:
        """The outcome of the request, once it is here.

        Raises:
            Waiting: It is not.
            ProviderError: It failed, as often as it may.
        """
        name = self.name_of(request)
        if not self._is_owner(name, request):
            kept = self._inner.hit(request)
            if kept is not None:  # an equal request of another trajectory paid for it
                usage = (kept.usage or Usage()).model_copy(update={"cost_usd": 0.0})
                return kept.model_copy(update={"usage": usage})
        self.asked.setdefault(request.subject.trajectory_id, []).append(name)
        try:
            reply = await self.desk.ask(name, request)
        except ProviderError as error:
            self._notes.add(name, request, self.desk.last_batch(name), error)
            raise
        self._notes.add(name, request, self.desk.last_batch(name), reply)
        return reply

    def waits(self, trajectory_id: str) -> None:
        """A trajectory is to be taken up again in a later pass."""
        self.asked.pop(trajectory_id, None)
        self._notes.drop(trajectory_id)

    def settled(self, trajectory_id: str) -> list[str]:
        """Names of the requests that a trajectory has used; it has its verdict."""
        self._notes.tell(trajectory_id)
        names = self.asked.pop(trajectory_id, [])
        for name in names:
            self._owners.pop(name, None)
        return names

    def _is_owner(self, name: str, request: Request) -> bool:
        return self._owners.setdefault(name, request.subject.trajectory_id) == request.subject.trajectory_id

    def price(self, usage: Usage) -> float | None:
        """US dollars in a batch."""
        return self._price.cost(usage) if self._price else None

    async def aclose(self) -> None:
        """Nothing: the inner connection is its owner's."""


class BatchJudging(Judging):
    """Judges from outcomes. A trajectory begins only when all of its samples fit under the caps."""

    connection: BatchedConnection

    def __init__(self, setup: Setup, connection: BatchedConnection, wrapping_up: Callable[[], bool]) -> None:
        """`wrapping_up`: whether the money, which is held elsewhere, comes to its end."""
        super().__init__(setup, connection)
        self._wrapping_up = wrapping_up
        self._told = True  # by the session

    def _leaves_out(self, case: Case, indices: Sequence[int]) -> bool:
        """As `Judging._leaves_out`; what was asked for is paid for, and taken."""
        known = self.connection.desk.knows
        names = (self.connection.name_of(numbered(case.prompt.request, index)) for index in indices)
        return not any(known(name) for name in names) and super()._leaves_out(case, indices)

    async def finish(self, case: Case) -> Verdict:
        """The verdict, where every outcome that it takes is here.

        Raises:
            Waiting: One is not here, or there is no money for the trajectory at present.
            TerminalError: The run has to stop.
        """
        connection = self.connection
        request = numbered(case.prompt.request, 0)
        desk = connection.desk
        if not desk.knows(connection.name_of(request)) and not desk.fits(request, self.setup.draws[1]):
            raise Waiting
        try:
            return await super().finish(case)
        except BaseException:
            connection.waits(case.trajectory.id)
            raise
