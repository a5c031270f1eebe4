"""kill -9 at any moment: nothing recorded is lost, and nothing recorded is paid for again."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from batch_items import GOOD, PATIENCE_S, JudgeServer, name_of, recorded, write_items
from faults import Fault
from loopback import Scripted, chat

from judge.store.run_folder import RunFolder

ITEMS = 500
KILLS = 20
CONCURRENCY = 8


class Forks:
    """Orders to forked.py."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, *, resume: bool, kill_at: int | None = None, then_s: float = 0.0) -> dict[str, Any]:
        """One batch in a child, killed or not; how it ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"resume": resume, "kill_at": kill_at, "then_s": then_s}) + "\n")
        self._process.stdin.flush()
        ended: dict[str, Any] = json.loads(self._process.stdout.readline())
        return ended


@contextmanager
def forks(source: Path, folder: Path, url: str, work: Path, concurrency: int) -> Iterator[Forks]:
    """A process that runs batches in children of its own."""
    program = Path(__file__).with_name("forked.py")
    command = [sys.executable, str(program), str(source), str(folder), url, str(work), str(concurrency)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=program.parents[2]
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield Forks(process)
        finally:
            process.stdin.close()
            process.wait(timeout=PATIENCE_S)


def killed_at_random_moments(work: Path) -> Fault:
    """Twenty kills of one run; each item exactly once at the end, and no item that was recorded is asked again."""
    draw = random.Random(5)
    source, folder = write_items(work / "in.jsonl", ITEMS), work / "run"
    killed = again = 0
    allowed, moved = 0, threading.Condition()

    def answer(item: str, before: int) -> Scripted:
        """Not before the kill for the last ones, however late it comes: the run is never over by then."""
        with moved:
            moved.wait_for(lambda: server.requests <= allowed, PATIENCE_S)
        return chat(GOOD, delay=0.01)

    def allow(requests: int) -> None:
        nonlocal allowed
        with moved:
            allowed = requests
            moved.notify_all()

    with JudgeServer(answer) as server, forks(source, folder, server.url, work, CONCURRENCY) as batches:
        settled: Counter[str] = Counter()
        for number in range(KILLS):
            kill_at = draw.randrange(1, 30)
            allow(server.requests + kill_at + CONCURRENCY - 1)
            ended = batches.run(resume=number > 0, kill_at=kill_at, then_s=draw.uniform(0, 0.01))
            killed += ended["killed"]
            settled |= Counter({name: server.calls[name] for name in recorded(folder)})
        allow(10 * ITEMS)
        last = batches.run(resume=True)
        again = sum(server.calls[name] != count for name, count in settled.items())
        requests, most = server.requests, max(server.calls.values())
    with RunFolder.read(folder) as run:
        order = [verdict.trajectory_id for verdict in run.verdicts()]
        counts = run.counts()
    lost = requests - ITEMS
    return Fault(
        f"kill -9 at {KILLS} random moments",
        f"{killed} kills of a run of {ITEMS}: {len(order)} verdicts in order, {again} recorded items asked again, "
        f"{lost} calls lost in flight (at most {KILLS * CONCURRENCY})",
        killed == KILLS
        and last["status"] == 0
        and order == [name_of(number) for number in range(ITEMS)]
        and counts.replaced == 0
        and counts.pending == 0
        and again == 0
        and lost <= KILLS * CONCURRENCY
        and most <= KILLS + 1,
    )


def rerun_after_a_kill(work: Path, *, items: int, concurrency: int, kill_at: int) -> dict[str, int]:
    """Counts of a run that is killed after `kill_at` verdicts and then run again."""
    source, folder = write_items(work / "in.jsonl", items), work / "run"
    with JudgeServer(delay=0.05) as server, forks(source, folder, server.url, work, concurrency) as batches:
        batches.run(resume=False, kill_at=kill_at)
        kept = {name: server.calls[name] for name in recorded(folder)}
        before = server.requests
        ended = batches.run(resume=True)
        again = sum(server.calls[name] - count for name, count in kept.items())
        calls = server.requests - before
    names = recorded(folder)
    return {
        "rows": len(kept),
        "calls": calls,
        "again": again,
        "lines": len(names),
        "unique": len(set(names)),
        "status": ended["status"],
    }


def killed_after_the_twelfth(work: Path) -> Fault:
    """G-D38: 20 items, 4 at once, a kill after the 12th verdict."""
    got = rerun_after_a_kill(work, items=20, concurrency=4, kill_at=12)
    return Fault(
        "kill -9 after the 12th of 20",
        f"{got['rows']} rows on disk, {got['calls']} calls in the rerun, {got['again']} recorded asked again, "
        f"{got['unique']} unique",
        got["rows"] >= 12
        and got["calls"] <= 8
        and (got["again"], got["status"]) == (0, 0)
        and got["unique"] == got["lines"] == 20,
    )


SCENARIOS = (killed_at_random_moments, killed_after_the_twelfth)
