"""One server for a data folder and a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from held_judge import HeldJudge, until
from running_service import Start, service_behind
from service_runs import runs
from starlette.testclient import TestClient

from judge.errors import ConfigError, UsageError
from judge.server.app import create_app
from judge.server.service import Deployment, Service, open_service
from judge.store.database import sqlite_url
from judge.store.jobs import Jobs


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def take(stack: ExitStack, deployment: Deployment, **options: bool) -> Service:
    service = open_service(deployment, **options)
    stack.callback(service.engine.dispose)
    stack.callback(service.release)
    return service


def test_a_second_server_on_the_same_folder_is_refused_until_the_first_ends(
    deployment: Deployment, opened: ExitStack
) -> None:
    first = take(opened, deployment)
    with pytest.raises(UsageError, match=r"The data folder '.*' is in use by process \d+") as refused:
        open_service(replace(deployment, port=9))
    assert "--data" in refused.value.hint
    first.release()
    take(opened, deployment)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_two_folders_cannot_share_a_database(
    kind: str, deployment: Deployment, opened: ExitStack, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = sqlite_url(tmp_path / "shared.sqlite") if kind == "sqlite" else request.getfixturevalue("postgres")
    first = take(opened, replace(deployment, database=url))
    other = replace(deployment, database=url, data=tmp_path / "other")
    with pytest.raises((ConfigError, UsageError), match=r"database .*in use by"):
        open_service(other)
    first.release()
    take(opened, other)


def test_who_does_not_hold_the_data_takes_up_no_job(deployment: Deployment, opened: ExitStack) -> None:
    first = take(opened, deployment)
    left = Jobs(first.engine).add("calibration", "boss", {"set": "gone"})
    beside = take(opened, deployment, sole=False)
    with TestClient(create_app(beside), base_url="http://localhost") as client:
        assert client.get(f"/v1/calibrations/{left.id}").json()["state"] == "queued"


def break_the_lock(service: Service) -> None:
    """Ends the database connection that holds the lock, as a restart of PostgreSQL does."""
    with service.engine.connect() as connection:
        holder = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"
        assert connection.exec_driver_sql(holder).scalars().all() == [True]


def test_a_lock_that_broke_with_its_connection_is_taken_again(
    deployment: Deployment, opened: ExitStack, tmp_path: Path, postgres: str
) -> None:
    first = take(opened, replace(deployment, database=postgres))
    assert first.sole is not None
    assert first.sole.keep()
    break_the_lock(first)
    assert first.sole.keep()
    with pytest.raises(ConfigError, match="in use by"):
        open_service(replace(deployment, database=postgres, data=tmp_path / "other"))


def test_a_server_whose_database_another_one_took_begins_nothing_and_says_so(
    deployment: Deployment,
    opened: ExitStack,
    tmp_path: Path,
    postgres: str,
    start: Start,
    held: HeldJudge,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("judge.server.app.HOLD_S", 3_600.0)  # it looks when this test says so
    client = start(database=postgres)
    service = service_behind(client)
    path = client.post("/v1/batches", json={"trajectories": runs(20)}).headers["location"]
    until(lambda: bool(held.asked), "the batch is under way")
    client.app.state.workers.hold()  # type: ignore[attr-defined]
    assert client.get("/readyz").status_code == 200
    break_the_lock(service)
    other = take(opened, replace(deployment, database=postgres, data=tmp_path / "other"))
    client.app.state.workers.hold()  # type: ignore[attr-defined]
    for answer in (client.get("/readyz"), client.post("/v1/batches", json={"trajectories": runs(1)})):
        assert (answer.status_code, answer.json()["title"]) == (503, "displaced")
    held.release()
    until(lambda: not client.app.state.workers._controls, "the batch ends here")  # type: ignore[attr-defined]
    job = client.get(path).json()
    assert (job["state"], job["result"]) == ("running", None)
    assert [left.id for left in other.jobs.unfinished()] == [job["id"]]  # for the other server to take up
