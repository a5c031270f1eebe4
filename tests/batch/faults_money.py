"""The budget under 64 parallel calls whose bills nobody can foresee."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

from batch_items import GOOD, RUBRIC, JudgeServer, settings_of, write_items
from faults import Fault
from loopback import Scripted, chat

from judge.engine.batch import judge_batch
from judge.errors import BudgetReached

ITEMS = 400
PARALLEL = 64
CAP = 60.0
USD_PER_TOKEN = 1000.0 / 1e6
LIMIT = 100
"""`max_output_tokens` of the runs: the most that an honest provider may write."""
PROMPT = 300
"""Fewer than the tokens that the prompt is counted as."""

Bill = Callable[[random.Random, int], tuple[int, int]]
BILLS: dict[str, Bill] = {
    "of anything up to the estimate": lambda draw, number: (draw.randrange(1, PROMPT), draw.choice([0, 1, LIMIT])),
    "of next to nothing, then of the whole estimate": lambda draw, number: (1, 0) if number < 80 else (PROMPT, LIMIT),
    "of three times the estimate": lambda draw, number: (3000, 3 * LIMIT),
}
"""What a provider says that a call used, by its number. One call in ten is not told, and billed all the same."""


def budget(what: str, work: Path) -> Fault:
    """What the provider bills never passes the cap, and the run says why it ended."""
    draw = random.Random(7)
    source = write_items(work / "in.jsonl", ITEMS)
    bills: list[float] = []
    numbers = count()

    def answer(item: str, before: int) -> Scripted:
        tokens = BILLS[what](draw, next(numbers))
        bills.append(sum(tokens) * USD_PER_TOKEN)
        reply = chat(GOOD, tokens=tokens, delay=0.15)
        if draw.random() < 0.1:
            reply.body["usage"] = None  # a bill that is not told counts as the whole estimate
        return reply

    with JudgeServer(answer) as server:
        settings = settings_of(work, server.url, concurrency=PARALLEL, max_usd=CAP, max_output_tokens=LIMIT)
        outcome = judge_batch([source], RUBRIC, out=work / "run", settings=settings)
        most = server.server.most_under_way
    result, billed = outcome.result, sum(bills)
    return Fault(
        f"budget, bills {what}",
        f"cap ${CAP:.2f}, billed ${billed:.2f}, {result.judged} judged, {result.pending} left, {most} calls at once",
        billed <= CAP
        and isinstance(outcome.error, BudgetReached)
        and f"{result.judged} judged, {result.pending} left" in str(outcome.error)
        and result.judged > 0,
    )


SCENARIOS = tuple(partial(budget, what) for what in BILLS)
