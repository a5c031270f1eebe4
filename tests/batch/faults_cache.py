"""Faults of a shared cache: Redis is killed, or says nothing any more, in the middle of a run."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from batch_items import GOOD, RUBRIC, JudgeServer, recorded, settings_of, write_items
from faults import Fault
from loopback import Scripted, chat
from redis_server import RedisServer

from judge.engine.batch import judge_batch
from judge.providers import CacheWarning
from judge.store.run_folder import RunFolder

ITEMS = 40
AT = 15
PASSWORD = "pw-LEAK-31"


def lost_in_a_run(work: Path, what: str, lose: Callable[[RedisServer], None]) -> Fault:
    """Redis is lost at the fifteenth call: every item is still judged once, warned once and counted."""
    source = write_items(work / "in.jsonl", ITEMS)
    redis, lock, calls = RedisServer(PASSWORD), threading.Lock(), 0

    def answer(item: str, before: int) -> Scripted:
        nonlocal calls
        with lock:
            calls += 1
            if calls == AT:
                lose(redis)
        return chat(GOOD)

    with redis, JudgeServer(answer) as server, patch("judge.providers.redis_cache.TIMEOUT_S", 0.3):
        settings = settings_of(work, server.url, concurrency=4, cache=redis.url)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outcome = judge_batch([source], RUBRIC, out=work / "run", settings=settings)
        requests, most = server.requests, max(server.calls.values())
    summary = outcome.result.summary
    warned = sum(issubclass(each.category, CacheWarning) for each in caught)
    with RunFolder.read(work / "run") as run:
        scores = {verdict.score for verdict in run.verdicts()}
    told = [str(each.message) for each in caught]
    files = [path.read_bytes() for path in work.rglob("*") if path.is_file()]
    hidden = not any(b"LEAK" in text for text in [*files, *(each.encode() for each in told)])
    return Fault(
        what,
        f"{ITEMS} items, {requests} requests, {summary.scored} scored, {warned} warning, "
        f"{summary.cache_failures} reads and writes not done",
        outcome.error is None
        and (summary.scored, requests, most, warned) == (ITEMS, ITEMS, 1, 1)
        and sorted(recorded(work / "run")) == sorted(set(recorded(work / "run")))
        and scores == {4.0}
        and bool(summary.cache_failures)
        and hidden,
    )


def redis_killed(work: Path) -> Fault:
    """Its process is gone."""
    return lost_in_a_run(work, "redis killed mid-run", RedisServer.kill)


def redis_silent(work: Path) -> Fault:
    """It is connected and does not answer."""
    return lost_in_a_run(work, "redis silent mid-run", RedisServer.stop_answering)


SCENARIOS = (redis_killed, redis_silent)
