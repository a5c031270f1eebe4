"""Hostile requests against the OpenAPI of the service, and the command that serves it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from judge.cli.main import run as judge_command
from judge.server.listening import listen

ROOT = Path(__file__).resolve().parents[2]


def python(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=ROOT)


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
    command = [sys.executable, "-m", "judge.cli.main", "serve", "--judge", "fake/always-4", "--json", "--port", "0"]
    process = subprocess.Popen([*command, "--data", tmp_path / "d"], stdout=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stdout is not None
            said = ""
            while not said.endswith("}\n"):
                line = process.stdout.readline()
                assert line, said
                said += line
            url = json.loads(said)["url"]
            assert re.fullmatch(r"http://127\.0\.0\.1:[1-9]\d*", url)  # the port that was taken
            with urllib.request.urlopen(f"{url}/healthz", timeout=120) as answer:
                assert json.load(answer) == {"status": "ok"}
            process.send_signal(signal.SIGINT)
            process.wait(timeout=120)
            assert process.stdout.read() == ""
        finally:
            process.kill()


def test_a_port_that_is_taken_is_said_and_the_data_let_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        for _ in range(2):
            command = ["serve", "--judge", "fake/always-4", "--data", str(tmp_path / "d"), "--port", port]
            assert judge_command(command) == 2
            assert f"Port {port} of 127.0.0.1 cannot be used" in capsys.readouterr().err
