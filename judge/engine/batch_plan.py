"""What a batch would send and cost: of a run that was begun, what is left of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import Any

from judge.config import Settings
from judge.engine.batch_engine import ENGINES
from judge.engine.connection import JudgeLike
from judge.engine.facade import settings_of
from judge.engine.plan import Plan, plan
from judge.importers import load
from judge.registry import unknown
from judge.store.manifest import MANIFEST
from judge.store.run_folder import RunFolder
from judge.types.rubric import Rubric
from judge.types.trajectory import Trajectory

BATCHED = "provider-batch"
"""The engine that pays the price of the provider's batch API."""


def plan_batch(
    inputs: Sequence[str | Path],
    rubric: str | Path | Rubric | None = None,
    *,
    out: str | Path,
    judge: JudgeLike | None = None,
    reference: Any = None,
    policy: str | None = None,
    resume: bool = False,
    engine: str = "local",
    format: str | None = None,
    mapping: Mapping[str, Any] | None = None,
    limit: int | None = None,
    settings: Settings | None = None,
    **options: Any,
) -> Plan:
    """What `judge_batch` would do with the same arguments; nothing is sent, and no folder is made or changed.

    Args:
        resume: Leave out what the run in `out` holds a verdict of, given on the same content and no error. Whether
            rubric and judge are still those of the run is not asked here.
        engine: With "provider-batch" at the price of the provider's batch API.

    Raises:
        UsageError: As for `judge_batch`; or the folder to resume holds no run.
        UnknownName: There is no such engine.
    """
    if engine not in ENGINES:
        raise unknown("engine", engine, ENGINES)
    chosen = settings_of(settings, options)
    read = (load(path, format=format, mapping=mapping, unique=False) for path in inputs)
    with ExitStack() as stack:
        found: Iterator[Trajectory] = islice(chain.from_iterable(read), limit)
        if resume and (Path(out) / MANIFEST).is_file():
            folder = stack.enter_context(RunFolder.read(Path(out)))
            found = (trajectory for trajectory in found if not folder.holds(trajectory))
        return plan(
            found,
            rubric,
            judge=judge,
            reference=reference,
            policy=policy,
            settings=chosen,
            batched=engine == BATCHED,
        )
