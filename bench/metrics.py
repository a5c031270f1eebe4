"""Growth of the metrics' cost from 100 to 10,000 calls, against n log n, and the cost of one small run.

Printed: time(10,000) / time(100) over 200, which is what n log n gives (100 times the calls, twice the logarithm).
At most 1 means: no worse than n log n.

    python bench/metrics.py
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Sequence
from math import log
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from judge.metrics import measure
from judge.types import ExpectedCall, Final, Reference, Source, Text, ToolCall, ToolResult, Trajectory

SMALL, LARGE = 100, 10_000
REDUNDANCY = ("has_redundant_call", "num_redundant_calls", "num_exact_repeats")
MATCHING = ("match_strict", "match_in_order", "match_any_order", "match_subset", "match_superset")
OVERLAP = ("call_precision", "call_recall", "call_f1", "call_order_f1", "matches_reference", "reference_overlap")
Queries = Callable[[random.Random, int], str]


def _vocabulary(size: int, words: int) -> Queries:
    return lambda rng, at: " ".join(f"w{rng.randrange(size)}" for _ in range(words))


def _zipf(rng: random.Random, at: int) -> str:
    return " ".join(f"w{int(rng.paretovariate(0.8)) % 5000}" for _ in range(10))


WORKLOADS: dict[str, Queries] = {
    "distinct words": lambda rng, at: f"alpha{at} beta{at} gamma{at}",
    "all alike": lambda rng, at: f"order status number {at}",
    "one template, two new words": lambda rng, at: f"price of item{at} shop{at}",
    "all equal": lambda rng, at: "reset password",
    "Zipf words": _zipf,
    "6 of 200 words": _vocabulary(200, 6),
    "8 of 500 words": _vocabulary(500, 8),
    "20 of 3,000 words": _vocabulary(3000, 20),
}


def run(count: int, queries: Queries, seed: int = 1) -> Trajectory:
    """A run of `count` searches with results and an answer."""
    rng = random.Random(seed)
    steps: list[Any] = []
    for at in range(count):
        index = len(steps) + 1
        steps.append(ToolCall(index=index, name="search", arguments={"query": queries(rng, at)}))
        steps.append(ToolResult(index=index + 1, call_index=index, status="ok", content=(Text(text="found"),)))
    steps.append(Final(index=len(steps) + 1, text="done"))
    return Trajectory(id=f"run-{count}", source=Source(format="bench"), steps=tuple(steps), final="done")


def seconds(work: Callable[[], object], *, least: float = 0.05) -> float:
    """Best of several CPU times of `work`; short work is repeated within one timing."""
    best = float("inf")
    spent = 0.0
    gc.collect()
    gc.disable()
    try:
        while spent < least:
            start = time.process_time()
            work()
            took = time.process_time() - start
            best, spent = min(best, took), spent + took
    finally:
        gc.enable()
    return best


def growth(name: str, make: Callable[[int], tuple[Trajectory, Reference | None]], only: Sequence[str]) -> float:
    """Prints and returns time(LARGE) / time(SMALL) over what n log n gives."""
    times = {}
    for count in (SMALL, LARGE):
        trajectory, reference = make(count)
        times[count] = seconds(lambda t=trajectory, r=reference: measure(t, r, only=only))  # type: ignore[misc]
    ratio = times[LARGE] / times[SMALL]
    allowed = LARGE / SMALL * log(LARGE) / log(SMALL)
    exponent = log(ratio) / log(LARGE / SMALL)
    print(
        f"{name:<48} {times[SMALL] * 1e3:8.2f} ms {times[LARGE] * 1e3:9.1f} ms   "
        f"exponent {exponent:4.2f}   over n log n {ratio / allowed:5.2f}"
    )
    return ratio / allowed


def reversed_reference(trajectory: Trajectory) -> Reference:
    """All calls of the run, in reverse: nothing in order, everything present."""
    calls = [step for step in trajectory.steps if step.kind == "tool_call"]
    return Reference(calls=tuple(ExpectedCall(name=call.name, arguments=call.arguments) for call in reversed(calls)))


def same_reference(trajectory: Trajectory) -> Reference:
    """All calls of the run, in order."""
    calls = [step for step in trajectory.steps if step.kind == "tool_call"]
    return Reference(calls=tuple(ExpectedCall(name=call.name, arguments=call.arguments) for call in calls))


def names_only(trajectory: Trajectory) -> Reference:
    """As many calls of the one tool, any arguments: every call fits every expected one."""
    calls = [step for step in trajectory.steps if step.kind == "tool_call"]
    return Reference(calls=tuple(ExpectedCall(name=call.name) for call in calls))


def main() -> None:
    """Prints every ratio."""
    print(f"metrics, {SMALL} to {LARGE} calls, CPU time")
    for name, queries in WORKLOADS.items():
        growth(f"redundancy: {name}", lambda count, q=queries: (run(count, q), None), REDUNDANCY)  # type: ignore[misc]
    references = {"in order": same_reference, "reversed": reversed_reference, "any arguments": names_only}
    for kind, only in (("matching", MATCHING), ("overlap and common subsequence", OVERLAP)):
        for name, refer in references.items():

            def make(count: int, refer: Callable[[Trajectory], Reference] = refer) -> tuple[Trajectory, Reference]:
                trajectory = run(count, WORKLOADS["6 of 200 words"])
                return trajectory, refer(trajectory)

            growth(f"{kind}: {name}", make, only)
    small = run(2, WORKLOADS["all alike"])
    each = seconds(lambda: [measure(small) for _ in range(1000)], least=1.0) / 1000
    print(f"all metrics of a run of {len(small.steps)} steps, no reference: {each * 1e6:.0f} µs")


if __name__ == "__main__":
    main()
