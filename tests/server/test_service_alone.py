"""One server for a data folder and a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
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
