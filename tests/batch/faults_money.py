"""The budget under 64 parallel calls whose bills nobody can foresee."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

from batch_items import GOOD, RUBRIC, JudgeServer, settings_of, write_items
from faults import Fault
from loopback import Scripted, chat

from judge.engine.batch import judge_batch
from judge.errors import BudgetReached

ITEMS = 400
PARALLEL = 64
CAP = 30.0
USD_PER_TOKEN = 1000.0 / 1e6
LIMIT = 100
"""`max_output_tokens` of the runs: the most that an honest provider may write."""
PROMPT = 300
"""Fewer than the tokens that the prompt is counted as."""

BILLS: dict[str, Callable[[random.Random], tuple[int, int]]] = {
    "up to the estimate": lambda draw: (draw.randrange(1, PROMPT), draw.choice([0, 1, LIMIT])),
    "three times the estimate": lambda draw: (3000, 3 * LIMIT),
    "anything from nothing to three times": lambda draw: (draw.choice([1, 300, 3000]), draw.randrange(0, 3 * LIMIT)),
}


def budget(what: str, work: Path) -> Fault:
    """What the provider bills never passes the cap, and the run says why it ended."""
    draw = random.Random(7)
    source = write_items(work / "in.jsonl", ITEMS)
    billed = 0.0

    def answer(item: str, before: int) -> Scripted:
        nonlocal billed
        tokens = BILLS[what](draw)
        billed += sum(tokens) * USD_PER_TOKEN
        reply = chat(GOOD, tokens=tokens, delay=0.01)
        if draw.random() < 0.1:
            reply.body["usage"] = None  # a bill that is not told counts as the whole estimate
        return reply

    with JudgeServer(answer) as server:
        settings = settings_of(work, server.url, concurrency=PARALLEL, max_usd=CAP, max_output_tokens=LIMIT)
        outcome = judge_batch([source], RUBRIC, out=work / "run", settings=settings)
        most = server.server.most_under_way
    result = outcome.result
    return Fault(
        f"budget, bills {what}",
        f"cap ${CAP:.2f}, billed ${billed:.2f}, {result.judged} judged, {result.pending} left, {most} calls at once",
        billed <= CAP
        and isinstance(outcome.error, BudgetReached)
        and f"{result.judged} judged, {result.pending} left" in str(outcome.error)
        and result.judged > 0,
    )


SCENARIOS = tuple(partial(budget, what) for what in BILLS)
