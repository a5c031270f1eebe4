"""`judge batch --engine provider-batch`, `judge batch attach` and `judge batch cancel` as commands."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_apis import BatchServer
from batch_items import PATIENCE_S, RUBRIC, name_of, write_items
from provider_runs import APIS, USD_A_REPLY, Api

from judge.cli.main import run as command

TOML = """
[batch_api]
first_poll_s = 0.001
settle_s = 0.0
price_share = 0.5

[models."{judge}"]
input_usd_per_million = 1000.0
output_usd_per_million = 1000.0
"""
Command = Callable[..., int]


@pytest.fixture(params=APIS, ids=lambda api: api.provider)
def api(request: pytest.FixtureRequest) -> Api:
    found: Api = request.param
    return found


@pytest.fixture
def server(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    """The provider, for a working folder with four items in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "own.yaml").write_text(json.dumps(RUBRIC.to_json()), encoding="utf-8")
    (tmp_path / "judge.toml").write_text(TOML.format(judge=api.judge), encoding="utf-8")
    write_items(tmp_path / "in.jsonl", 4)
    with api.server() as running:
        yield running


@pytest.fixture
def batch(api: Api, server: BatchServer) -> Command:
    def run(*more: str) -> int:
        fixed = ["batch", "in.jsonl", "-r", "own.yaml", "-j", api.judge, "-o", "run", "-n", "1"]
        return command([*fixed, "--base-url", f"{server.url}/v1", "--engine", "provider-batch", *more])

    return run


def test_detached_and_attached(batch: Command, server: BatchServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert batch("--detach") == 0
    captured = capsys.readouterr()
    assert "the rest is with the provider" in captured.out
    assert "`judge batch attach run` waits for them" in captured.err
    assert (server.sizes, len(server.paid)) == ([4], 0)
    assert command(["batch", "attach", "run", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["judged"], result["pending"], result["stopped"], result["summary"]["mean"]) == (4, 0, None, 4)
    assert (server.sizes, sum(server.paid.values())) == ([4], 4)
    assert result["spend"]["known_usd"] == pytest.approx(4 * USD_A_REPLY)
    assert command(["batch", "attach", "run"]) == 0  # and again, with nothing to do
    assert server.sizes == [4]


def test_attach_that_waits_for_nothing(batch: Command, server: BatchServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.looks = 3
    assert batch("--detach") == 0
    for looks, left in ((2, 4), (1, 4), (0, 0)):
        capsys.readouterr()
        assert command(["batch", "attach", "run", "--detach", "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        assert (result["pending"], result["stopped"]) == (left, "detached" if left else None)
        assert server.made[0].looks == looks
    assert server.sizes == [4]


def test_cancel_pays_for_what_was_done_and_attach_buys_nothing(
    batch: Command, server: BatchServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert batch("--detach") == 0
    assert command(["batch", "cancel", "run"]) == 0
    captured = capsys.readouterr()
    assert "canceled: batch_001" in captured.out
    assert "`judge batch attach run` fetches what was done" in captured.err
    assert command(["batch", "attach", "run", "--json"]) == 4  # nothing was done: errors by name, no number
    result = json.loads(capsys.readouterr().out)
    assert result["summary"]["errors"] == {"batch_canceled": 4}
    assert result["summary"]["mean"] is None
    assert (server.sizes, sum(server.paid.values())) == ([4], 0)
    assert command(["batch", "cancel", "run"]) == 0
    assert "Nothing is under way." in capsys.readouterr().out
    assert batch("--resume", "--json") == 0  # which asks for them again, on purpose
    assert json.loads(capsys.readouterr().out)["summary"]["scored"] == 4
    assert server.sizes == [4, 4]


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
def test_the_first_ctrl_c_saves_and_says_how_to_come_back(api: Api, server: BatchServer, tmp_path: Path) -> None:
    server.looks = 10**6
    fixed = ["batch", "in.jsonl", "-r", "own.yaml", "-j", api.judge, "-o", "run", "-n", "1", "--base-url"]
    command_line = [sys.executable, "-m", "judge.cli.main", *fixed, f"{server.url}/v1", "--engine", "provider-batch"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command_line, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            first = process.stderr.readline()
            process.send_signal(signal.SIGINT)
            _, rest = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert first == "Batch 1 is with the provider as batch_001: 4 requests.\n"
    assert process.returncode == 130
    assert re.search(r"4 requests in 1 batch at the provider \(\$\d+\.\d\d at most\): they go on there\.", rest)
    assert "`judge batch cancel run` ends them" in rest
    server.made[0].looks = 1
    assert command(["batch", "attach", "run"]) == 0
    assert (server.sizes, sum(server.paid.values())) == ([4], 4)


def test_cancel_after_a_batch_was_lost_on_its_way(
    batch: Command, server: BatchServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.down = 1
    assert batch("--detach") == 0
    assert server.sizes == []
    capsys.readouterr()
    assert command(["batch", "cancel", "run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"canceled": [], "ended": [], "unclear": [], "never_received": [1]}


def test_a_folder_without_batches_has_nothing_to_attach_to(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command(["batch", "attach", str(tmp_path)]) == 2
    assert "no run with batches at a provider" in capsys.readouterr().err
    assert command(["batch", "cancel", str(tmp_path)]) == 2


def test_detach_needs_an_engine_that_can(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_items(tmp_path / "in.jsonl", 1)
    fixed: list[Any] = ["batch", str(tmp_path / "in.jsonl"), "-j", "fake/always-4", "-o", str(tmp_path / "run")]
    assert command([*fixed, "--detach"]) == 2
    assert "--engine provider-batch" in capsys.readouterr().err
    assert command([*fixed, "--engine", "provider-batch"]) == 2
    assert "has no batch API here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "usage", "text"),
    [
        (["batch", "--help"], "batch [OPTIONS]", "--max-usd-per-item"),
        (["batch", "attach", "--help"], "batch attach [OPTIONS]", "Come back to a run"),
        (["batch", "cancel", "-h"], "batch cancel [OPTIONS]", "is billed"),
    ],
)
def test_each_has_a_help_of_its_own(
    arguments: list[str], usage: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(arguments) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert usage in shown
    assert text in shown


def test_an_input_may_be_called_like_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("attach", "batch"):
        write_items(tmp_path / name, 2)
    fixed = ["-r", "process", "-j", "fake/always-4", "-o"]
    assert command(["batch", "batch", *fixed, "one"]) == 0
    assert command(["batch", "./attach", *fixed, "two"]) == 0
    assert command(["batch", *fixed, "three", "attach"]) == 0
    assert name_of(0) in (tmp_path / "three" / "results.jsonl").read_text()
