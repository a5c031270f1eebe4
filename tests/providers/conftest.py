"""What the tests of judges share: a request, settings, and a guard that lets nothing leave the machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.config import Settings, load_settings
from judge.types.metric import MetricResult
from judge.types.request import Request, Sampling, Subject

SCHEMA = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "evidence": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"step": {"type": "integer"}, "quote": {"type": "string"}},
                "required": ["step", "quote"],
                "additionalProperties": False,
            },
        },
        "score": {"anyOf": [{"type": "integer", "enum": [1, 2, 3, 4, 5]}, {"type": "string", "enum": ["unknown"]}]},
    },
    "required": ["reason", "evidence", "score"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def hosts_contacted() -> Iterator[set[str]]:
    """Every host that a socket is connected to; any but the loopback address is refused."""
    seen: set[str] = set()
    real = socket.socket.connect
    resolve = socket.getaddrinfo

    def connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            seen.add(address[0])
            if address[0] not in {"127.0.0.1", "::1"}:
                raise OSError(f"a test tried to contact {address[0]}")
        real(self, address)

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in {"127.0.0.1", "::1", "localhost", None}:
            seen.add(name)
            raise OSError(f"a test tried to look up {name}")
        return resolve(host, *args, **kwargs)

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", connect)
    patch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield seen
    patch.undo()


@pytest.fixture
def make_settings(tmp_path: Path) -> Callable[..., Settings]:
    """Settings from flags and an environment of the test's own; nothing of this machine's."""

    def make(environment: dict[str, str] | None = None, **flags: Any) -> Settings:
        env = {"HOME": str(tmp_path), "JUDGE_CACHE_DIR": str(tmp_path / "cache"), **(environment or {})}
        return load_settings(flags, environment=env, folder=tmp_path)

    return make


@pytest.fixture
def make_request() -> Callable[..., Request]:
    """A small request for one criterion from 1 to 5."""

    def make(
        prompt: str = "[S1] user: hello\n[S2] final: hi",
        *,
        system: str = "You grade runs. Answer in JSON.",
        rubric: str = "Be exact.",
        schema: dict[str, Any] | None = None,
        sample: int = 0,
        attempt: int = 0,
        versions: dict[str, str] | None = None,
        trajectory_id: str = "run-1",
        criteria: dict[str, tuple[float, float]] | None = None,
        facts: dict[str, MetricResult] | None = None,
        **sampling: Any,
    ) -> Request:
        return Request(
            system=system,
            segments=(rubric, prompt, "Give your verdict."),
            reply_schema=schema or SCHEMA,
            sample=sample,
            attempt=attempt,
            versions=versions or {"parser": "1"},
            sampling=Sampling(**sampling),
            subject=Subject(
                trajectory_id=trajectory_id,
                rubric="process",
                criteria=criteria or {"process": (1, 5)},
                facts=facts or {},
                steps=(1, 2),
            ),
        )

    return make


@pytest.fixture
def run() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Run one coroutine in a loop of its own."""
    return asyncio.run
