"""SQLite and PostgreSQL give the same answers; an older database is brought up to date, a newer one refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from service_runs import RATERS, runs
from sqlalchemy import Engine, insert, text

from judge.errors import ConfigError, UsageError
from judge.prompt import load_rubric
from judge.server.progress import progress_of
from judge.store.access_keys import (
    ADJUDICATED,
    Caller,
    add_key,
    begin_session,
    caller_of_key,
    caller_of_session,
    list_keys,
    revoke_key,
)  # fmt: skip
from judge.store.database import open_database, sqlite_url
from judge.store.jobs import Jobs, KeptAnswers
from judge.store.label_queue import CHANGED, Entry, LabelQueues, QueueSettings
from judge.store.tables import MIGRATIONS, VERSION
from judge.types.trajectory import Trajectory

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def queue_of(engine: Engine, id: str) -> LabelQueues:
    rubric = load_rubric("process")
    queues = LabelQueues(engine)
    settings = QueueSettings(
        id=id, rubric="process", rubric_version=rubric.version, criterion=rubric.criteria[0], pass_mark=4, seed=7
    )
    assert queues.create(settings, [Trajectory.from_json(value) for value in runs()]) == 10
    return queues


def test_labels_disputes_and_progress_are_the_same_on_both(database: Engine) -> None:
    queues = queue_of(database, "desk")
    for rater, values in RATERS.items():
        while (item := queues.next_for("desk", rater)) is not None:
            queues.save("desk", Entry(trajectory_id=item, rater=rater, value=values[item], note="naïve \u202e 🙂"))
    assert set(queues.disputes("desk")) == {"run-4", "run-7", "run-9"}
    found = progress_of(queues, "desk")
    assert (found.decided, found.disputed, found.by_rater) == (7, 3, {"ana": 10, "ben": 10})
    assert (found.between_raters.hits, found.between_raters.n) == (7, 10)
    assert (found.judge.value, found.judge.reason) == (None, "no run has both a label and a verdict")
    queues.save("desk", Entry(trajectory_id="run-4", rater=ADJUDICATED, value=4))
    assert set(queues.disputes("desk")) == {"run-7", "run-9"}
    assert len(queues.labels("desk")) == 21
    assert [item.position for item in queues.items("desk")] == list(range(1, 11))
    assert next(queues.items("desk")).trajectory.id == "run-4"  # seed 7 gives the same order everywhere
    with pytest.raises(UsageError, match="already"):
        queue_of(database, "desk")
    queues.remove("desk")
    assert queues.names() == []


def test_a_skipped_run_comes_back_last_and_a_label_replaces_it(database: Engine) -> None:
    queues = queue_of(database, "skips")
    first = queues.next_for("skips", "ana")
    assert first is not None
    queues.save("skips", Entry(trajectory_id=first, rater="ana", skipped=True))
    for _ in range(9):
        item = queues.next_for("skips", "ana")
        assert item not in (None, first)
        queues.save("skips", Entry(trajectory_id=str(item), rater="ana", value=3))
    assert queues.next_for("skips", "ana") == first
    queues.save("skips", Entry(trajectory_id=first, rater="ana", value=2))
    assert queues.next_for("skips", "ana") is None
    assert queues.counts("skips") == {"ana": 10}
    assert CHANGED not in {entry.note for entry in queues.entries("skips")}
    queues.remove("skips")


def test_keys_sessions_jobs_and_kept_answers(database: Engine) -> None:
    key = add_key(database, "bot", "score")
    assert caller_of_key(database, key) == Caller(name="bot", role="score", key_id=key.split("_")[1])
    assert caller_of_key(database, key + "x") is None
    with pytest.raises(UsageError, match="already"):
        add_key(database, "bot", "label")
    token = begin_session(database, Caller(name="bot", role="score"), now=NOW, hours=1)
    assert caller_of_session(database, token, now=NOW) is not None
    assert caller_of_session(database, token, now=NOW + timedelta(hours=2)) is None
    revoke_key(database, "bot")
    assert caller_of_key(database, key) is None
    assert list_keys(database)[0]["revoked_at"] is not None

    jobs = Jobs(database)
    job = jobs.add("batch", "bot", {"a": 1})
    assert jobs.change(job.id, "running", progress={"done": 1})
    assert [left.id for left in jobs.unfinished()] == [job.id]
    assert jobs.change(job.id, "cancelled")
    assert not jobs.change(job.id, "done")  # what has ended stays ended
    assert jobs.get(job.id).state == "cancelled"

    kept = KeptAnswers(database)
    assert kept.begin("bot", "k", "score", "b1") is None
    assert kept.begin("bot", "k", "score", "b1").status is None  # type: ignore[union-attr]
    kept.finish("bot", "k", 200, {"x": [1]})
    assert kept.begin("bot", "k", "score", "b1").answer == {"x": [1]}  # type: ignore[union-attr]
    assert not kept.begin("bot", "k", "score", "b2").same_request  # type: ignore[union-attr]
    assert kept.begin("other", "k", "score", "b2") is None


def test_a_database_of_a_newer_version_is_refused(database: Engine) -> None:
    newer = len(MIGRATIONS) + 1
    url = database.url.render_as_string(hide_password=False)
    with database.begin() as connection:
        connection.execute(insert(VERSION).values(version=newer, at="now"))
    with pytest.raises(ConfigError, match=f"of version {newer}, and this program knows {len(MIGRATIONS)}"):
        open_database(url)
    with database.begin() as connection:
        connection.execute(VERSION.delete().where(VERSION.c.version == newer))
    open_database(url).dispose()


def test_sqlite_writes_ahead_and_other_databases_are_refused(tmp_path: Path) -> None:
    engine = open_database(sqlite_url(tmp_path / "a.sqlite"))
    with engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
    engine.dispose()
    with pytest.raises(ConfigError, match="neither sqlite nor postgresql"):
        open_database("mysql://root:secret@localhost/x")


def test_an_unreachable_server_is_an_error_without_its_password() -> None:
    pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed")
    with pytest.raises(ConfigError, match="cannot be opened") as caught:
        open_database("postgresql://judge:hunter2@127.0.0.1:1/x")
    assert "hunter2" not in str(caught.value)
