"""A service that runs for a test, keys to it, and waiting for its jobs."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from judge.server.app import create_app
from judge.server.service import Deployment, Service, open_service
from judge.store.access_keys import add_key

Start = Callable[..., TestClient]


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


def pages(client: Any, path: str, name: str, *, limit: int, **options: Any) -> list[list[Any]]:
    """The pages of a list, by following `next`."""
    found: list[list[Any]] = []
    asked: dict[str, Any] = {"limit": limit}
    while True:
        answer = client.get(path, params=asked, **options).json()
        found.append(answer[name])
        if answer["next"] is None:
            return found
        asked["cursor"] = answer["next"]


def wait_for(client: Any, path: str, *, seconds: float = 20, **options: Any) -> dict[str, Any]:
    """The job at `path` once it has ended."""
    deadline = time.monotonic() + seconds
    while True:
        job: dict[str, Any] = client.get(path, **options).json()
        if job["state"] in ("done", "failed", "cancelled"):
            return job
        assert time.monotonic() < deadline, job
        time.sleep(0.05)


def wait_for_first_purge(client: Any) -> None:
    """Until a service has done the purge of its start, so that a later one alone deletes."""
    deadline = time.monotonic() + 60
    while client.get("/v1/retention").json()["last_purge"] is None:
        assert time.monotonic() < deadline, "the service did not purge"
        time.sleep(0.05)
