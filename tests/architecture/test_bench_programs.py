"""The benchmark program tells a missed target from a met one, and its server waits as long as it says."""

from __future__ import annotations

import http.client
import importlib.util
import json
import re
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


def bench_module(name: str) -> ModuleType:
    """A program of the bench folder as a module; it finds the others beside it."""
    spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(BENCH))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCH))
    return module


@pytest.fixture(scope="module")
def judging() -> ModuleType:
    return bench_module("judging")


@pytest.fixture(scope="module")
def peers() -> ModuleType:
    return bench_module("peers")


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
    monkeypatch.setattr(judging, "other_rows", lambda quick, full: [])
    monkeypatch.setattr(sys, "argv", ["judging.py", "--quick"])
    assert judging.main() == code
    printed = capsys.readouterr().out
    assert f"wall over ideal      1.10  at most 1.25  {word}" in printed
    assert f"{1 - met} of 1 targets missed" in printed


def test_the_server_answers_after_the_stated_time(judging: ModuleType) -> None:
    with judging.server() as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        for _ in range(2):  # the connection is kept alive
            begin = time.perf_counter()
            connection.request("POST", "/v1/chat/completions", body=b"{}")
            answer = json.loads(connection.getresponse().read())
            assert time.perf_counter() - begin >= judging.LATENCY_S
            assert json.loads(answer["choices"][0]["message"]["content"])["score"] == 4
        connection.close()


def test_a_peer_that_did_not_run_has_a_cause_and_no_number(peers: ModuleType) -> None:
    names = {"ours": "ours", "quick": "quick", "gone": "gone"}
    ours = peers.Measured("ours", 2.0, 1.0)
    text = peers.table(
        [peers.Measured("gone", problem="no wheel"), peers.Measured("quick", 1.5, 0.25)], ours, 320, names
    )
    lines = text.splitlines()
    assert lines[1].split() == ["quick", "1.50", "0.25"]  # 320 ÷ 64 × 0.2 s = 1 s
    assert lines[2].split() == ["ours", "2.00", "1.00"]
    assert lines[3] == "gone   did not run: no wheel"


def test_a_peer_that_breaks_is_told_by_its_last_words(
    peers: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(peers, "python_of", lambda environment: Path(sys.executable))
    monkeypatch.setattr(peers, "PROGRAMS", tmp_path)
    (tmp_path / "broken.py").write_text("raise SystemExit('3 of 4 judged')", encoding="utf-8")
    (tmp_path / "works.py").write_text('print(\'{"wall": 2.0, "cpu": 0.5}\')', encoding="utf-8")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    broken = peers.run_peer("broken", 1, tmp_path / "prompts", scratch)
    assert (broken.wall, broken.cpu, broken.problem) == (None, None, "3 of 4 judged")
    works = peers.run_peer("works", 1, tmp_path / "prompts", scratch)
    assert (works.wall, works.cpu, works.problem) == (2.0, 0.5, "")


def test_every_peer_has_a_program_and_pinned_packages(peers: ModuleType) -> None:
    programs = {path.stem for path in (BENCH / "peers").glob("*.py")} - {"measuring"}
    assert programs == set(peers.PEERS)
    assert len(peers.PEERS) >= peers.LEAST_PEERS
    text = peers.REQUIREMENTS.read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([a-z0-9][a-z0-9.-]*)==(\S+)", text, re.MULTILINE))
    assert {name for packages in peers.PEERS.values() for name in packages} <= set(pinned)
    assert text.count("--hash=sha256:") >= len(pinned)
    assert "://" not in text


def test_the_server_answers_each_peer_in_its_form(judging: ModuleType, peers: ModuleType) -> None:
    with judging.server("--peers") as port:
        for body, found in (
            (b'{"tools": "select_choice"}', ["tool_calls", "select_choice"]),
            (b'{"tools": "final_result"}', ["tool_calls", "final_result"]),
            (b"then GRADE: X", ["GRADE: C"]),
            (b'{"top_logprobs": 20}', ["score", "logprob"]),
            (b'{"reasoning": 1}', ["reasoning"]),
            (b"{}", ["evidence"]),
        ):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            connection.request("POST", "/v1/chat/completions", body=body)
            answer = json.loads(connection.getresponse().read())["choices"][0]
            connection.close()
            assert all(text in json.dumps(answer) for text in found)
