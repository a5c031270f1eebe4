"""A worker of a batch on Ray: it opens the judge once, and judges blocks of trajectories."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from judge.config import Settings
from judge.engine.bench import Bench, make_bench
from judge.engine.connection import Opened as OpenedJudge
from judge.engine.connection import cache_failures
from judge.engine.escalating import escalating
from judge.engine.facade import open_judge
from judge.engine.judging import Stopped
from judge.engine.observed import observed
from judge.engine.ray_budget import RemotePurse
from judge.engine.ray_log import KeptLog, LogLine
from judge.engine.sent_error import SentError
from judge.engine.standing import Standing
from judge.engine.telemetry import flush
from judge.errors import JudgeError
from judge.store.manifest import versions
from judge.types.jury import Jury
from judge.types.reference import Reference
from judge.types.rubric import Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import Verdict

FLUSH_S = 3.0


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker judges with.

    Attributes:
        name: Of the worker, unique in the run.
        settings: With this worker's share of concurrency and quotas; secrets are in them.
        standing: What certificates said when the run began, in the process that began it.
        folder: Working folder of that process, in which relative names of files are meant.
        log: Whether that process wants to know of single calls.
    """

    name: str
    judge: str | Jury
    rubric: Rubric
    settings: Settings
    policy: str | None
    standing: Standing
    folder: str
    log: bool = False


@dataclass(frozen=True, slots=True)
class Opened:
    """A worker that is ready, and what it would judge by."""

    pid: int
    host: str
    fingerprints: dict[str, str]
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class Report:
    """Verdicts as they come, and what was logged since the last report; `error` is what stopped the worker."""

    verdicts: tuple[Verdict, ...] = ()
    lines: tuple[LogLine, ...] = ()
    error: SentError | None = None


Item = tuple[Trajectory, Reference | None]


class JudgeWorker:
    """Lives in a Ray actor. `open` comes first; blocks may overlap, and share the worker's concurrency."""

    def __init__(self, assignment: Assignment, keeper: Any = None) -> None:
        """`keeper`: handle of the actor that holds the budget, or None where no cap is set."""
        self._assignment = assignment
        self._purse = None if keeper is None else RemotePurse(keeper, assignment.name)
        self._places = asyncio.Semaphore(assignment.settings.concurrency)
        self._draining = False
        self._stack = AsyncExitStack()
        self._bench: Bench | None = None
        self._judge: OpenedJudge | None = None
        self._log = KeptLog()

    async def open(self) -> Opened | SentError:
        """Opens the judge; the error says why it cannot be opened here."""
        given = self._assignment
        self._log.listen(calls=given.log)
        with contextlib.suppress(OSError):  # on another machine the folder need not exist
            os.chdir(given.folder)
        try:
            opened = await self._stack.enter_async_context(open_judge(given.judge, given.settings))
            self._judge = opened
            bench = make_bench(
                observed(opened, given.settings), given.rubric, given.settings, policy=given.policy, purse=self._purse
            )
        except JudgeError as error:
            return SentError.of(error)
        bench.setup = replace(bench.setup, standing=given.standing)
        try:
            self._bench = await self._stack.enter_async_context(
                escalating(
                    bench,
                    given.settings.escalate,
                    given.rubric,
                    given.settings,
                    policy=given.policy,
                    purse=self._purse,
                )
            )
        except JudgeError as error:
            return SentError.of(error)
        return Opened(os.getpid(), socket.gethostname(), dict(bench.setup.fingerprints), versions())

    async def judge(self, block: Sequence[Item]) -> AsyncIterator[Report]:
        """The verdicts of a block, each as soon as it is there; those that are ready together come together."""
        ready: asyncio.Queue[Verdict | None] = asyncio.Queue()

        async def one(item: Item) -> None:
            try:
                verdict = await self._judged(*item)
                if verdict is not None:
                    ready.put_nowait(verdict)
            finally:
                ready.put_nowait(None)

        tasks = [asyncio.ensure_future(one(item)) for item in block]
        left = len(tasks)
        while left:
            came = [await ready.get()]
            while not ready.empty():
                came.append(ready.get_nowait())
            left -= came.count(None)
            verdicts = tuple(verdict for verdict in came if verdict is not None)
            if verdicts:
                yield Report(verdicts, self._log.take())
        await asyncio.gather(*tasks)
        if rest := self._log.take():
            yield Report(lines=rest)
        stopped = self._opened().stopped
        if isinstance(stopped, JudgeError):
            yield Report(error=SentError.of(stopped))
        elif stopped is not None:
            raise stopped

    async def drain(self) -> None:
        """Lets no further trajectory begin; those under way are finished."""
        self._draining = True

    async def wrap_up(self) -> None:
        """The budget comes to its end: votes that a verdict can do without are not drawn."""
        if self._purse is not None:
            self._purse.near_its_end = True

    async def close(self) -> int | None:
        """Closes the judge, and sends what telemetry holds: the process is ended from outside.

        Returns:
            Reads and writes that the cache failed to do; None where nobody counts.
        """
        await self._stack.aclose()
        if self._assignment.settings.telemetry:
            await asyncio.to_thread(flush, FLUSH_S)
        return None if self._judge is None else cache_failures(self._judge)

    def _opened(self) -> Bench:
        if self._bench is None:
            raise RuntimeError("a worker was given a block before it was opened")
        return self._bench

    async def _judged(self, trajectory: Trajectory, reference: Reference | None) -> Verdict | None:
        """The verdict; None when the run ends before it."""
        bench = self._opened()
        async with self._places:
            if self._draining or bench.stopped is not None:
                return None
            try:
                case = bench.begin(trajectory, reference)
                if isinstance(case, Verdict):
                    return case
                return bench.recall(case) or await self._paid(bench, case)
            except Stopped:
                return None
            except Exception as error:
                bench.stop(error)
                return None

    async def _paid(self, bench: Bench, case: Any) -> Verdict:
        if self._purse is None:
            return await bench.finish(case)
        whole = bench.whole(case)
        await self._purse.begin(whole)
        try:
            return await bench.finish(case)
        finally:
            self._purse.end(whole)
