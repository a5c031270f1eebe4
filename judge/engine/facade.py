"""The Python API: load, measure, score. Each blocking function has an async twin with the same arguments.

Blocking calls run on one private event loop, so they also work where a loop is already running.
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from judge.config import Settings, load_settings
from judge.engine.bench import make_bench
from judge.engine.budget import Budget
from judge.engine.connection import JudgeLike, Opened, OpenJury, cache_failures
from judge.engine.intake import TrajectoryLike, as_reference, as_trajectories, as_trajectory
from judge.engine.jury_file import is_jury, load_jury
from judge.engine.loop import PRIVATE
from judge.engine.run import Progress, Run
from judge.errors import ConfigError, UsageError
from judge.importers import load as read
from judge.metrics import measure as measure_all
from judge.policy import check as check_policy
from judge.prompt import load_rubric
from judge.protocols import Cache, CustomCheck
from judge.providers.cache import CacheWarning
from judge.providers.caches import open_cache
from judge.providers.connection import connect
from judge.store.ledger import DayLedger
from judge.types.escalation import EscalationRules
from judge.types.jury import Jury
from judge.types.metric import MetricResult
from judge.types.policy import Policy, PolicyResult
from judge.types.reference import Reference
from judge.types.rubric import Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import Verdict


def load(
    path: str | Path, *, format: str | None = None, mapping: dict[str, Any] | None = None, limit: int | None = None
) -> list[Trajectory]:
    """Every trajectory of a file; the format is found by content unless named.

    All are in memory at once. For files too large for that, give the path to `score_many`, or use
    `judge.importers.load`, which streams.

    Raises:
        TraceError: The file is not there, is empty, or holds no trace; the message names file and line.
        AmbiguousFormat: Two formats fit equally well.
    """
    return list(read(path, format=format, mapping=mapping, limit=limit))


def measure(trajectory: TrajectoryLike, reference: Any = None, **options: Any) -> dict[str, MetricResult]:
    """Every deterministic metric of a trajectory by name; no model is called.

    Args:
        reference: A `Reference`, or what `judge.metrics.parse_reference` reads.
        options: Of `judge.metrics.measure`, e.g. `only=["num_tool_calls"]`.
    """
    given = as_reference(reference)
    if given is not None and not isinstance(given, Reference):
        raise UsageError("measure takes one reference, and a mapping of several was given.")
    return measure_all(as_trajectory(trajectory), given, **options)


def check(
    trajectory: TrajectoryLike,
    policy: Policy | str | Path | Mapping[str, Any],
    *,
    custom: Mapping[str, CustomCheck] | None = None,
) -> PolicyResult:
    """Every check of a policy on one trajectory; no model is called.

    Args:
        policy: The path of a policy file, its content as a mapping, or a `Policy`.
        custom: Checks of your own, by the name that the policy gives them.

    Raises:
        PolicyError: The policy does not load, or a custom check crashed; the message names file and line.
        TraceError: `trajectory` is no trace of a known format.
    """
    return check_policy(as_trajectory(trajectory), policy, custom=custom)


def score(
    trajectory: TrajectoryLike,
    rubric: str | Path | Rubric | None = None,
    *,
    judge: JudgeLike | None = None,
    reference: Any = None,
    policy: str | None = None,
    require_trust: bool = False,
    settings: Settings | None = None,
    escalate: EscalationRules | None = None,
    **options: Any,
) -> Verdict:
    """The verdict on one trajectory.

    A judgement that fails is a verdict with status "error" and its causes, not an exception.

    Args:
        trajectory: A `Trajectory`, its JSON, a list of messages or events, or the path of a file with one.
        rubric: A shipped name, a path or a `Rubric`; None for the configured one ("process").
        judge: A judge's name, a `Jury`, or an opened connection, which stays open; None for the configured one.
        reference: Expected answer or path, as `Reference` or in any form that `parse_reference` reads.
        policy: Policy text, for rubrics that need one.
        require_trust: Refuse to call a judge that has no valid certificate (`Settings.certificates` is the folder).
        settings: Replaces judge.toml and the environment; None reads them.
        escalate: When the verdict is sent on to a second judge or a person; None for never, whatever judge.toml says.
        options: Settings for this call, e.g. `samples=3`, `vote="median"`, `temperature=1.0`, `cache=False`.

    Raises:
        UsageError: Rubric, judge, trajectory or a setting is wrong.
        TerminalError: The judge takes no calls: key, payment, quota.
        BudgetReached: `max_usd` leaves no room for a call.
        TrustRequired: Trust was required and is not there.
    """
    return PRIVATE.run(
        ascore(
            trajectory,
            rubric,
            judge=judge,
            reference=reference,
            policy=policy,
            require_trust=require_trust,
            settings=settings,
            escalate=escalate,
            **options,
        )
    )


async def ascore(
    trajectory: TrajectoryLike,
    rubric: str | Path | Rubric | None = None,
    *,
    judge: JudgeLike | None = None,
    reference: Any = None,
    policy: str | None = None,
    require_trust: bool = False,
    settings: Settings | None = None,
    escalate: EscalationRules | None = None,
    **options: Any,
) -> Verdict:
    """As `score`, in the running event loop."""
    one = as_trajectory(trajectory)
    verdicts = ascore_many(
        [one],
        rubric,
        judge=judge,
        reference=reference,
        policy=policy,
        require_trust=require_trust,
        settings=settings,
        escalate=escalate,
        **options,
    )
    found = [verdict async for verdict in verdicts]
    return found[0]


def score_many(
    trajectories: str | Path | Iterable[TrajectoryLike],
    rubric: str | Path | Rubric | None = None,
    *,
    judge: JudgeLike | None = None,
    reference: Any = None,
    policy: str | None = None,
    require_trust: bool = False,
    settings: Settings | None = None,
    escalate: EscalationRules | None = None,
    progress: Callable[[Progress], None] | None = None,
    budget: Budget | None = None,
    **options: Any,
) -> Generator[Verdict, None, None]:
    """Verdicts on many trajectories, in input order, as they are ready.

    Work begins with the first `next`. The trajectories are read as the run goes (in the private event
    loop's thread), never all at once. When something stops the run, every finished verdict is given
    first and the cause is raised after the last: keep them as they come.

    Args:
        trajectories: A path, or any iterable of what `score` takes.
        reference: One for all, or a mapping from trajectory id, or else group, to a `Reference`.
        escalate: Which verdicts are sent on to a second judge or a person; None for none, whatever judge.toml says.
        progress: Called with a `Progress` after each verdict, in the order of finishing.
        budget: Of a larger piece of work that these calls are part of (`budget_of`); None for one of their own.

    Raises:
        UsageError: As for `score`, or two trajectories have the same id.
        TerminalError, BudgetReached, TrustRequired: As for `score`.
    """
    batches = _batches(
        trajectories,
        rubric,
        judge=judge,
        reference=reference,
        policy=policy,
        require_trust=require_trust,
        settings=settings,
        escalate=escalate,
        progress=progress,
        budget=budget,
        options=options,
    )
    with closing(_Blocking(batches)) as blocking:
        while (batch := blocking.next()) is not None:
            yield from batch


async def ascore_many(
    trajectories: str | Path | Iterable[TrajectoryLike],
    rubric: str | Path | Rubric | None = None,
    *,
    judge: JudgeLike | None = None,
    reference: Any = None,
    policy: str | None = None,
    require_trust: bool = False,
    settings: Settings | None = None,
    escalate: EscalationRules | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> AsyncGenerator[Verdict, None]:
    """As `score_many`, in the running event loop."""
    batches = _batches(
        trajectories,
        rubric,
        judge=judge,
        reference=reference,
        policy=policy,
        require_trust=require_trust,
        settings=settings,
        escalate=escalate,
        progress=progress,
        options=options,
    )
    try:
        async for batch in batches:
            for verdict in batch:
                yield verdict
    finally:
        await batches.aclose()


async def _batches(
    trajectories: str | Path | Iterable[TrajectoryLike],
    rubric: str | Path | Rubric | None,
    *,
    judge: JudgeLike | None,
    reference: Any,
    policy: str | None,
    require_trust: bool,
    settings: Settings | None,
    escalate: EscalationRules | None,
    progress: Callable[[Progress], None] | None,
    options: dict[str, Any],
    budget: Budget | None = None,
) -> AsyncGenerator[list[Verdict], None]:
    from judge.engine.escalating import escalating  # opens its second judge by this module

    chosen = settings_of(settings, options)
    references = as_reference(reference)
    used = rubric_of(rubric, chosen)
    async with open_judge(judge, chosen) as opened:
        bench = make_bench(opened, used, chosen, policy=policy, budget=budget or budget_of(chosen))
        if require_trust:
            bench.setup.standing.require()
        async with escalating(bench, escalate, used, chosen, policy=policy, require_trust=require_trust) as whole:
            batches = Run(
                whole,
                as_trajectories(trajectories),
                reference=references,
                concurrency=chosen.concurrency,
                progress=None if progress is None else lambda now: progress(_with_failures(now, opened)),
            ).batches()
            try:
                async for batch in batches:
                    yield batch
            finally:
                await batches.aclose()


def _with_failures(now: Progress, opened: Opened) -> Progress:
    return replace(now, cache_failures=cache_failures(opened))


class _Blocking:
    """Pulls an async generator from a thread without a loop."""

    def __init__(self, batches: AsyncGenerator[list[Verdict], None]) -> None:
        self._batches = batches

    def next(self) -> list[Verdict] | None:
        return PRIVATE.run(self._next())

    async def _next(self) -> list[Verdict] | None:
        return await anext(self._batches, None)

    def close(self) -> None:
        PRIVATE.run(self._close())

    async def _close(self) -> None:
        await self._batches.aclose()


def settings_of(settings: Settings | None, options: dict[str, Any]) -> Settings:
    """The settings of one call: `options` over `settings`, or over judge.toml and the environment.

    Raises:
        ConfigError: An option is unknown or does not fit.
    """
    if settings is None:
        return load_settings(options)
    given = {name: value for name, value in options.items() if value is not None}
    if not given:
        return settings
    try:
        checked = Settings.model_validate({"cache_dir": settings.cache_dir, **given})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"Setting {where!r} is {first.get('input')!r}: {first['msg']}.") from None
    return settings.model_copy(
        update={"keys": {**settings.keys, **checked.keys}, **{name: getattr(checked, name) for name in given}}
    )


def ledger_of(settings: Settings) -> DayLedger | None:
    """The day's spend where it is capped: one file for all runs that share the cache folder."""
    cap = settings.max_usd_per_day
    return None if cap is None else DayLedger(settings.cache_dir / "spend", cap)


def budget_of(settings: Settings, *, spent: float = 0.0) -> Budget:
    """The caps of one piece of work. All that is judged for it, one after another, is paid from this one budget.

    Args:
        spent: What earlier work used of the same `max_usd`.
    """
    return Budget(settings.max_usd, spent=spent, ledger=ledger_of(settings))


def rubric_of(rubric: str | Path | Rubric | None, settings: Settings) -> Rubric:
    """The rubric named, or the configured one."""
    if isinstance(rubric, Rubric):
        return rubric
    return load_rubric(settings.rubric if rubric is None else rubric)


@asynccontextmanager
async def open_judge(judge: JudgeLike | None, settings: Settings) -> AsyncIterator[Opened]:
    """The judge, or every judge of a jury, opened for the time of the block; what came open is left open.

    Raises:
        UsageError: A jury's file is wrong, or a jury is to sit on a jury.
    """
    asked = judge if judge is not None else settings.default_judge
    if isinstance(asked, str) and is_jury(asked):
        asked = load_jury(asked, settings)
    if not isinstance(asked, str | Jury):
        yield asked
        return
    cache = _cache_for(asked, settings)
    try:
        opened = (
            _open_jury(asked, settings, cache) if isinstance(asked, Jury) else connect(asked, settings, cache=cache)
        )
        try:
            yield opened
        finally:
            await opened.aclose()
    finally:
        if cache is not None:
            cache.close()


def _cache_for(judge: str | Jury, settings: Settings) -> Cache | None:
    """The cache, opened. A judge that keeps nothing there needs none: where it is away, that is only warned of."""
    try:
        return open_cache(settings)
    except UsageError as error:
        if isinstance(judge, Jury) or connect(judge, settings).keeps:
            raise
        warnings.warn(
            f"{error.message} {judge} calls no model and keeps nothing there, so the run goes on without it.",
            CacheWarning,
            stacklevel=2,
        )
        return None


def jury_of(judge: JudgeLike | None, settings: Settings) -> Jury | None:
    """The jury that is asked to judge, or None for a single judge.

    Raises:
        UsageError: Its file is wrong.
    """
    asked = judge if judge is not None else settings.default_judge
    if isinstance(asked, Jury | OpenJury):
        return asked if isinstance(asked, Jury) else asked.jury
    return load_jury(asked, settings) if isinstance(asked, str) and is_jury(asked) else None


def _open_jury(jury: Jury, settings: Settings, cache: Cache | None) -> OpenJury:
    seats = (*jury.members, *jury.reserves)
    nested = next((name for name in seats if is_jury(name)), None)
    if nested is not None:
        raise UsageError(f"{nested!r} cannot sit on {jury.name!r}: a jury is made of judges.", hint="Name its members.")
    return OpenJury(jury, {name: connect(name, settings, cache=cache) for name in seats})
