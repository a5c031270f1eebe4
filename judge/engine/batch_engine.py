"""The seam between a batch and what carries it out: this process, a cluster, a provider's batch API.

An engine takes the trajectories that still need a verdict and hands back verdicts in any order. It knows nothing
of the run folder: what is pending was decided before, and `done` writes each verdict before it counts. An engine
may therefore give a verdict twice (a worker was lost and its block done again): the newest valid one wins.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from judge.config import Settings
from judge.engine.connection import Opened
from judge.engine.control import Control
from judge.engine.run import Progress, References
from judge.engine.setup import Setup
from judge.errors import UsageError
from judge.registry import unknown
from judge.types.jury import Jury
from judge.types.rubric import Rubric
from judge.types.trajectory import Trajectory
from judge.types.verdict import Verdict

LOG = logging.getLogger("judge.batch")

ENGINES = {
    "local": "judge.engine.local:LocalEngine",
    "provider-batch": "judge.engine.provider_batch:ProviderBatchEngine",
    "ray": "judge.engine.ray_engine:RayEngine",
}
"""Name to "module:class" of every engine."""
ADDRESSED = ("ray",)
"""Engines that take the address of a cluster."""
DETACHING = ("provider-batch",)
"""Engines whose work goes on elsewhere when the session ends."""


@dataclass(frozen=True, slots=True)
class BatchJob:
    """Everything that decides a verdict, but for the trajectories.

    `judge`, `rubric`, `settings`, `policy` and `references` are plain values that can be sent to another process,
    which opens its own judge and makes its own setup from them; `connection` and `setup` are those of this process.

    Attributes:
        connection: The opened judge, or the opened judges of a jury (`judge` is a `Jury` then).
        folder: Of the run, for what an engine has to remember from one session to the next (ids at a provider).
        spent: US dollars of earlier sessions that count towards `max_usd`.
        pending: How many trajectories need a verdict.
        inputs, reading: Files of the run, and how they are read (format, mapping, limit).
        detach: Whether an engine whose work goes on elsewhere is to leave it there and end the session.
        notice: Takes what a person should read at once.
    """

    judge: str | Jury
    rubric: Rubric
    settings: Settings
    policy: str | None
    references: References
    connection: Opened
    setup: Setup
    folder: Path
    spent: float
    pending: int
    inputs: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    detach: bool = False
    notice: Callable[[str], None] = LOG.info


class BatchEngine(Protocol):
    """Carries out a batch."""

    def ready(self, judge: Opened, settings: Settings) -> AbstractAsyncContextManager[None]:
        """Finds out before a folder is made what would end the run before its first call; holds what that opened.

        Raises:
            UsageError, ConfigError: The engine cannot carry out a batch with this judge or these settings.
        """
        ...

    def cache_failures(self, judge: Opened) -> int | None:
        """Reads and writes that the run's caches failed to do, after `run`; None where that is not known."""
        ...

    async def run(
        self,
        job: BatchJob,
        trajectories: Iterable[Trajectory],
        *,
        control: Control,
        done: Callable[[Verdict], None],
        progress: Callable[[Progress], None] | None,
    ) -> None:
        """Judges `trajectories`, each handed to `done` as soon as it is judged; what `done` raises ends the run.

        They can be gone over more than once, and each time hold only those that have no verdict yet.

        Returns when all are judged, or when `control` asked for an end and what was under way is finished.

        Raises:
            TerminalError: The judge takes no calls: key, payment, quota.
            BudgetReached: A spend cap leaves no room for a call.
        """
        ...


def batch_engine(name: str, *, address: str | None = None) -> BatchEngine:
    """The engine of that name.

    Args:
        address: Of the cluster that it is to use, for engines that use one.

    Raises:
        UsageError: An address was given to an engine that takes none.
        UnknownName: There is none.
        MissingExtra: It needs a package that is not installed.
    """
    target = ENGINES.get(name)
    if target is None:
        raise unknown("engine", name, ENGINES)
    module, attribute = target.split(":")
    if address is not None and name not in ADDRESSED:
        raise UsageError(
            f"The engine {name!r} takes no address, and {address!r} was given.",
            hint=f"Give --engine {ADDRESSED[0]}, or leave out --address.",
        )
    options = {} if address is None else {"address": address}
    made: BatchEngine = getattr(import_module(module), attribute)(**options)
    return made
