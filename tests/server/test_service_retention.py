"""What is deleted by age, and what is not, on SQLite and PostgreSQL; through the command and the API as well."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from held_judge import until
from running_service import Start, key_for, service_behind, wait_for, wait_for_first_purge
from service_runs import runs
from sqlalchemy import Engine, update

from judge.cli.main import run as judge_command
from judge.errors import UsageError
from judge.prompt import load_rubric
from judge.server.forgetting import purged
from judge.store.access_keys import Caller, begin_session, caller_of_session
from judge.store.database import stamp
from judge.store.jobs import Jobs, KeptAnswers
from judge.store.label_queue import Entry, LabelQueues, QueueSettings
from judge.store.retention import Purged, Retention, purge, read_retention
from judge.store.tables import JOBS, LABELS
from judge.types.trajectory import Trajectory

ALL = Retention(answers=1, jobs=30, batches=30, verdicts=7, labels=365)


def days(count: float) -> datetime:
    return datetime.now(UTC) + timedelta(days=count)


def ended(jobs: Jobs, batches: Path, kind: str, state: str = "done") -> str:
    job = jobs.add(kind, "bot", {})  # type: ignore[arg-type]
    if state != "running":
        jobs.change(job.id, state)  # type: ignore[arg-type]
    if kind == "batch":
        (batches / job.id / "run").mkdir(parents=True)
        (batches / job.id / "input.jsonl").write_text("{}\n")
    return job.id


def test_ended_jobs_go_by_kind_and_age_and_unfinished_ones_never(database: Engine, tmp_path: Path) -> None:
    jobs, batches = Jobs(database), tmp_path / "batches"
    _, done, _, running = (
        ended(jobs, batches, kind, state)
        for kind, state in (
            ("calibration", "done"), ("batch", "done"), ("batch", "failed"), ("batch", "running"),
        )
    )  # fmt: skip
    assert purge(database, batches, ALL, now=days(6)) == Purged()
    # After a week the verdicts go, and the jobs still say how they ended.
    assert purge(database, batches, ALL, now=days(8), dry=True) == Purged(verdicts=2)
    assert (batches / done).is_dir()
    assert purge(database, batches, ALL, now=days(8)) == Purged(verdicts=2)
    assert {path.name for path in batches.iterdir()} == {running}
    assert jobs.get(done).state == "done"
    assert purge(database, batches, ALL, now=days(9)) == Purged()
    # After a month the jobs go too.
    assert purge(database, batches, ALL, now=days(31)) == Purged(jobs=1, batches=2)
    assert [job.id for job in jobs.unfinished()] == [running]
    assert {job.id for kind in ("batch", "calibration") for job in jobs.list(kind, limit=9)} == {running}  # type: ignore[arg-type]


def test_labels_stay_for_ever_unless_told_and_go_with_their_queue(database: Engine, tmp_path: Path) -> None:
    rubric = load_rubric("process")
    queues = LabelQueues(database)
    for id in ("old", "used"):
        settings = QueueSettings(
            id=id, rubric="process", rubric_version=rubric.version, criterion=rubric.criteria[0], pass_mark=4
        )
        queues.create(settings, [Trajectory.from_json(value) for value in runs(3)])
        for run in ("run-1", "run-2"):
            queues.save(id, Entry(trajectory_id=run, rater="ana", value=4))
    # One label of "used" was given a year later: the whole queue stays, its older labels too.
    with database.begin() as connection:
        late = (LABELS.c.queue == "used") & (LABELS.c.trajectory_id == "run-2")
        connection.execute(update(LABELS).where(late).values(labelled_at=stamp(days(300))))
    assert purge(database, tmp_path, Retention(), now=days(10_000)) == Purged()
    assert purge(database, tmp_path, ALL, now=days(366), dry=True) == Purged(queues=1, labels=2)
    assert queues.names() == ["old", "used"]
    assert purge(database, tmp_path, ALL, now=days(366)) == Purged(queues=1, labels=2)
    assert queues.names() == ["used"]
    assert len(queues.labels("used")) == 2


def test_answers_and_sessions(database: Engine, tmp_path: Path) -> None:
    kept = KeptAnswers(database)
    assert kept.begin("bot", "k", "score", "b1") is None
    kept.finish("bot", "k", 200, {"x": [1]})
    assert kept.begin("other", "k", "score", "b2") is None
    token = begin_session(database, Caller(name="ana", role="label"), now=days(0), hours=12)
    # A key is kept for a day, whether its request has finished or not: some take long.
    assert purge(database, tmp_path, Retention(), now=days(1 / 24)) == Purged()
    assert kept.begin("bot", "k", "score", "b1") is not None
    assert kept.begin("other", "k", "score", "b2") is not None
    assert caller_of_session(database, token, now=days(0)) is not None
    assert purge(database, tmp_path, Retention(), now=days(2)) == Purged(answers=2, sessions=1)
    assert kept.begin("bot", "k", "score", "b3") is None
    kept.finish("bot", "k", 200, 1)
    assert purge(database, tmp_path, Retention(answers=None), now=days(1000)) == Purged()


def test_a_folder_that_a_killed_server_left_behind_goes_after_a_day(database: Engine, tmp_path: Path) -> None:
    (tmp_path / "batch-x").mkdir()
    purge(database, tmp_path, Retention(), now=days(0.5))
    assert (tmp_path / "batch-x").is_dir()
    purge(database, tmp_path, Retention(), now=days(1.5))
    assert not (tmp_path / "batch-x").exists()


def test_what_is_kept_is_read_or_refused() -> None:
    assert read_retention(["batches=30", "labels=never"]) == Retention(batches=30)
    assert read_retention(["answers=never"]).answers is None
    for text in ("cats=3", "jobs", "jobs=", "jobs=0", "jobs=-1", "jobs=nan", "jobs=soon"):
        with pytest.raises(UsageError, match="KIND=DAYS"):
            read_retention([text])


def test_the_service_purges_when_it_starts_and_says_what_is_due(start: Start) -> None:
    client = start()
    path = client.post("/v1/batches", json={"trajectories": runs(2)}).headers["location"]
    wait_for(client, path)
    with service_behind(client).engine.begin() as connection:
        connection.execute(update(JOBS).values(updated_at=stamp(days(-8))))
    assert purged(service_behind(client)) == Purged()  # nothing was said about verdicts
    later = start(retention=Retention(verdicts=7))
    until(lambda: later.get(f"{path}/results").status_code == 410, "the verdicts are deleted")
    assert later.get(path).json()["result"]["summary"]["scored"] == 2  # counts stay
    third = start(retention=Retention(batches=100))
    wait_for_first_purge(third)
    found = third.get("/v1/retention").json()
    assert found["days"] == {"answers": 1.0, "jobs": None, "batches": 100.0, "verdicts": None, "labels": None}
    assert found["due"]["batches"] == 0
    with service_behind(third).engine.begin() as connection:
        connection.execute(update(JOBS).values(updated_at=stamp(days(-101))))
    assert third.get("/v1/retention").json()["due"]["batches"] == 1
    assert third.post("/v1/retention/purge", json={"dry_run": True}).json()["deleted"]["batches"] == 1
    assert third.post("/v1/retention/purge", json={}).json()["deleted"]["batches"] == 1
    assert third.get(path).status_code == 404


def test_only_an_admin_purges(start: Start) -> None:
    client = start()
    for role in ("score", "label"):
        headers = key_for(client, role, role)
        assert client.post("/v1/retention/purge", json={}, headers=headers).status_code == 403
        assert client.get("/v1/retention", headers=headers).status_code == 403


def test_the_command_purges_and_stops(start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client = start()
    wait_for_first_purge(client)
    path = client.post("/v1/batches", json={"trajectories": runs(1)}).headers["location"]
    wait_for(client, path)
    with service_behind(client).engine.begin() as connection:
        connection.execute(update(JOBS).values(updated_at=stamp(days(-8))))
    command = ["serve", "--data", str(tmp_path / "data"), "--keep", "batches=7", "--purge", "--json"]
    assert judge_command([*command, "--dry-run"]) == 0
    counted = json.loads(capsys.readouterr().out)
    assert client.get(path).status_code == 200
    assert judge_command(command) == 0
    deleted = json.loads(capsys.readouterr().out)
    assert counted["deleted"] == deleted["deleted"] == Purged(batches=1).to_json()
    assert client.get(path).status_code == 404
    assert judge_command([*command[:-2], "--keep", "cats=1"]) == 2
