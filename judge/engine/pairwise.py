"""Pairs of runs → pair verdicts: each pair asked in both orders, as many pairs at once as allowed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from judge.config import Settings
from judge.engine.budget import Budget, Promises
from judge.engine.connection import Connection, OpenJury, SharingConnection
from judge.engine.draw import Asking, Sample, all_of, draw, draw_together, estimated, numbered, recall
from judge.engine.facade import budget_of, open_judge, rubric_of
from judge.engine.judging import Stopped
from judge.engine.loop import PRIVATE
from judge.engine.pair_verdicts import Asked, pair_verdict
from judge.engine.pairing import Pair
from judge.engine.run import References, reference_of
from judge.engine.setup import Setup, make_setup
from judge.errors import BudgetReached, ContextOverflow, TerminalError, UsageError
from judge.metrics import measure
from judge.prompt import VIEW_VERSION, Prompt
from judge.prompt.facts import TOLD
from judge.prompt.pairwise import PAIR_PARSER_VERSION, render_pair
from judge.prompt.pairwise_parse import parse_pair
from judge.prompt.pairwise_text import pair_template_version
from judge.types.pair import PairVerdict, Side
from judge.types.reference import Reference
from judge.types.request import Reply, Sharing
from judge.types.rubric import Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import Vote

SIDES: tuple[Side, Side] = ("a", "b")
_CANNOT = ("rules", "replay")
"""Providers that answer with scores of single runs and nothing else."""


@dataclass(frozen=True)
class JudgedPairs:
    """What came of a list of pairs.

    Attributes:
        verdicts: Of the pairs that were finished, in the order of the pairs.
        stopped: What ended the run before all were finished, or None.
    """

    verdicts: tuple[PairVerdict, ...]
    stopped: TerminalError | BudgetReached | None = None


def judge_pairs(
    pairs: Sequence[Pair],
    rubric: str | Path | Rubric | None = None,
    *,
    judge: str | Connection | None = None,
    settings: Settings,
    reference: References = None,
    policy: str | None = None,
    done: Callable[[PairVerdict], None] | None = None,
    budget: Budget | None = None,
) -> JudgedPairs:
    """A verdict on every pair; blocks, and works where a loop is running.

    Args:
        settings: `samples` votes in each order, one where it is None; replies are cached as those of scores are.
        reference: One for all, or by id of `a`, of `b`, or by group.
        done: Called with each verdict when it is there, in the order of finishing.
        budget: Of a larger piece of work that this is part of; None for one of its own.

    Raises:
        UsageError: The judge scores single runs alone (a jury, rules, a replay), or the rubric needs a policy.
    """
    return PRIVATE.run(
        ajudge_pairs(
            pairs,
            rubric,
            judge=judge,
            settings=settings,
            reference=reference,
            policy=policy,
            done=done,
            budget=budget,
        )
    )


async def ajudge_pairs(
    pairs: Sequence[Pair],
    rubric: str | Path | Rubric | None = None,
    *,
    judge: str | Connection | None = None,
    settings: Settings,
    reference: References = None,
    policy: str | None = None,
    done: Callable[[PairVerdict], None] | None = None,
    budget: Budget | None = None,
) -> JudgedPairs:
    """As `judge_pairs`, in the running event loop."""
    used = rubric_of(rubric, settings)
    async with open_pair_judge(judge, settings) as connection:
        setup = pair_setup(used, connection, settings, policy=policy)
        judging = PairJudging(setup, connection, budget=budget or budget_of(settings))
        found: dict[int, PairVerdict] = {}
        waiting = iter(enumerate(pairs))

        async def work() -> None:
            for place, pair in waiting:
                if judging.stopped is not None:
                    return
                try:
                    verdict = await judging.judge(pair, pair_reference(pair, reference))
                    if done is not None:
                        done(verdict)
                except Stopped:
                    return
                except Exception as error:
                    judging.stop(error)
                    return
                found[place] = verdict

        await asyncio.gather(*(work() for _ in range(min(settings.concurrency, len(pairs)))))
    verdicts = tuple(found[place] for place in sorted(found))
    if judging.stopped is not None and not isinstance(judging.stopped, TerminalError | BudgetReached):
        raise judging.stopped
    return JudgedPairs(verdicts, judging.stopped)


def pair_reference(pair: Pair, given: References) -> Reference | None:
    """The reference of a pair's task: as that of its first run, else of its second."""
    return reference_of(pair.a, given) or reference_of(pair.b, given)


@asynccontextmanager
async def open_pair_judge(judge: str | Connection | None, settings: Settings) -> AsyncIterator[Connection]:
    """The judge, opened for the time of the block.

    Raises:
        UsageError: It scores single runs alone.
    """
    name = judge if isinstance(judge, str) else judge.name if judge is not None else settings.default_judge
    alone = UsageError(
        f"{name!r} scores single runs and cannot compare two.",
        hint="Name one judge that is a model, or a script (fake/FILE).",
    )
    if name.partition("/")[0] in _CANNOT:
        raise alone
    async with open_judge(judge, settings) as opened:
        if isinstance(opened, OpenJury):
            raise alone
        yield opened


def pair_setup(rubric: Rubric, connection: Connection, settings: Settings, *, policy: str | None = None) -> Setup:
    """The setup of a run over pairs: its judge is another one than that of scores, by template and parser.

    Raises:
        ConfigError: A spend cap is set and the judge's price is not known.
        UsageError: The rubric needs a policy text and none is given.
    """
    samples = settings.samples or 1
    plain = make_setup(rubric, connection, settings.model_copy(update={"stop": None}), policy=policy)
    spec = plain.spec.model_copy(
        update={
            "samples": samples,
            "vote": "majority",
            "view": VIEW_VERSION,
            "template": pair_template_version(rubric),
            "parser": PAIR_PARSER_VERSION,
        }
    )
    return replace(
        plain,
        spec=spec,
        samples=samples,
        vote="majority",
        fingerprints={**plain.fingerprints, "judge": spec.fingerprint},
        warnings=(),
    )


class PairJudging:
    """Judges pairs under one setup. Holds what the pairs of a run share: budget and the stop.

    Bound to the event loop that it is used in.
    """

    def __init__(
        self,
        setup: Setup,
        connection: Connection,
        *,
        budget: Budget | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.setup = setup
        self.connection = connection
        self.budget = budget or Budget(setup.max_usd)
        self.stopped: BaseException | None = None
        self._clock = clock
        self._promises = Promises()
        self._ended = asyncio.Event()

    def stop(self, error: BaseException) -> None:
        """Lets no further call begin; the first cause stays."""
        if self.stopped is None:
            self.stopped = error

    async def judge(self, pair: Pair, reference: Reference | None) -> PairVerdict:
        """The verdict on a pair, both orders asked.

        Raises:
            TerminalError, BudgetReached: The run has to stop; replies so far are in the cache.
        """
        started = self._clock()
        cap = self.setup.max_usd_per_item
        item = None if cap is None else Budget(cap, name="max_usd_per_item")
        orders = [self._order(pair, side, reference, item) for side in SIDES]
        async with self._room(sum(order.whole() for order in orders if isinstance(order, _Order))):
            asked = await all_of(*(_asked(order) for order in orders))
        return pair_verdict(self.setup, pair, reference, asked, seconds=self._clock() - started)

    @asynccontextmanager
    async def _room(self, whole: float) -> AsyncIterator[None]:
        """Waits until all of a pair fits under the cap beside all of those under way.

        So a run that reaches its cap ends with whole verdicts, and with none that is half paid for.
        """
        while not self.budget.fits_beside(self._promises.usd + whole):
            if not self._promises.held:
                raise self.budget.reached(whole)
            await self._ended.wait()  # what is under way may settle for less
        try:
            with self._promises.hold(whole):
                yield
        finally:
            self._ended.set()
            self._ended = asyncio.Event()

    def prompt(self, pair: Pair, first: Side, reference: Reference | None) -> Prompt:
        """The prompt of a pair in one order.

        Raises:
            ContextOverflow: The two do not fit the judge, even shortened.
        """
        x, y = (pair.a, pair.b) if first == "a" else (pair.b, pair.a)
        told = None if self.connection.offline else TOLD
        return render_pair(
            self.setup.rubric,
            x,
            y,
            count_tokens=self.connection.count_tokens,
            reference=reference,
            facts=(measure(x, reference, only=told), measure(y, reference, only=told)),
            policy=self.setup.policy,
            sampling=self.setup.sampling,
            context_tokens=self.connection.context_tokens,
        )

    def _order(self, pair: Pair, first: Side, reference: Reference | None, item: Budget | None) -> _Order | Asked:
        """One order with what the cache holds of it, or at once its failure where it does not fit the judge."""
        setup = self.setup
        x, y = (pair.a, pair.b) if first == "a" else (pair.b, pair.a)
        try:
            prompt = self.prompt(pair, first, reference)
        except ContextOverflow as error:
            vote = Vote(status="context_overflow", message=str(error), attempts=0)
            votes = {criterion.id: vote for criterion in setup.rubric.criteria}
            return Asked(first, None, (Sample(0, votes, kind="context_overflow"),))

        def parse(reply: Reply, rubric: Rubric, trajectory: Trajectory, *, sample: int = 0) -> dict[str, Vote]:
            return parse_pair(reply, rubric, trajectory, y, sample=sample)

        asking = Asking(replace(setup, parse=parse), self.connection, self.budget, x, prompt, self._check, item)
        kept = (
            recall(asking.setup, self.connection, x, numbered(prompt.request, index)) for index in range(setup.draws[1])
        )
        return _Order(first, asking, tuple(kept))

    def _check(self) -> None:
        if self.stopped is not None:
            raise Stopped


@dataclass(frozen=True, slots=True)
class _Order:
    """One order of a pair under way: what the cache holds, by sample, and None for what is to be drawn."""

    first: Side
    asking: Asking
    kept: tuple[Sample | None, ...]

    def whole(self) -> float:
        """Most that the samples to be drawn may cost, without retries; 0 where no cap is set."""
        asking = self.asking
        each = estimated(asking.setup, asking.connection, asking.prompt, asking.prompt.request) or 0.0
        return each * self.kept.count(None)


async def _asked(order: _Order | Asked) -> Asked:
    """The order with every sample drawn, in a way in which the provider bills the prompt once, where it can."""
    if isinstance(order, Asked):
        return order
    asking = order.asking
    missing = [index for index, sample in enumerate(order.kept) if sample is None]
    how: Sharing = "apart"
    if len(missing) > 1 and isinstance(asking.connection, SharingConnection):
        how = asking.connection.sharing(asking.prompt.request, asking.prompt.tokens)
    if how == "together":
        drawn = await draw_together(asking, missing)
    else:
        ahead = [await draw(asking, missing[0])] if how == "first_alone" else []
        drawn = [*ahead, *await all_of(*(draw(asking, index) for index in missing[len(ahead) :]))]
    by_index = {sample.index: sample for sample in (*order.kept, *drawn) if sample is not None}
    return Asked(order.first, asking.prompt, tuple(by_index[index] for index in sorted(by_index)))
