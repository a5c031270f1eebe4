"""Many trajectories → verdicts in input order, as many at once as allowed, never all in memory."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import length_hint
from typing import Any

from judge.engine.bench import Bench
from judge.engine.control import Control
from judge.engine.judging import Stopped
from judge.errors import BudgetReached, TerminalError, UsageError
from judge.types.reference import Reference
from judge.types.trajectory import Trajectory
from judge.types.verdict import Verdict

BATCH = 64
"""Verdicts handed over at once at most; fewer whenever the run would otherwise wait."""
BACKLOG = 4
"""Trajectories that may be read ahead of the oldest one under way, as a multiple of the concurrency."""

References = Reference | Mapping[str, Reference] | None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    Attributes:
        done: Verdicts so far; `total` is None where the number of trajectories is not known.
        failed: Of them, those with status "error".
        calls: Judge calls so far; `cached` samples needed none.
        cost_usd: Of those calls; None when one is not known. `known_usd` is that of the verdicts whose cost is known,
            and `unpriced` how many calls the others took.
        errors: Failed verdicts by kind.
        cache_failures: Reads and writes that the cache failed to do; None where nobody counts.
    """

    done: int
    total: int | None
    failed: int
    calls: int
    cached: int
    cost_usd: float | None
    errors: Mapping[str, int] = field(default_factory=dict)
    cache_failures: int | None = None
    known_usd: float = 0.0
    unpriced: int = 0


class Count:
    """Running counts over the verdicts of a run, in the order of finishing."""

    def __init__(self, total: int | None) -> None:
        """`total`: how many trajectories there are, or None where that is not known."""
        self._total = total
        self._done = 0
        self._failed = 0
        self._errors: Counter[str] = Counter()
        self._calls = 0
        self._cached = 0
        self._known_usd = 0.0
        self._unpriced = 0

    def add(self, verdict: Verdict) -> Progress:
        """Counts a verdict in; says how far the run is."""
        self._done += 1
        if verdict.status == "error":
            self._failed += 1
            self._errors[verdict.errors[0].kind if verdict.errors else "quorum"] += 1
        self._calls += verdict.calls
        self._cached += verdict.cached
        if verdict.calls:
            self._known_usd += verdict.cost_usd or 0.0
            self._unpriced += verdict.calls if verdict.cost_usd is None else 0
        return Progress(
            done=self._done,
            total=self._total,
            failed=self._failed,
            calls=self._calls,
            cached=self._cached,
            cost_usd=None if self._unpriced else self._known_usd,
            errors=self._errors,
            known_usd=self._known_usd,
            unpriced=self._unpriced,
        )

    def cause(self, error: BaseException) -> BaseException:
        """The error that stopped the run, saying how far it came."""
        if not isinstance(error, BudgetReached | TerminalError):
            return error
        left = f"{self._total - self._done} left" if self._total is not None else "the rest left"
        said = error.message if error.message.endswith((".", "!", "?")) else f"{error.message}."
        if isinstance(error, BudgetReached):
            return BudgetReached(f"{said} {self._done} judged, {left}.", hint=error.hint)
        return type(error)(
            f"{said} {self._done} judged, {left}.",
            hint=error.hint,
            provider=error.provider,
            status_code=error.status_code,
            reason=error.reason,
        )


def reference_of(trajectory: Trajectory, given: References) -> Reference | None:
    """The reference of one trajectory: by its id, else by its group, or the one for all."""
    if given is None or isinstance(given, Reference):
        return given
    found = given.get(trajectory.id)
    if found is None and trajectory.group is not None:
        found = given.get(trajectory.group)
    return found


class Run:
    """One pass over a stream of trajectories. Use once."""

    def __init__(
        self,
        judging: Bench,
        trajectories: Iterable[Trajectory],
        *,
        reference: References = None,
        concurrency: int,
        total: int | None = None,
        progress: Callable[[Progress], None] | None = None,
        done: Callable[[Verdict], None] | None = None,
        control: Control | None = None,
    ) -> None:
        """
        Args:
            reference: One for every trajectory, or a mapping from trajectory id, or else group, to one.
            concurrency: Trajectories under way at once.
            total: How many there are, where the iterable does not say.
            done: Takes each verdict as soon as it is there, before it counts. Then `batches` gives none, no
                verdict waits for another one, and the ids have been checked by the caller. What it raises stops
                the run.
            control: Lets others end the run early.
        """
        self._judging = judging
        self._source = trajectories
        self._reference = reference
        self._concurrency = concurrency
        self._progress = progress
        self._done = done
        self._control = control or Control()
        hint = length_hint(trajectories, -1)
        self._counted = Count(hint if hint >= 0 else total)
        self._seen: dict[str, str] = {}
        self._window: deque[Verdict | asyncio.Task[Verdict]] = deque()
        self._running: set[asyncio.Task[Verdict]] = set()
        self._wake: asyncio.Future[None] | None = None

    async def batches(self) -> AsyncGenerator[list[Verdict], None]:
        """Verdicts in input order, some at a time.

        When something stops the run, what was finished comes first, in input order without the gaps, and
        then the cause is raised: nothing that was paid for is lost.

        Raises:
            TerminalError, BudgetReached: No further call can be made.
            UsageError: Two trajectories have the same id.
        """
        judging = self._judging
        ready: list[Verdict] = []
        try:
            for trajectory in self._incoming():
                begun = judging.begin(trajectory, reference_of(trajectory, self._reference))
                verdict = begun if isinstance(begun, Verdict) else judging.recall(begun)
                if verdict is not None:
                    self._count(verdict)
                    if self._done is None:
                        self._window.append(verdict)
                elif not isinstance(begun, Verdict):
                    while not judging.may_begin(begun) and self._running:
                        await self._change()  # what is under way may settle for less
                    if not judging.may_begin(begun):
                        judging.stop(judging.budget.reached(judging.whole(begun)))
                        break
                    self._start(begun)
                    await asyncio.sleep(0)  # lets the new call leave before the next prompt is made
                self._take(ready)
                while self._running and self._full():
                    if ready:
                        yield ready
                        ready = []
                    else:
                        await self._change()
                    self._take(ready)  # tasks may have ended during the yield as well
                if len(ready) >= BATCH:
                    yield ready
                    ready = []
            while self._running:
                if ready:
                    yield ready
                    ready = []
                else:
                    await self._change()
                self._take(ready)
            self._take(ready, gaps=True)
            if ready:
                yield ready
            if judging.stopped is not None:
                raise self._counted.cause(judging.stopped) from judging.stopped.__cause__
        finally:
            await self._cancel()

    def _incoming(self) -> Iterator[Trajectory]:
        """The trajectories until the run is stopped; an error of the source stops it too."""
        source = iter(self._source)
        while self._judging.stopped is None and not self._control.ending():
            try:
                trajectory = next(source)
                if self._done is None:
                    self._check_id(trajectory)
            except StopIteration:
                return
            except Exception as error:
                self._judging.stop(error)
                return
            yield trajectory

    def _check_id(self, trajectory: Trajectory) -> None:
        source = trajectory.source
        here = " ".join(part for part in (source.path, source.locator) if part) or "an unnamed source"
        first = self._seen.get(trajectory.id)
        if first is None:
            self._seen[trajectory.id] = here
        else:
            raise UsageError(
                f"Two trajectories are named {trajectory.id!r}: {first} and {here}.",
                hint="Give each trajectory its own id; verdicts and labels are joined by it.",
            )

    def _start(self, case: Any) -> None:
        task = asyncio.get_running_loop().create_task(self._judging.finish(case))
        self._running.add(task)
        if self._done is None:
            self._window.append(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Verdict]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            error = task.exception()
            if error is None:
                self._count(task.result())
            elif not isinstance(error, Stopped):
                self._judging.stop(error)
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def _full(self) -> bool:
        return len(self._running) >= self._concurrency or len(self._window) >= BACKLOG * self._concurrency

    async def _change(self) -> None:
        """Waits until a task ends."""
        self._wake = asyncio.get_running_loop().create_future()
        await self._wake

    def _take(self, ready: list[Verdict], *, gaps: bool = False) -> None:
        """Moves finished verdicts from the head of the window; with `gaps` past those that have none."""
        window = self._window
        while window:
            head = window[0]
            if isinstance(head, Verdict):
                ready.append(head)
            elif not head.done():
                return
            elif not head.cancelled() and head.exception() is None:
                ready.append(head.result())
            elif not gaps:
                return
            window.popleft()

    def _count(self, verdict: Verdict) -> None:
        if self._done is not None:
            try:
                self._done(verdict)
            except Exception as error:
                self._judging.stop(error)
                return
        progress = self._counted.add(verdict)
        if self._progress is not None:
            self._progress(progress)

    async def _cancel(self) -> None:
        running = list(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.gather(*running, return_exceptions=True)
