"""How a batch ends early, and that what is done is kept: interrupts, deadlines, caps, a refused key."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from batch_items import (
    GOOD,
    PATIENCE_S,
    RUBRIC,
    JudgeServer,
    heard_on_stderr,
    name_of,
    recorded,
    settings_of,
    until,
    write_items,
)
from loopback import Scripted, chat

from judge.cli.interrupts import SAME_MOMENT_S
from judge.engine.batch import judge_batch
from judge.engine.control import Control
from judge.errors import BudgetReached, ConfigError, TerminalError, UnknownName
from judge.providers import connect
from judge.report.verdicts import summary_text
from judge.store.ledger import DayLedger
from judge.voting import WRAPPED_UP

ROOT = Path(__file__).resolve().parents[2]
MAIN = "from judge.cli.main import main; main()"
OWN = """
id: own
version: "1"
title: Own
intent: To test.
criteria:
  - id: quality
    question: How good?
    scale: {min: 1, max: 5, step: 1}
    evidence: none
"""


def test_a_drain_finishes_what_is_under_way(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 50)
    control = Control()

    def answer(item: str, before: int) -> Scripted:
        if item == name_of(10):
            control.drain("interrupt")
        return chat(GOOD, delay=0.02)

    with JudgeServer(answer) as server:
        settings = settings_of(tmp_path, server.url, concurrency=4)
        outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings, control=control)
        assert outcome.error is None
        assert outcome.result.stopped == "interrupt"
        assert len(recorded(tmp_path / "run")) == server.requests == outcome.result.judged < 20
        again = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings, resume=True)
        assert (again.result.pending, server.requests) == (0, 50)


def test_a_model_in_this_process_leaves_few_trajectories_to_wait_for(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 20)
    control = Control()

    def answer(item: str, before: int) -> Scripted:
        control.drain("interrupt")  # while the first call is under way
        return chat(GOOD, delay=0.1)

    with JudgeServer(answer) as server:
        settings = settings_of(tmp_path, server.url, concurrency=16)
        connection = connect("openai/m1", settings)
        connection.most_at_once = 2  # as a model in this process says
        outcome = judge_batch(
            [source], RUBRIC, out=tmp_path / "run", judge=connection, settings=settings, control=control
        )
        assert 1 <= outcome.result.judged == server.requests <= 2
        asyncio.run(connection.aclose())


def test_a_deadline_lets_nothing_new_begin(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 200)
    numbers, now = count(1), 0.0

    def answer(item: str, before: int) -> Scripted:
        nonlocal now
        if next(numbers) == 10:
            now = 0.5
        return chat(GOOD)

    with JudgeServer(answer) as server:
        settings = settings_of(tmp_path, server.url, concurrency=4)
        control = Control(deadline_s=0.5, clock=lambda: now)
        outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings, control=control)
        assert outcome.result.stopped == "deadline"
        assert 10 <= outcome.result.judged == server.requests <= 10 + 4  # those that were under way


def test_a_refused_key_stops_the_batch_and_keeps_what_is_done(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 40)
    late = {name_of(number) for number in range(20, 40)}
    key = Scripted(401, {"error": {"message": "Incorrect API key"}})
    with JudgeServer(lambda item, before: key if item in late else chat(GOOD)) as server:
        settings = settings_of(tmp_path, server.url, concurrency=4)
        outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
        assert server.requests <= 20 + 4
    assert isinstance(outcome.error, TerminalError)
    assert "Incorrect API key" in str(outcome.error)
    assert (outcome.result.judged, outcome.result.pending) == (20, 20)


def test_earlier_spend_counts_when_asked(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 10)
    with JudgeServer(lambda item, before: chat(GOOD, tokens=(1000, 0))) as server:  # $1 a call
        settings = settings_of(tmp_path, server.url, concurrency=1, max_usd=4.0)
        judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
        spent = len(recorded(tmp_path / "run"))
        assert 1 <= spent <= 4
        said: list[str] = []
        options: dict[str, Any] = {"out": tmp_path / "run", "settings": settings, "resume": True, "notice": said.append}
        counted = judge_batch([source], RUBRIC, count_earlier=True, **options)
        assert (counted.result.judged, type(counted.error)) == (0, BudgetReached)
        fresh = judge_batch([source], RUBRIC, **options)
    assert fresh.result.judged >= 1
    told = [
        line for line in said if line.startswith(f"max_usd = 4.0; earlier sessions of this run cost ${spent}.0000: ")
    ]
    assert [line.split(": ")[1][:10] for line in told] == ["they count", "it is for "]
    assert fresh.result.spend.known_usd == pytest.approx(spent + fresh.result.judged)


def test_a_trajectory_begins_near_the_cap_only_when_all_its_samples_fit(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 30)
    with JudgeServer(lambda item, before: chat(GOOD, tokens=(400, 50))) as server:
        settings = settings_of(tmp_path, server.url, concurrency=4, samples=3, max_usd=12.0)
        outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
        calls = set(server.calls.values())
    assert isinstance(outcome.error, BudgetReached)
    assert outcome.result.summary.errors == {}
    assert calls == {3}  # nobody was begun and left half judged
    assert outcome.result.spend.known_usd >= 0.7 * 12.0


def answers_that_differ(item: str, before: int) -> Scripted:
    """4, then 2, then 4 for each item, 50 cents a call: a third vote is wanted."""
    return chat(json.dumps({"reason": "fine", "score": 2 if before == 1 else 4}), tokens=(400, 100))


def test_no_vote_that_a_verdict_can_do_without_is_drawn_once_most_of_the_money_is_spent(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 30)
    with JudgeServer(answers_that_differ) as server:
        settings = settings_of(tmp_path, server.url, concurrency=1, samples=None, max_usd=12.0, max_output_tokens=200)
        said: list[str] = []
        outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings, notice=said.append)
        calls = [server.calls[name_of(number)] for number in range(len(server.calls))]
    # 80 % are $9.60: after six trajectories $9.00 are spent, and the seventh's two votes make it $10.00
    assert calls[:6] == [3] * 6
    (told,) = said
    assert told.startswith("Most of max_usd is spent ($10.0000 of $12.0)")
    assert set(calls[6:]) == {2}
    lines = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert [line["score"] for line in lines] == [4.0] * 6 + [3.0] * len(calls[6:])
    assert [WRAPPED_UP in line["warnings"] for line in lines] == [False] * 6 + [True] * len(calls[6:])
    assert outcome.result.summary.wrapped_up == len(calls[6:])
    assert f"{len(calls[6:])} verdict" in summary_text(outcome.result.summary).split(" on fewer votes")[0]
    assert isinstance(outcome.error, BudgetReached)


def test_a_vote_without_which_there_is_no_verdict_is_drawn_to_the_end(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 30)

    def answer(item: str, before: int) -> Scripted:
        return chat(json.dumps({"reason": "fine", "score": "unknown" if before == 1 else 4}), tokens=(400, 100))

    with JudgeServer(answer) as server:
        settings = settings_of(tmp_path, server.url, concurrency=1, samples=None, max_usd=12.0, max_output_tokens=200)
        outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
    assert set(server.calls.values()) == {3}
    assert (outcome.result.summary.wrapped_up, outcome.result.summary.inconclusive) == (0, 0)


def test_a_cap_for_each_trajectory_leaves_the_rest_of_the_run_alone(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 0, names=[name_of(0), name_of(1)], said={name_of(1): "long " * 4000})
    with JudgeServer() as server:
        settings = settings_of(tmp_path, server.url, max_usd_per_item=3.0)
        outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
        assert dict(server.calls) == {name_of(0): 1}
    assert (outcome.error, outcome.result.summary.scored) == (None, 1)
    assert outcome.result.summary.errors == {"item_budget": 1}


def test_a_cap_needs_a_price(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 1)
    with JudgeServer() as server:
        for cap in ("max_usd_per_day", "max_usd_per_item"):
            settings = settings_of(tmp_path, server.url, models={}, **{cap: 1.0})
            with pytest.raises(ConfigError, match=f"{cap} is 1.0, but the price of 'openai/m1' is not known"):
                judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)


def test_an_unknown_price_is_reported_as_unknown(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 3)
    with JudgeServer() as server:
        settings = settings_of(tmp_path, server.url, models={})
        result = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings).result
    assert (result.usd_per_verdict, result.summary.cost_usd) == (None, None)
    assert (result.spend.unpriced, result.spend.known_usd) == (3, 0.0)


def test_the_cost_of_a_verdict_and_of_a_criterion(tmp_path: Path) -> None:
    """100 input and 20 output tokens at $1,000 a million are 12 cents."""
    two = RUBRIC.model_copy(update={"criteria": (*RUBRIC.criteria, RUBRIC.criteria[0].model_copy(update={"id": "b"}))})
    reply = json.dumps({name: {"reason": "fine", "score": 4} for name in ("quality", "b")})
    source = write_items(tmp_path / "in.jsonl", 5)
    with JudgeServer(lambda item, before: chat(reply, tokens=(100, 20))) as server:
        result = judge_batch([source], two, out=tmp_path / "run", settings=settings_of(tmp_path, server.url)).result
    assert result.summary.scored == 5
    assert (result.usd_per_verdict, result.usd_per_criterion) == (0.12, 0.06)


def test_a_price_file_goes_before_the_table(tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"m1": {"input_cost_per_token": 0.001, "output_cost_per_token": 0.01}}))
    source = write_items(tmp_path / "in.jsonl", 2)
    with JudgeServer(lambda item, before: chat(GOOD, tokens=(100, 20))) as server:
        settings = settings_of(tmp_path, server.url, models={}, price_file=prices)
        result = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings).result
        assert result.usd_per_verdict == pytest.approx(0.3)  # 100 * 0.001 + 20 * 0.01
        prices.write_text('{"m1": {"input_cost_per_token": -1}}')
        os.utime(prices, ns=(1, 1))
        with pytest.raises(ConfigError, match="gives no price for 'm1'"):
            judge_batch([source], RUBRIC, out=tmp_path / "other", settings=settings)


def test_the_day_s_cap_is_shared_and_ends_with_the_day(tmp_path: Path) -> None:
    now = datetime(2026, 1, 1, 23, 59, tzinfo=UTC)
    one, two = (DayLedger(tmp_path, 1.0, now=lambda: now) for _ in range(2))
    assert [one.admit(0.4), two.admit(0.4), one.admit(0.4)] == [True, True, False]
    two.settle(0.4, 0.1)
    assert one.spent() == pytest.approx(0.5)
    assert one.admit(0.5)
    assert not two.admit(0.01)
    with (tmp_path / "spend-2026-01-01.txt").open("ab") as file:
        file.write(b"0.")  # torn by a crash: no amount
    assert one.spent() == pytest.approx(1.0)
    now = datetime(2026, 1, 2, 0, 1, tzinfo=UTC)
    assert one.admit(1.0)


def test_a_run_stops_at_the_day_s_cap(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 20)
    with JudgeServer(lambda item, before: chat(GOOD, tokens=(1000, 0))) as server:
        settings = settings_of(tmp_path, server.url, max_usd_per_day=5.0)
        outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
        assert server.requests < 20
    assert isinstance(outcome.error, BudgetReached)
    assert "of today's $5.0000" in str(outcome.error)


def test_an_unknown_engine_is_named(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 1)
    with JudgeServer() as server, pytest.raises(UnknownName, match=r"No engine is named 'locl'\. Did you mean 'local'"):
        judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings_of(tmp_path, server.url), engine="locl")


def command(work: Path, url: str, *more: str) -> subprocess.Popen[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if name in ("PATH", "SYSTEMROOT")},
        "PYTHONPATH": str(ROOT),
        "OPENAI_BASE_URL": f"{url}/v1",
        "JUDGE_CACHE_DIR": str(work / "cache"),
        "HOME": str(work),
    }
    arguments = ["batch", "in.jsonl", "-r", "own.yaml", "-j", "openai/m1", "-o", "run", "-c", "2", "-n", "1", *more]
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, *arguments],
        cwd=work,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(os.name == "nt", reason="SIGINT cannot be sent to one process on Windows")
def test_the_first_ctrl_c_drains_and_the_second_stops(tmp_path: Path) -> None:
    write_items(tmp_path / "in.jsonl", 30)
    (tmp_path / "own.yaml").write_text(OWN, encoding="utf-8")
    gate, numbers, free = threading.Event(), count(), 5

    def answer(item: str, before: int) -> Scripted:
        if next(numbers) >= free:
            gate.wait(PATIENCE_S)
        return chat(GOOD)

    with JudgeServer(answer) as server:
        process = command(tmp_path, server.url, "--log", "log.jsonl", "--json")
        until(lambda: len(recorded(tmp_path / "run")) >= 3)
        process.send_signal(signal.SIGINT)
        heard_on_stderr(process, "Ctrl-C again")
        gate.set()
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130, err
        result = json.loads(out)
        assert result["stopped"] == "interrupt"
        assert result["judged"] == len(recorded(tmp_path / "run")) == server.requests <= free + 2
        events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
        assert [event["event"] for event in events][:1] == ["batch begins"]
        assert sum(event["event"] == "call" for event in events) == server.requests

        gate.clear()
        kept = len(recorded(tmp_path / "run"))
        before = server.requests
        process = command(tmp_path, server.url, "--resume")
        try:
            until(lambda: server.requests == before + 2)
            process.send_signal(signal.SIGINT)
            heard_on_stderr(process, "Ctrl-C again")
            time.sleep(2 * SAME_MOMENT_S)  # from the first on, which was before it was said
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=PATIENCE_S / 2)  # before the two calls are answered
        finally:
            process.kill()
            gate.set()
        assert process.returncode == 130
        assert len(recorded(tmp_path / "run")) == kept
