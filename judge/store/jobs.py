"""Jobs that outlive a request, and answers kept so that a repeated request does nothing twice."""

from __future__ import annotations

import json
import secrets
from typing import Any, Literal

from sqlalchemy import Connection, Engine, and_, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from judge.errors import UnknownName
from judge.store.database import stamp
from judge.store.tables import ANSWERS, JOBS
from judge.types.record import Record

JobKind = Literal["batch", "calibration", "comparison"]
JobState = Literal["queued", "running", "done", "failed", "cancelled"]
ACCEPTED = 202
"""HTTP status of the answer to a request that began a job."""
ENDED: tuple[JobState, ...] = ("done", "failed", "cancelled")


class Job(Record):
    """One job.

    Attributes:
        request: What was asked, without what is kept in files.
        progress: Counts so far. `result` once it is done; `error` {kind, message, hint} once it failed.
    """

    omit_none = False

    id: str
    kind: JobKind
    owner: str
    state: JobState
    request: dict[str, Any]
    progress: dict[str, Any] = {}
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    created_at: str
    updated_at: str

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in ENDED


class Jobs:
    """The jobs of a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(
        self, kind: JobKind, owner: str, request: dict[str, Any], *, id: str | None = None, key: str | None = None
    ) -> Job:
        """A new job in the state "queued".

        Args:
            key: The owner's idempotency key, which from then on stands for this job, also if the server is killed
                before it has answered.
        """
        now = stamp()
        name = id or new_id(kind)
        row = {
            "id": name,
            "kind": kind,
            "owner": owner,
            "state": "queued",
            "request": json.dumps(request, ensure_ascii=False),
            "progress": "{}",
            "created_at": now,
            "updated_at": now,
        }
        job = Job.from_json({**row, "request": request, "progress": {}})
        with self._engine.begin() as connection:
            connection.execute(insert(JOBS).values(**row))
            if key is not None:
                _answered(connection, owner, key, ACCEPTED, job.to_json())
        return job

    def get(self, id: str, kind: JobKind | None = None) -> Job:
        """One job.

        Raises:
            UnknownName: There is none of that id and kind.
        """
        with self._engine.connect() as connection:
            row = connection.execute(select(JOBS).where(JOBS.c.id == id)).mappings().first()
        if row is None or (kind is not None and row["kind"] != kind):
            raise UnknownName(f"There is no {kind or 'job'} {id[:80]!r}.")
        return _job(row)

    def change(self, id: str, state: JobState | None = None, **values: Any) -> bool:
        """Writes a new state, progress, result, error or page; says whether it was: an ended job stays as it is."""
        row: dict[str, Any] = {"updated_at": stamp()}
        if state is not None:
            row["state"] = state
        for name, value in values.items():
            row[name] = value if name == "page" or value is None else json.dumps(value, ensure_ascii=False)
        with self._engine.begin() as connection:
            open_job = and_(JOBS.c.id == id, JOBS.c.state.not_in(ENDED))
            return bool(connection.execute(update(JOBS).where(open_job).values(**row)).rowcount)

    def page(self, id: str) -> str | None:
        """The report page of a job, or None."""
        with self._engine.connect() as connection:
            return connection.execute(select(JOBS.c.page).where(JOBS.c.id == id)).scalar()

    def unfinished(self) -> list[Job]:
        """Jobs that a server which is gone left behind, oldest first."""
        wanted = select(JOBS).where(JOBS.c.state.in_(("queued", "running"))).order_by(JOBS.c.created_at)
        with self._engine.connect() as connection:
            return [_job(row) for row in connection.execute(wanted).mappings()]

    def list(
        self, kind: JobKind, *, limit: int, before: tuple[str, str] | None = None, owner: str | None = None
    ) -> list[Job]:
        """Jobs of a kind, newest first.

        Args:
            before: `created_at` and id: only jobs that come after these in that order.
            owner: Only theirs; None for all.
        """
        wanted = select(JOBS).where(JOBS.c.kind == kind)
        if owner is not None:
            wanted = wanted.where(JOBS.c.owner == owner)
        if before is not None:
            made, last = before
            older = JOBS.c.created_at < made
            wanted = wanted.where(or_(older, and_(JOBS.c.created_at == made, JOBS.c.id < last)))
        wanted = wanted.order_by(JOBS.c.created_at.desc(), JOBS.c.id.desc()).limit(limit)
        with self._engine.connect() as connection:
            return [_job(row) for row in connection.execute(wanted).mappings()]


class KeptAnswer(Record):
    """The answer to an earlier request of the same idempotency key; `status` None while it is being made."""

    same_request: bool
    status: int | None
    answer: Any = None


class KeptAnswers:
    """Answers by idempotency key."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def begin(self, owner: str, key: str, route: str, body: str) -> KeptAnswer | None:
        """Claims a key; None when it was free, else what is there. `body`: fingerprint of the request."""
        row = {"owner": owner, "key": key, "route": route, "body": body, "created_at": stamp()}
        wanted = select(ANSWERS).where(ANSWERS.c.owner == owner, ANSWERS.c.key == key)
        found = None
        while found is None:  # once more where the first request failed, and freed the key, in between
            try:
                with self._engine.begin() as connection:
                    connection.execute(insert(ANSWERS).values(**row))
                return None
            except IntegrityError:
                with self._engine.connect() as connection:
                    found = connection.execute(wanted).mappings().first()
        same = found["route"] == route and found["body"] == body
        answer = None if found["answer"] is None else json.loads(found["answer"])
        return KeptAnswer(same_request=same, status=found["status"], answer=answer)

    def finish(self, owner: str, key: str, status: int, answer: Any) -> None:
        """Keeps the answer."""
        with self._engine.begin() as connection:
            _answered(connection, owner, key, status, answer)

    def drop(self, owner: str, key: str) -> None:
        """Frees a key: the request failed, and may be tried again."""
        with self._engine.begin() as connection:
            connection.execute(delete(ANSWERS).where(ANSWERS.c.owner == owner, ANSWERS.c.key == key))

    def release(self) -> int:
        """Frees the keys of requests that a server which is gone left unanswered; returns how many."""
        with self._engine.begin() as connection:
            return connection.execute(delete(ANSWERS).where(ANSWERS.c.status.is_(None))).rowcount


def _answered(connection: Connection, owner: str, key: str, status: int, answer: Any) -> None:
    where = and_(ANSWERS.c.owner == owner, ANSWERS.c.key == key)
    text = json.dumps(answer, ensure_ascii=False)
    connection.execute(update(ANSWERS).where(where).values(status=status, answer=text))


def new_id(kind: JobKind) -> str:
    """A new id, e.g. "batch-3f9a0c…": unguessable, and fit for the name of a folder."""
    return f"{kind}-{secrets.token_hex(8)}"


def _job(row: Any) -> Job:
    def read(name: str) -> Any:
        return None if row[name] is None else json.loads(row[name])

    return Job(
        id=row["id"],
        kind=row["kind"],
        owner=row["owner"],
        state=row["state"],
        request=read("request"),
        progress=read("progress"),
        result=read("result"),
        error=read("error"),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
