"""What every peer's program shares: its prompts, the clock, and a check that each judgment came to a score.

    python bench/peers/NAME.py --port PORT --prompts FILE --warm-up N --concurrency N

The last line that a program prints is {"wall", "cpu", "judgments"}, in seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KEY = "sk-bench"
MODEL = "bench"


@dataclass(frozen=True)
class Prompt:
    """One judgment to make: instructions, what is judged, and the form of the reply."""

    system: str
    user: str
    schema_name: str
    schema: dict[str, Any]


@dataclass(frozen=True)
class Work:
    """What a peer is given."""

    base_url: str
    prompts: list[Prompt]
    warm_up: int
    concurrency: int


def given() -> Work:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--prompts", type=Path, required=True)
    parser.add_argument("--warm-up", type=int, required=True)
    parser.add_argument("--concurrency", type=int, required=True)
    flags = parser.parse_args()
    lines = flags.prompts.read_text(encoding="utf-8").splitlines()
    prompts = [Prompt(**json.loads(line)) for line in lines]
    return Work(f"http://127.0.0.1:{flags.port}/v1", prompts, flags.warm_up, flags.concurrency)


def at_once(judge: Callable[[Prompt], Awaitable[float]], concurrency: int) -> Callable[[list[Prompt]], Awaitable[Any]]:
    """Judges every prompt, `concurrency` at once; how a peer that judges one by one is run over many."""
    gate = asyncio.Semaphore(concurrency)

    async def one(prompt: Prompt) -> float:
        async with gate:
            return await judge(prompt)

    async def every(prompts: list[Prompt]) -> list[float]:
        return await asyncio.gather(*map(one, prompts))

    return every


async def measure(work: Work, every: Callable[[list[Prompt]], Awaitable[list[float]]]) -> None:
    """Judges the first prompts unmeasured, then the others by the clock; prints the times.

    Raises:
        SystemExit: A judgment came to no score.
    """
    await every(work.prompts[: work.warm_up])
    prompts = work.prompts[work.warm_up :]
    wall, cpu = time.perf_counter(), time.process_time()
    scores = await every(prompts)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    wrong = [score for score in scores if isinstance(score, bool) or not isinstance(score, int | float)]
    if wrong or len(scores) != len(prompts):
        raise SystemExit(f"{len(scores)} of {len(prompts)} judged, {len(wrong)} without a score: {wrong[:1]}")
    print(json.dumps({"wall": wall, "cpu": cpu, "judgments": len(scores)}))
