"""One trajectory → one verdict: measure, render, recall or draw samples, vote."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from judge.engine.budget import Budget, Promises, Purse
from judge.engine.connection import Connection, SharedConnection, SharingConnection
from judge.engine.draw import Asking, Sample, all_of, draw, draw_together, estimated, numbered, recall
from judge.engine.setup import Setup
from judge.engine.verdicts import make_verdict, overflow_verdict
from judge.errors import ContextOverflow
from judge.metrics import measure
from judge.prompt import Prompt, render
from judge.prompt.facts import TOLD
from judge.types.reference import Reference
from judge.types.request import Request, Sharing
from judge.types.trajectory import Trajectory
from judge.types.verdict import Verdict, Vote
from judge.voting import WRAPPED_UP, more_samples, tally

LOG = logging.getLogger("judge.budget")


@dataclass(slots=True)
class Case:
    """One trajectory under way. Nothing of it is shared with another one.

    Attributes:
        samples: Samples that count, in the order of their index.
        recalled: Samples found in the cache that do not count yet; None marks a miss.
        budget: Money for this trajectory alone, or None.
        wrapped_up: Whether votes were left out because most of the run's money was spent.
    """

    trajectory: Trajectory
    reference: Reference | None
    prompt: Prompt
    started: float
    budget: Budget | None = None
    samples: list[Sample] = field(default_factory=list)
    votes: dict[str, list[Vote]] = field(default_factory=dict)
    recalled: dict[int, Sample | None] = field(default_factory=dict)
    wrapped_up: bool = False

    def add(self, sample: Sample) -> None:
        """Counts a sample in."""
        self.samples.append(sample)
        for name, vote in sample.votes.items():
            self.votes.setdefault(name, []).append(vote)


class Judging:
    """Judges trajectories under one setup. Holds what the cases of a run share: budget, calls under way, the stop.

    Bound to the event loop that it is used in.
    """

    def __init__(
        self,
        setup: Setup,
        connection: Connection,
        *,
        budget: Budget | None = None,
        purse: Purse | None = None,
        seated: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            budget: Pays for the calls, and may pay for others too; None for one of `max_usd` alone.
            purse: Pays for the calls in place of `budget`, where the money is held elsewhere.
            seated: Whether this is a seat of a jury, which can do without it.
        """
        self.setup = setup
        self.connection = connection
        self.budget = budget or Budget(setup.max_usd)
        self._purse: Purse = purse or self.budget
        self._wrapping_up = self._purse.wrapping_up
        self.stopped: BaseException | None = None
        self._sharing = connection if isinstance(connection, SharingConnection) else None
        self._shared: SharedConnection | None = None
        if setup.shared and isinstance(connection, SharedConnection) and connection.shares_cache:
            self._shared = connection
        self._promises = Promises()
        self._seated = seated
        self._told = False
        self._clock = clock
        self._flights: dict[Hashable, asyncio.Future[None]] = {}

    def begin(self, trajectory: Trajectory, reference: Reference | None) -> Case | Verdict:
        """The case of a trajectory, or at once its verdict when it does not fit the judge."""
        setup, connection = self.setup, self.connection
        started = self._clock()
        try:
            prompt = render(
                setup.rubric,
                trajectory,
                count_tokens=connection.count_tokens,
                reference=reference,
                facts=measure(trajectory, reference, only=None if connection.offline else TOLD),
                policy=setup.policy,
                sampling=setup.sampling,
                context_tokens=connection.context_tokens,
            )
        except ContextOverflow as error:
            return overflow_verdict(setup, trajectory, reference, error)
        if setup.draws[1] > 1 and not connection.offline:
            prompt = prompt.model_copy(update={"request": prompt.request.model_copy(update={"repeated": True})})
        cap = setup.max_usd_per_item
        return Case(
            trajectory, reference, prompt, started, budget=None if cap is None else Budget(cap, name="max_usd_per_item")
        )

    def whole(self, case: Case) -> float:
        """Most that a trajectory may cost, without retries: all of its samples; 0 where no cap is set."""
        estimate = estimated(self.setup, self.connection, case.prompt, case.prompt.request) or 0.0
        return estimate * (self.setup.draws[1] - len(case.samples))

    def may_begin(self, case: Case) -> bool:
        """Whether all samples of a trajectory fit under the cap beside all samples of those under way.

        So a run that reaches its cap ends with whole verdicts, and with none that is half paid for.
        """
        if not self._told and self._wrapping_up():
            self._told = True
            LOG.warning("most of the budget is spent", extra={"facts": {"spent_usd": self.budget.spent}})
        return self.budget.fits_beside(self._promises.usd + self.whole(case))

    def recall(self, case: Case) -> Verdict | None:
        """The verdict when the cache holds every sample it takes, else None. Waits for nothing."""
        setup = self.setup
        while wanted := more_samples(case.votes, setup.rubric, setup.samples, setup.stop):
            first = len(case.samples)
            found = [self._recall(case, index) for index in range(first, first + wanted)]
            for sample in found:
                if sample is None:
                    return None
            for sample in found:
                if sample is not None:
                    case.add(sample)
        return self._verdict(case)

    async def finish(self, case: Case) -> Verdict:
        """The verdict, with the samples drawn that the cache does not hold.

        Raises:
            TerminalError, BudgetReached: The run has to stop; replies so far are in the cache.
        """
        with self._promises.hold(self.whole(case)):
            return await self._finish(case)

    async def _finish(self, case: Case) -> Verdict:
        setup = self.setup
        while wanted := more_samples(case.votes, setup.rubric, setup.samples, setup.stop):
            first = len(case.samples)
            if self._leaves_out(case, range(first, first + wanted)):
                break
            if wanted == 1:
                case.add(await self._sample(case, first))
                continue
            for sample in await self._several(case, range(first, first + wanted)):
                case.add(sample)
        return self._verdict(case)

    def _leaves_out(self, case: Case, indices: Sequence[int]) -> bool:
        """Whether these votes are not drawn, since most of the money is spent and the verdict stands without them.

        Never where they cost nothing, or where the user asked for a number of votes.
        """
        setup = self.setup
        if setup.samples is not None or len(case.samples) < setup.draws[0] or not self._wrapping_up():
            return False
        if all(self._recall(case, index) is not None for index in indices):
            return False
        results = (tally(case.votes[one.id], one, rule=setup.vote) for one in setup.rubric.criteria)
        case.wrapped_up = all(result.status in ("ok", "not_applicable") for result in results)
        return case.wrapped_up

    async def judge(self, trajectory: Trajectory, reference: Reference | None) -> Verdict:
        """All of it for one trajectory."""
        case = self.begin(trajectory, reference)
        if isinstance(case, Verdict):
            return case
        return self.recall(case) or await self.finish(case)

    def stop(self, error: BaseException) -> None:
        """Lets no further call begin; the first cause stays."""
        if self.stopped is None:
            self.stopped = error

    def _check(self) -> None:
        if self.stopped is not None:
            raise Stopped

    def _recall(self, case: Case, index: int) -> Sample | None:
        if index in case.recalled:
            return case.recalled[index]
        request = numbered(case.prompt.request, index)
        found = recall(self.setup, self.connection, case.trajectory, request)
        case.recalled[index] = found
        return found

    async def _sample(self, case: Case, index: int) -> Sample:
        kept = self._recall(case, index)
        if kept is not None:
            return kept
        if not self.setup.shared:
            return await self._draw(case, index)
        key = _flight(numbered(case.prompt.request, index))
        while (flight := self._flights.get(key)) is not None:
            await asyncio.shield(flight)
            case.recalled.pop(index, None)
            kept = self._recall(case, index)
            if kept is not None:
                return kept
        with self._in_flight([key]):
            return await self._draw(case, index)

    async def _several(self, case: Case, indices: Sequence[int]) -> list[Sample]:
        """Samples of one prompt, asked so that the provider bills the prompt once, where it can."""
        missing = [index for index in indices if self._recall(case, index) is None]
        how: Sharing = "apart"
        if len(missing) > 1 and self._sharing is not None:
            how = self._sharing.sharing(case.prompt.request, case.prompt.tokens)
        if how == "together":
            missing = await self._landed(case, missing)
            ahead = await self._together(case, missing) if len(missing) > 1 else []
        elif how == "first_alone" and all(sample.recalled for sample in case.samples):
            ahead = [await self._sample(case, missing[0])]
        else:
            ahead = []
        done = {sample.index for sample in ahead}
        others = await all_of(*(self._sample(case, index) for index in indices if index not in done))
        return sorted([*ahead, *others], key=lambda sample: sample.index)

    async def _landed(self, case: Case, indices: Sequence[int]) -> list[int]:
        """Those that the cache does not hold once no equal request of the run is under way."""
        missing = list(indices)
        keys = [_flight(numbered(case.prompt.request, index)) for index in missing] if self.setup.shared else []
        while flights := {flight for key in keys if (flight := self._flights.get(key)) is not None}:
            await asyncio.wait(flights)
            for index in missing:
                case.recalled.pop(index, None)
            missing = [index for index in missing if self._recall(case, index) is None]
            keys = [_flight(numbered(case.prompt.request, index)) for index in missing]
        return missing

    async def _together(self, case: Case, indices: Sequence[int]) -> list[Sample]:
        keys = [_flight(numbered(case.prompt.request, index)) for index in indices] if self.setup.shared else []
        with self._in_flight(keys):
            async with self._alone(case, indices):
                missing = [index for index in indices if self._recall(case, index) is None]
                return await draw_together(self._asking(case), missing) if len(missing) > 1 else []

    @contextmanager
    def _in_flight(self, keys: Sequence[Hashable]) -> Iterator[None]:
        """Lets equal requests of the run wait for this one."""
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for key in keys:
            self._flights[key] = mine
        try:
            yield
        finally:
            for key in keys:
                del self._flights[key]
            mine.set_result(None)

    async def _draw(self, case: Case, index: int) -> Sample:
        if self._shared is None:
            return await draw(self._asking(case), index)
        async with self._alone(case, [index]):
            return self._recall(case, index) or await draw(self._asking(case), index)

    @asynccontextmanager
    async def _alone(self, case: Case, indices: Sequence[int]) -> AsyncIterator[None]:
        """Waits while other processes ask for the same samples; then the cache is looked into once more.

        Samples are waited for in the order of their index, so that no two processes wait for one another.
        """
        async with AsyncExitStack() as stack:
            for index in indices:
                request = numbered(case.prompt.request, index)
                if self._shared is not None and await stack.enter_async_context(self._shared.alone(request)):
                    case.recalled.pop(index, None)
            yield

    def _asking(self, case: Case) -> Asking:
        return Asking(
            self.setup,
            self.connection,
            self._purse,
            case.trajectory,
            case.prompt,
            self._check,
            case.budget,
            seated=self._seated,
        )

    def _verdict(self, case: Case) -> Verdict:
        seconds = self._clock() - case.started
        made = make_verdict(self.setup, case.trajectory, case.reference, case.prompt, case.samples, seconds=seconds)
        return made.model_copy(update={"warnings": (*made.warnings, WRAPPED_UP)}) if case.wrapped_up else made


class Stopped(Exception):
    """The run was stopped before this trajectory was done; the cause is `Judging.stopped`."""


def _flight(request: Request) -> Hashable:
    """What makes two requests of one run the same call."""
    return request.system, request.segments, request.sampling, request.sample
