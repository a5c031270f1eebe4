"""A batch in this process: one event loop, as many trajectories under way as allowed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from judge.config import Settings
from judge.engine.batch_engine import BatchJob
from judge.engine.bench import make_bench
from judge.engine.budget import wrap_up_notice
from judge.engine.connection import Opened, cache_failures
from judge.engine.control import Control
from judge.engine.escalating import escalating
from judge.engine.facade import budget_of
from judge.engine.run import Progress, Run
from judge.types.trajectory import Trajectory
from judge.types.verdict import Verdict


class LocalEngine:
    """Judges in the running event loop, with the job's own connection."""

    @asynccontextmanager
    async def ready(self, judge: Opened, settings: Settings) -> AsyncIterator[None]:
        """As `BatchEngine.ready`: nothing is needed but the judge."""
        yield

    def cache_failures(self, judge: Opened) -> int | None:
        """As `BatchEngine.cache_failures`."""
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
        """As `BatchEngine.run`."""
        first = make_bench(
            job.connection,
            job.rubric,
            job.settings,
            policy=job.policy,
            budget=budget_of(job.settings, spent=job.spent),
        )
        told = False

        def keep(verdict: Verdict) -> None:
            nonlocal told
            done(verdict)
            if not told and first.budget.wrapping_up():
                told = True
                job.notice(wrap_up_notice(first.budget.spent, job.setup.max_usd))

        async with escalating(first, job.settings.escalate, job.rubric, job.settings, policy=job.policy) as bench:
            run = Run(
                bench,
                trajectories,
                reference=job.references,
                concurrency=_under_way(job),
                total=job.pending,
                progress=progress,
                done=keep,
                control=control,
            )
            async for _ in run.batches():
                pass  # each verdict went to `done`


def _under_way(job: BatchJob) -> int:
    """Trajectories under way at once: of a model in this process no more than it takes, for an interrupt waits for
    those."""
    most = getattr(job.connection, "most_at_once", None)
    return min(job.settings.concurrency, most or job.settings.concurrency)
