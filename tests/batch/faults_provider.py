"""Faults of a provider: every item's first request fails in one way, and the second is answered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from batch_items import GOOD, RUBRIC, JudgeServer, settings_of, write_items
from faults import Fault
from loopback import Scripted, chat

from judge.engine.batch import judge_batch

ITEMS = 16
WHOLE_S = 5.0
"""For a slow-loris, whose answer takes fifteen seconds; the next one has these for the slowest machine."""
BUSY = {"error": {"message": "busy"}}
FIRST: dict[str, Callable[[], Scripted]] = {
    "429 with Retry-After": lambda: Scripted(429, BUSY, {"retry-after-ms": "50"}),
    "429 without Retry-After": lambda: Scripted(429, BUSY),
    "500": lambda: Scripted(500, BUSY),
    "529 overloaded": lambda: Scripted(529, BUSY),
    "connection reset": lambda: Scripted(reset=True),
    "slow-loris": lambda: Scripted(200, chat(GOOD).body, drip=0.05),
    "wrong content type": lambda: Scripted(200, "<html>maintenance</html>"),
    "half a JSON": lambda: Scripted(200, '{"choices": [{"mess', {"content-type": "application/json"}),
}


def provider_fault(what: str, work: Path) -> Fault:
    """Each item is judged once, with one request more than it needs."""
    source = write_items(work / "in.jsonl", ITEMS)
    with JudgeServer(lambda item, before: FIRST[what]() if before == 0 else chat(GOOD)) as server:
        slow: dict[str, Any] = {"concurrency": ITEMS, "provider": {"timeout_s": WHOLE_S}}
        settings = settings_of(work, server.url, **(slow if what == "slow-loris" else {"concurrency": 8}))
        outcome = judge_batch([source], RUBRIC, out=work / "run", settings=settings)
        requests, most = server.requests, max(server.calls.values())
    result = outcome.result
    scored = result.summary.scored
    return Fault(
        what,
        f"{ITEMS} items, {requests} requests, {scored} scored, {sum(result.summary.errors.values())} errors",
        outcome.error is None and scored == ITEMS and requests == 2 * ITEMS and most == 2,
    )


def clock_jump(work: Path) -> Fault:
    """The wall clock leaps a day back and forth; nothing is lost, and no duration is negative."""
    source = write_items(work / "in.jsonl", ITEMS)
    ticks = iter(range(1_000_000))

    def leaping() -> float:
        return 1_700_000_000.0 + (86_400.0 if next(ticks) % 2 else -86_400.0)

    with JudgeServer(lambda item, before: Scripted(500, BUSY) if before == 0 else chat(GOOD)) as server:
        settings = settings_of(work, server.url, concurrency=8)
        with patch("time.time", leaping):
            outcome = judge_batch([source], RUBRIC, out=work / "run", settings=settings)
        requests = server.requests
    result = outcome.result
    return Fault(
        "clock jump",
        f"{ITEMS} items, {requests} requests, {result.summary.scored} scored, {next(ticks)} clock readings",
        outcome.error is None and result.summary.scored == ITEMS and requests == 2 * ITEMS and result.seconds >= 0,
    )


SCENARIOS = (*(partial(provider_fault, what) for what in FIRST), clock_jump)
