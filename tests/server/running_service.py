"""A service that runs for a test, keys to it, and waiting for its jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import uvicorn
from held_judge import PATIENCE_S, until
from starlette.testclient import TestClient

from judge.server.app import create_app
from judge.server.listening import listen
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
        self._socket = listen("127.0.0.1", 0)
        port = self._socket.getsockname()[1]
        self.service = open_service(replace(deployment, port=port))
        self.url = f"http://127.0.0.1:{port}"
        self._server = uvicorn.Server(uvicorn.Config(create_app(self.service), log_level="error", ws="none"))
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), daemon=True)
        self._thread.start()
        until(lambda: self._server.started, "the service started")

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=PATIENCE_S)
        assert not self._thread.is_alive(), "the service did not end"
        self._socket.close()


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


def wait_for(client: Any, path: str, **options: Any) -> dict[str, Any]:
    """The job at `path` once it has ended."""
    job: dict[str, Any] = {}

    def ended() -> bool:
        job.update(client.get(path, **options).json())
        return job["state"] in ("done", "failed", "cancelled")

    until(ended, f"{path} ended")
    return job


def wait_for_first_purge(client: Any) -> None:
    """Until a service has done the purge of its start, so that a later one alone deletes."""
    until(lambda: client.get("/v1/retention").json()["last_purge"] is not None, "the service purged")
