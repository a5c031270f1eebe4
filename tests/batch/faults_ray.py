"""A Ray worker is killed in the middle of a run: what it had not handed over is judged by another one."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from pathlib import Path

from batch_items import GOOD, RUBRIC, JudgeServer, name_of, recorded, settings_of, until, write_items
from faults import Fault
from loopback import Scripted, chat
from ray_items import hearing, verdicts

from judge.engine.batch import judge_batch

ITEMS = 120
CONCURRENCY = 8
KILL_AT = 40
"""Requests after which a worker is killed."""


def ray_worker_killed(work: Path) -> Fault:
    """One of two workers is killed by SIGKILL; each item once in the end, and nothing recorded is asked again."""
    source, folder = write_items(work / "in.jsonl", ITEMS), work / "run"
    settled: Counter[str] = Counter()
    killed: list[int] = []
    turn = threading.Lock()

    def answer(item: str, before: int) -> Scripted:
        until(lambda: len(heard.of("worker begins")) > 1)  # the first is not done before the second has begun
        with turn:
            if server.requests >= KILL_AT and not killed and recorded(folder):
                killed.append(heard.of("worker begins")[0]["pid"])
                settled.update({name: server.calls[name] for name in recorded(folder)})
                os.kill(killed[0], signal.SIGKILL)
        if killed:
            until(lambda: len(heard.of("worker begins")) > 2)  # nor those that are left before the third has
        return chat(GOOD, delay=0.05)

    with JudgeServer(answer) as server, hearing() as heard:
        settings = settings_of(work, server.url, concurrency=CONCURRENCY)
        outcome = judge_batch([source], RUBRIC, out=folder, settings=settings, engine="ray")
        again = sum(server.calls[name] != count for name, count in settled.items())
        lost_calls = server.requests - ITEMS
        workers, lost = len(heard.of("worker begins")), len(heard.of("worker lost"))
    names = [verdict["trajectory_id"] for verdict in verdicts(folder)]
    lines = recorded(folder)
    return Fault(
        "a Ray worker killed",
        f"{lost} of {workers} workers lost with {len(settled)} of {ITEMS} recorded: {len(names)} verdicts in order, "
        f"{again} recorded items asked again, {lost_calls} calls lost in flight (at most {CONCURRENCY})",
        len(killed) == lost == 1
        and workers == 3
        and 0 < len(settled) < ITEMS
        and outcome.error is None
        and outcome.result.pending == 0
        and names == [name_of(number) for number in range(ITEMS)]
        and len(lines) == ITEMS
        and again == 0
        and lost_calls <= CONCURRENCY,
    )


SCENARIOS = (ray_worker_killed,)
