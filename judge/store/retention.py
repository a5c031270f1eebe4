"""What a service forgets by age: kept answers, jobs, batches, verdicts, and labels only when it was told to."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import ClassVar

from pydantic import Field
from sqlalchemy import ColumnElement, Connection, Engine, Table, and_, delete, func, or_, select

from judge.errors import UsageError
from judge.store.database import stamp
from judge.store.jobs import ENDED
from judge.store.tables import ANSWERS, ITEMS, JOBS, LABELS, QUEUES, SESSIONS
from judge.types.record import Record

UNFINISHED_KEPT = timedelta(days=1)
"""A request that never finished frees its idempotency key after this time, or when the next server starts."""
ABANDONED_S = 86_400
"""Seconds after which a batch's folder without a batch is taken for what a killed server left behind."""
GONE = ".deleted"
"""Behind the name of a folder that is being deleted."""
FOREVER = "never"


class Retention(Record):
    """Days that each kind is kept, counted from its last change; None for ever.

    Attributes:
        answers: Answers to requests with an `Idempotency-Key`.
        jobs: Calibrations and comparisons that have ended, with their reports. Certificates are files and stay.
        batches: Batches that have ended, with their input and verdicts.
        verdicts: Input and verdicts of batches that have ended; state, counts and cost of the batch stay.
        labels: Queues with their runs and labels, from the last label on (from their making where there is none).
    """

    omit_none: ClassVar[bool] = False

    answers: float | None = Field(default=1, gt=0)
    jobs: float | None = Field(default=None, gt=0)
    batches: float | None = Field(default=None, gt=0)
    verdicts: float | None = Field(default=None, gt=0)
    labels: float | None = Field(default=None, gt=0)


class Purged(Record):
    """How many of each kind were deleted, or would be."""

    answers: int = 0
    sessions: int = 0
    jobs: int = 0
    batches: int = 0
    verdicts: int = 0
    queues: int = 0
    labels: int = 0


def read_retention(given: Iterable[str]) -> Retention:
    """The retention that `KIND=DAYS` texts ask for; DAYS may be "never".

    Raises:
        UsageError: No such kind, or days that are no number above 0.
    """
    values: dict[str, float | None] = {}
    for text in given:
        kind, _, days = text.partition("=")
        try:
            number = None if days == FOREVER else float(days)
        except ValueError:
            number = -1.0
        if kind not in Retention.model_fields or (number is not None and not 0 < number < 1_000_000):
            raise UsageError(
                f"{text!r} does not say what is kept how long.",
                hint=f"Use KIND=DAYS or KIND={FOREVER}; kinds: {', '.join(Retention.model_fields)}.",
            )
        values[kind] = number
    return Retention(**values)


def purge(engine: Engine, batches: Path, kept: Retention, *, now: datetime, dry: bool = False) -> Purged:
    """Deletes what is older than `kept` says, and sessions that are over.

    Rows go before files: a folder whose row is gone, because the process was killed in between, goes with the next
    purge.

    Args:
        batches: Folder of the batches' folders.
        dry: Count, and delete nothing.
    """

    def before(days: float | None) -> str:
        return "" if days is None else stamp(now - timedelta(days=days))

    unfinished = and_(ANSWERS.c.status.is_(None), ANSWERS.c.created_at < stamp(now - UNFINISHED_KEPT))
    ended = JOBS.c.state.in_(ENDED)
    old_jobs = and_(ended, JOBS.c.kind != "batch", JOBS.c.updated_at < before(kept.jobs))
    old_batches = and_(ended, JOBS.c.kind == "batch", JOBS.c.updated_at < before(kept.batches))
    old_verdicts = and_(ended, JOBS.c.kind == "batch", JOBS.c.updated_at < before(kept.verdicts))
    with engine.begin() as connection:
        gone = set(connection.execute(select(JOBS.c.id).where(old_batches)).scalars())
        emptied = set(connection.execute(select(JOBS.c.id).where(old_verdicts)).scalars()) - gone
        queues = _untouched(connection, before(kept.labels))
        rows: Mapping[str, tuple[Table, ColumnElement[bool]]] = {
            "answers": (ANSWERS, or_(ANSWERS.c.created_at < before(kept.answers), unfinished)),
            "sessions": (SESSIONS, SESSIONS.c.expires_at < stamp(now)),
            "jobs": (JOBS, old_jobs),
            "batches": (JOBS, old_batches),
            "labels": (LABELS, LABELS.c.queue.in_(queues)),
            "items": (ITEMS, ITEMS.c.queue.in_(queues)),
            "queues": (QUEUES, QUEUES.c.id.in_(queues)),
        }
        # What a delete reports, since another purge may have taken a row after it was counted.
        counts = {
            name: connection.execute(select(func.count()).select_from(table).where(which)).scalar() or 0
            if dry
            else connection.execute(delete(table).where(which)).rowcount
            for name, (table, which) in rows.items()
        }
        known = set(connection.execute(select(JOBS.c.id).where(JOBS.c.kind == "batch")).scalars())
    with_files = {name for name in emptied if (batches / name).is_dir()}
    if not dry:
        for name in gone | with_files | _abandoned(batches, known, now):
            _remove(batches / name)
    del counts["items"]
    return Purged(**counts, verdicts=len(with_files))


def _untouched(connection: Connection, before: str) -> list[str]:
    """Queues that were made, and last labelled, earlier than `before`."""
    last = select(func.max(LABELS.c.labelled_at)).where(LABELS.c.queue == QUEUES.c.id).scalar_subquery()
    old = func.coalesce(last, QUEUES.c.created_at) < before
    return list(connection.execute(select(QUEUES.c.id).where(old)).scalars())


def _remove(folder: Path) -> None:
    """Takes a folder out of sight at once, also for whoever reads in it, and then deletes it."""
    aside = folder.with_name(f"{folder.name}{GONE}") if not folder.name.endswith(GONE) else folder
    with suppress(FileNotFoundError):
        folder.replace(aside)
    shutil.rmtree(aside, ignore_errors=True)


def _abandoned(batches: Path, known: set[str], now: datetime) -> set[str]:
    if not batches.is_dir():
        return set()
    return {
        folder.name
        for folder in batches.iterdir()
        if folder.name not in known
        and folder.is_dir()
        and (folder.name.endswith(GONE) or now.timestamp() - folder.stat().st_mtime > ABANDONED_S)
    }
