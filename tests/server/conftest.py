"""A service in a folder of its own, with a scripted judge: in this process, or listening on loopback."""

from __future__ import annotations

import json
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason='the extra "serve" is not installed')

import uvicorn
from service_runs import SCORES
from starlette.testclient import TestClient

from judge.config import load_settings
from judge.server.app import create_app
from judge.server.service import Deployment, Service, open_service
from judge.store.access_keys import add_key

Start = Callable[..., TestClient]


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
    """Starts a service in this process: `client = start()`, `start(judge="fake/always-4", max_steps=3)`."""
    open_clients: list[TestClient] = []

    def begin(*, judge: str | None = None, **changes: Any) -> TestClient:
        used = replace(deployment, **changes)
        if judge is not None:
            settings = used.settings.model_copy(update={"judge": judge})
            used = replace(used, settings=settings, judges=(judge,))
        client = TestClient(create_app(open_service(used)), base_url="http://localhost", raise_server_exceptions=False)
        client.__enter__()
        open_clients.append(client)
        return client

    yield begin
    for client in open_clients:
        client.__exit__(None, None, None)


def service_behind(client: TestClient) -> Service:
    found: Service = client.app.state.service  # type: ignore[attr-defined]
    return found


def key_for(client: TestClient, name: str, role: str) -> dict[str, str]:
    """Headers with a new key."""
    return {"Authorization": f"Bearer {add_key(service_behind(client).engine, name, role)}"}


class Listening:
    """A service that listens on loopback, in a thread."""

    def __init__(self, deployment: Deployment) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.service = open_service(replace(deployment, port=port))
        self.url = f"http://127.0.0.1:{port}"
        config = uvicorn.Config(create_app(self.service), host="127.0.0.1", port=port, log_level="error", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        deadline = time.monotonic() + 15
        while not self._server.started:
            assert time.monotonic() < deadline, "the service did not start"
            time.sleep(0.02)

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=15)


@pytest.fixture
def listening(deployment: Deployment) -> Iterator[Listening]:
    server = Listening(deployment)
    yield server
    server.close()


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of an installed Chromium; a machine without one skips the test."""
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if found is None:
        pytest.skip("no Chromium is installed here")
    return found


def wait_for(client: Any, path: str, *, seconds: float = 20, **options: Any) -> dict[str, Any]:
    """The job at `path` once it has ended."""
    deadline = time.monotonic() + seconds
    while True:
        job: dict[str, Any] = client.get(path, **options).json()
        if job["state"] in ("done", "failed", "cancelled"):
            return job
        assert time.monotonic() < deadline, job
        time.sleep(0.05)
