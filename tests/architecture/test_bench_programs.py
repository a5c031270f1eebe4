"""The benchmark program tells a missed target from a met one, and its server waits as long as it says."""

from __future__ import annotations

import http.client
import importlib.util
import json
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(scope="module")
def judging() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_judging", BENCH / "judging.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("met", "code", "word"), [(True, 0, "yes"), (False, 1, "NO")])
def test_a_missed_target_is_said_and_decides(
    judging: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    met: bool,
    code: int,
    word: str,
) -> None:
    row = judging.Row("wall over ideal", "1.10", "at most 1.25", met)
    monkeypatch.setattr(judging, "start_rows", lambda rounds: [row])
    monkeypatch.setattr(judging, "judging_rows", lambda count, rounds: [judging.Row("tokens", "965", "", None)])
    monkeypatch.setattr(judging, "other_rows", lambda quick: [])
    monkeypatch.setattr(sys, "argv", ["judging.py", "--quick"])
    assert judging.main() == code
    printed = capsys.readouterr().out
    assert f"wall over ideal      1.10  at most 1.25  {word}" in printed
    assert f"{1 - met} of 1 targets missed" in printed


def test_the_server_answers_after_the_stated_time(judging: ModuleType) -> None:
    with judging.server() as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        for _ in range(2):  # the connection is kept alive
            begin = time.perf_counter()
            connection.request("POST", "/v1/chat/completions", body=b"{}")
            answer = json.loads(connection.getresponse().read())
            assert time.perf_counter() - begin >= judging.LATENCY_S
            assert json.loads(answer["choices"][0]["message"]["content"])["score"] == 4
        connection.close()
