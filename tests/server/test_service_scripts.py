"""Hostile requests against the OpenAPI of the service, and the command that serves it."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def python(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=ROOT)


def test_hostile_requests_never_make_a_server_error() -> None:
    pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    done = python(ROOT / "scripts" / "service_fuzz.py", 2, "quick")
    counted = re.search(r"cases: (\d+)", done.stdout)
    print(done.stdout[-120:])
    assert done.returncode == 0, done.stdout[-3000:]
    assert counted is not None
    assert int(counted[1]) >= 60
    assert re.search(r"^/v1/batches: \d+ answered 202$", done.stdout, re.MULTILINE), "no chain began a job"


def test_the_command_serves_and_stops(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "judge.cli.main", "serve", "--judge", "fake/always-4", "--json"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([*command, "--data", tmp_path / "d", "--port", str(port)], stdout=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
                    assert json.load(answer) == {"status": "ok"}
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGINT)
        out = process.communicate(timeout=20)[0]
    assert json.loads(out)["url"] == f"http://127.0.0.1:{port}"
