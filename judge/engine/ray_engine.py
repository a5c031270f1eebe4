"""A batch on a Ray cluster: workers judge blocks of trajectories, this process reads the input and writes the folder.

A block's verdicts stream back as they are given, and each is in the run folder before it counts. When a worker dies,
the part of its blocks that is not recorded goes to another one: nothing that was recorded is judged again. What is
in memory at once is the blocks under way.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from judge.config import Settings
from judge.engine.batch_engine import BatchJob
from judge.engine.budget import wrap_up_notice
from judge.engine.connection import Opened as OpenedJudge
from judge.engine.control import Control
from judge.engine.facade import ledger_of
from judge.engine.ray_budget import BudgetKeeper, budget_lost
from judge.engine.ray_cluster import check_address, is_plain, joined
from judge.engine.ray_log import WARNED, LogLine, listens, retell
from judge.engine.ray_worker import Assignment, Item, JudgeWorker, Opened, Report
from judge.engine.run import Count, Progress, reference_of
from judge.engine.sent_error import SentError
from judge.errors import ConfigError, FingerprintMismatch, JudgeError
from judge.store.manifest import versions
from judge.types.jury import Jury
from judge.types.trajectory import Trajectory
from judge.types.verdict import Verdict

LOG = logging.getLogger("judge.batch")
BLOCK = 64
"""Most trajectories in a block."""
POLL_S = 0.1
"""Seconds between looks at whether the run is to end."""
START_S = 300.0
"""Seconds after which a cluster that has started no worker at all is given up."""
CLOSE_S = 5.0
MOST_LOSSES = 5
"""Workers lost in a row, without a verdict in between, after which the run is given up."""
KEEPER_CALLS = 2000
"""Calls of the budget's actor that may wait at once, beside one for each trajectory under way."""


class RayEngine:
    """Judges on a cluster: that at `address`, else one of this machine's that lives as long as the run."""

    def __init__(self, address: str | None = None) -> None:
        """
        Args:
            address: HOST:PORT of a cluster's head, or "auto" for the cluster of this machine.

        Raises:
            MissingExtra: Ray is not installed.
            ConfigError: Nothing can be joined by such an address.
        """
        check_address(address)
        self._address = address
        self._cache_failures: int | None = None

    @asynccontextmanager
    async def ready(self, judge: OpenedJudge, settings: Settings) -> AsyncIterator[None]:
        """As `BatchEngine.ready`: where only Ray can tell whether a cluster is at the address, it is joined now."""
        if self._address is None or is_plain(self._address):
            yield
            return
        async with joined(self._address):
            yield

    def cache_failures(self, judge: OpenedJudge) -> int | None:
        """As `BatchEngine.cache_failures`: of all workers; None once one of them was lost with its count."""
        return self._cache_failures

    async def run(
        self,
        job: BatchJob,
        trajectories: Iterable[Trajectory],
        *,
        control: Control,
        done: Callable[[Verdict], None],
        progress: Callable[[Progress], None] | None,
    ) -> None:
        """As `BatchEngine.run`."""
        async with joined(self._address) as ray:
            crew = _Crew(ray, job, trajectories, control=control, done=done, progress=progress)
            try:
                await crew.run()
            finally:
                self._cache_failures = crew.cache_failures


@dataclass(frozen=True, slots=True)
class _Hired:
    """A worker that has opened the judge."""

    name: str
    handle: Any
    opened: Opened


class _Crew:
    """The workers of one run, and what they still have to do. Use once."""

    def __init__(
        self,
        ray: Any,
        job: BatchJob,
        trajectories: Iterable[Trajectory],
        *,
        control: Control,
        done: Callable[[Verdict], None],
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._ray = ray
        self._job = job
        self._source = iter(trajectories)
        self._control = control
        self._done = done
        self._progress = progress
        self._count = Count(job.pending)
        self._size = crew_size(job, int(ray.cluster_resources().get("CPU", 1)))
        self._block = max(1, min(BLOCK, job.pending // (4 * self._size)))
        self._exhausted = False
        self._again: deque[dict[str, Item]] = deque()
        self._under_way = 0
        self._stopped: BaseException | None = None
        self._draining = False
        self._wrapping_up = False
        self._warnings: set[str] = set()
        self._moved = asyncio.Event()
        self._workers: dict[str, Any] = {}
        self._hired = 0
        self._ever_opened = False
        self._losses = 0
        self._keeper: Any = None
        self.cache_failures: int | None = 0

    async def run(self) -> None:
        if self._job.setup.capped:
            self._keeper = self._keep_budget()
        slots = [asyncio.ensure_future(self._slot(number)) for number in range(self._size)]
        watch = asyncio.ensure_future(self._watch())
        try:
            await asyncio.gather(*slots)
            await self._close()
        finally:
            for task in (watch, *slots):
                task.cancel()
            await asyncio.gather(watch, *slots, return_exceptions=True)
            for handle in (*self._workers.values(), *((self._keeper,) if self._keeper is not None else ())):
                self._ray.kill(handle)
        if self._stopped is not None:
            raise self._count.cause(self._stopped) from self._stopped.__cause__

    # -- the work ------------------------------------------------------------------------------------------------

    def _take(self) -> dict[str, Item] | None:
        """The next block: what a lost worker left, else what the input gives; None when there is none now."""
        if self._ending():
            return None
        if self._again:
            return self._again.popleft()
        if self._exhausted:
            return None
        block: dict[str, Item] = {}
        try:
            for trajectory in islice(self._source, self._block):
                block[trajectory.id] = (trajectory, reference_of(trajectory, self._job.references))
        except Exception as error:
            self._stop(error)
            return None
        self._exhausted = len(block) < self._block
        return block or None

    def _ending(self) -> bool:
        return self._stopped is not None or self._control.ending()

    def _finished(self) -> bool:
        if self._under_way:
            return False
        return self._ending() or (self._exhausted and not self._again)

    def _keep(self, verdict: Verdict, block: dict[str, Item]) -> None:
        if block.pop(verdict.trajectory_id, None) is None:
            return
        try:
            self._done(verdict)
        except Exception as error:
            self._stop(error)
            return
        self._losses = 0
        progress = self._count.add(verdict)
        if self._progress is not None:
            self._progress(progress)

    def _stop(self, error: BaseException) -> None:
        """Lets no further trajectory begin; the first cause stays."""
        if self._stopped is None:
            self._stopped = error
        self._move()

    def _move(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    # -- the workers ---------------------------------------------------------------------------------------------

    async def _slot(self, number: int) -> None:
        """One worker at a time, a new one in the place of one that was lost, until all is done."""
        try:
            while not self._finished():
                worker = await self._hire(number)
                if worker is not None:
                    await self._serve(worker)
                elif self._ending():
                    return
        except Exception as error:
            self._stop(error)

    async def _serve(self, worker: _Hired) -> None:
        """Keeps a worker busy until it is lost or nothing is left."""
        share = self._assignment(worker.name).settings.concurrency
        ahead = 1 + -(-share // self._block)
        under_way: set[asyncio.Future[None]] = set()
        while worker.name in self._workers:
            while len(under_way) < ahead and (block := self._take()) is not None:
                self._under_way += 1
                under_way.add(asyncio.ensure_future(self._work(worker, block)))
            if under_way:
                _, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            elif self._finished():
                return
            else:
                await self._moved.wait()
        if under_way:
            await asyncio.wait(under_way)

    async def _work(self, worker: _Hired, block: dict[str, Item]) -> None:
        """One block, as far as the worker lives and the run goes on."""
        from ray.exceptions import RayError, RayTaskError

        try:
            reports = worker.handle.judge.options(num_returns="streaming").remote(list(block.values()))
            async for reference in reports:
                report: Report = await reference
                self._retell(report.lines, worker.name)
                for verdict in report.verdicts:
                    self._keep(verdict, block)
                if report.error is not None:
                    self._stop(report.error.error())
            if block and not self._ending():
                self._stop(RuntimeError(f"a worker gave no verdict on {', '.join(map(repr, block))}"))
        except RayTaskError as error:
            self._stop(error)
        except RayError as error:
            if block:
                self._again.append(block)
            await self._lose(worker.name, worker.opened, error)
        finally:
            self._under_way -= 1
            self._move()

    def _retell(self, lines: Sequence[LogLine], worker: str) -> None:
        """Logs what a worker logged, and says each warning once."""
        retell(lines, worker)
        for text in (line.facts["message"] for line in lines if line.event == WARNED):
            if text not in self._warnings:
                self._warnings.add(text)
                self._job.notice(f"warning of a worker: {text}")

    async def _hire(self, number: int) -> _Hired | None:
        """A new worker with the judge open; None when it was lost before that, or the run ended first."""
        from ray.exceptions import RayError

        self._hired += 1
        name = f"{number}.{self._hired}"
        assignment = self._assignment(name)
        handle = (
            self._ray.remote(JudgeWorker)
            .options(num_cpus=1, max_restarts=0, max_task_retries=0)
            .remote(assignment, self._keeper)
        )
        self._workers[name] = handle
        opening = asyncio.ensure_future(self._open(handle))
        while not opening.done():
            if self._finished():
                opening.cancel()
                await asyncio.gather(opening, return_exceptions=True)
                self._dismiss(name)
                return None
            moved = asyncio.ensure_future(self._moved.wait())
            await asyncio.wait({opening, moved}, return_when=asyncio.FIRST_COMPLETED)
            moved.cancel()
        try:
            opened = opening.result()
        except RayError as error:
            await self._lose(name, None, error)
            return None
        if isinstance(opened, SentError):
            self._stop(opened.error())
            return None
        check_same(self._job.setup.fingerprints, opened)
        self._ever_opened = True
        if self._wrapping_up:
            handle.wrap_up.remote()
        LOG.info("worker begins", extra={"facts": {"worker": name, "pid": opened.pid, "host": opened.host}})
        return _Hired(name, handle, opened)

    async def _open(self, handle: Any) -> Opened | SentError:
        opened: Opened | SentError = await handle.open.remote()
        return opened

    def _assignment(self, name: str) -> Assignment:
        job = self._job
        return Assignment(
            name=name,
            judge=job.judge,
            rubric=job.rubric,
            settings=share_of(job.settings, int(name.partition(".")[0]), self._size),
            policy=job.policy,
            standing=job.setup.standing,
            folder=str(Path.cwd()),
            log=listens(),
        )

    def _dismiss(self, name: str) -> None:
        handle = self._workers.pop(name, None)
        if handle is not None:
            self._ray.kill(handle)

    async def _lose(self, name: str, opened: Opened | None, error: Exception) -> None:
        """A worker died: what it reserved is settled, and the run is given up when none lives long enough."""
        if self._workers.pop(name, None) is None:
            return  # another of its blocks said so already
        self._losses += 1
        self.cache_failures = None
        where = {} if opened is None else {"pid": opened.pid, "host": opened.host}
        LOG.warning("worker lost", extra={"facts": {"worker": name, **where, "losses_in_a_row": self._losses}})
        if self._keeper is not None:
            await self._asked_of_keeper("lost", name)
        if self._losses >= MOST_LOSSES:
            left = [each for block in self._again for each in block]
            at = f" The last was at {', '.join(map(repr, left[:3]))}." if left else ""
            said = str(error).strip().splitlines()
            self._stop(
                JudgeError(
                    f"{self._losses} Ray workers died one after another without giving a verdict.{at}",
                    hint=f"Ray says: {said[0] if said else type(error).__name__} "
                    "What is done is kept; run again with --resume, or with --engine local to see the cause.",
                )
            )

    # -- the rest ------------------------------------------------------------------------------------------------

    def _keep_budget(self) -> Any:
        """The budget's actor, on this machine: the day's ledger is a file here."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(self._ray.get_runtime_context().get_node_id(), soft=False)
        calls = KEEPER_CALLS + 2 * self._job.settings.concurrency
        return (
            self._ray.remote(BudgetKeeper)
            .options(num_cpus=0, max_concurrency=calls, scheduling_strategy=here)
            .remote(self._job.setup.max_usd, spent=self._job.spent, ledger=ledger_of(self._job.settings))
        )

    async def _asked_of_keeper(self, method: str, *values: Any) -> Any:
        """What the budget's actor answers; None when it is gone, and then the run ends: nothing may be paid for."""
        from ray.exceptions import RayError

        try:
            return await getattr(self._keeper, method).remote(*values)
        except RayError:
            self._stop(budget_lost())
            return None

    async def _watch(self) -> None:
        """Hands an end of the run on to the workers, and says when the cap comes near or nobody starts."""
        begun = asyncio.get_running_loop().time()
        while True:
            await asyncio.sleep(POLL_S)
            if self._ending() and not self._draining:
                self._draining = True
                for handle in self._workers.values():
                    handle.drain.remote()
                self._move()
            if self._keeper is not None and not self._wrapping_up:
                state = await self._asked_of_keeper("state")
                if state is not None and state[2]:
                    self._wrapping_up = True
                    LOG.warning("most of the budget is spent", extra={"facts": {"spent_usd": state[0]}})
                    self._job.notice(wrap_up_notice(state[0], self._job.setup.max_usd))
                    for handle in self._workers.values():
                        handle.wrap_up.remote()
            if not self._ever_opened and asyncio.get_running_loop().time() - begun > START_S:
                self._stop(
                    ConfigError(
                        f"The Ray cluster has started no worker in {START_S:.0f} s.",
                        hint="Every worker takes one CPU: `ray status` shows what is free.",
                    )
                )

    async def _close(self) -> None:
        """Closes the workers, and takes down what their caches failed to do; one that does not say makes it unknown."""
        closing = [asyncio.ensure_future(self._closed(handle)) for handle in self._workers.values()]
        if not closing:
            return
        closed, late = await asyncio.wait(closing, timeout=CLOSE_S)
        for failures in [None for _ in late] + [each.result() for each in closed]:
            if self.cache_failures is not None:
                self.cache_failures = None if failures is None else self.cache_failures + failures

    async def _closed(self, handle: Any) -> int | None:
        from ray.exceptions import RayError

        try:
            failures: int | None = await handle.close.remote()
        except RayError:
            return None
        return failures


def check_same(mine: Mapping[str, str], opened: Opened) -> None:
    """A worker that would judge by something else is not let in: numbers of two versions are not mixed.

    Raises:
        FingerprintMismatch: The worker's rubric, judge, policy or version of this package is another.
    """
    changed = [name for name in mine if opened.fingerprints.get(name) != mine[name]]
    here, there = versions().get("trajudge"), opened.versions.get("trajudge")
    if here != there:
        changed.append(f"version of trajudge ({there} there, {here} here)")
    if changed:
        raise FingerprintMismatch(
            f"The worker on {opened.host!r} would judge by another {', '.join(changed)}.",
            hint="Install the same version of trajudge, with the same files, on every machine of the cluster.",
        )


def crew_size(job: BatchJob, cpus: int) -> int:
    """Workers of a run: one for each CPU of the cluster, none that would have nothing to do or no place to call."""
    seats = (*job.judge.members, *job.judge.reserves) if isinstance(job.judge, Jury) else (job.judge,)
    most = [job.settings.provider(seat.partition("/")[0]).concurrency for seat in seats]
    return max(1, min(cpus, job.pending, job.settings.concurrency, *(each for each in most if each is not None)))


def share_of(settings: Settings, number: int, of: int) -> Settings:
    """The settings of worker `number` (from 0) of `of`: its part of what the run may do at once and in a minute.

    The parts of all workers together are the whole. Files are named in full.
    """

    def whole(value: int) -> int:
        return max(1, value // of + (number < value % of))

    providers = {
        name: given.model_copy(
            update={
                "concurrency": None if given.concurrency is None else whole(given.concurrency),
                "requests_per_minute": None if given.requests_per_minute is None else given.requests_per_minute / of,
                "tokens_per_minute": None if given.tokens_per_minute is None else given.tokens_per_minute / of,
            }
        )
        for name, given in settings.providers.items()
    }
    return settings.model_copy(
        update={
            "concurrency": whole(settings.concurrency),
            "providers": providers,
            "cache_dir": settings.cache_dir.absolute(),
            "certificates": settings.certificates.absolute(),
            "price_file": None if settings.price_file is None else settings.price_file.absolute(),
        }
    )
