"""A service in a folder of its own, with a scripted judge: in this process, or listening on loopback."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from held_judge import HeldJudge
from postgres_server import postgres_server as postgres_server
from running_service import Listening, Start
from service_runs import SCORES
from sqlalchemy import Engine, create_engine
from starlette.testclient import TestClient

from judge.config import load_settings
from judge.providers.fake import Fake
from judge.server.app import create_app
from judge.server.service import Deployment, open_service
from judge.store.database import open_database, sqlite_url
from judge.types.request import Reply, Request


@pytest.fixture
def script(tmp_path: Path) -> str:
    """A judge that scores the runs of `service_runs` by script."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"trajectories": SCORES, "default": 3}), encoding="utf-8")
    return f"fake/{path}"


@pytest.fixture
def deployment(tmp_path: Path, script: str) -> Deployment:
    settings = load_settings(
        {"judge": script, "cache_dir": tmp_path / "cache", "certificates": tmp_path / "certificates"},
        environment={},
        folder=tmp_path,
    )
    return Deployment(settings=settings, data=tmp_path / "data", judges=(script,))


@pytest.fixture
def start(deployment: Deployment) -> Iterator[Start]:
    """Starts a service in this process: `client = start()`, `start(judge="fake/always-4", max_steps=3)`.

    One that has the same data folder ends before.
    """
    open_clients: dict[Path, TestClient] = {}

    def begin(*, judge: str | None = None, **changes: Any) -> TestClient:
        used = replace(deployment, **changes)
        if judge is not None:
            settings = used.settings.model_copy(update={"judge": judge})
            used = replace(used, settings=settings, judges=(judge,))
        if used.data in open_clients:
            open_clients.pop(used.data).__exit__(None, None, None)
        client = TestClient(create_app(open_service(used)), base_url="http://localhost", raise_server_exceptions=False)
        client.__enter__()
        open_clients[used.data] = client
        return client

    yield begin
    for client in open_clients.values():
        client.__exit__(None, None, None)


@pytest.fixture
def held(start: Start, monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldJudge]:
    """Holds the calls of scripted judges in this process; in the end, before services do, all are let go."""
    judge = HeldJudge(Fake.complete)

    async def complete(self: Fake, request: Request) -> Reply:
        return await judge.complete(self, request)

    monkeypatch.setattr(Fake, "complete", complete)
    yield judge
    judge.release()


@pytest.fixture
def listening(deployment: Deployment) -> Iterator[Listening]:
    server = Listening(deployment)
    yield server
    server.close()


@pytest.fixture
def postgres(postgres_server: str) -> str:
    """URL of a new PostgreSQL database."""
    name = f"t_{secrets.token_hex(6)}"
    engine = create_engine(f"{postgres_server.replace('://', '+psycopg://')}/postgres", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return f"{postgres_server}/{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A new database of each kind."""
    url = sqlite_url(tmp_path / "d.sqlite") if request.param == "sqlite" else request.getfixturevalue("postgres")
    engine = open_database(url)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of an installed Chromium; a machine without one skips the test."""
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if found is None:
        pytest.skip("no Chromium is installed here")
    return found
