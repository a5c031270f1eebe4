"""What a run over pairs would send and cost, found out without sending anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from judge.config import Settings
from judge.engine.connection import Connection
from judge.engine.draw import numbered
from judge.engine.facade import rubric_of
from judge.engine.loop import PRIVATE
from judge.engine.pairing import Pair
from judge.engine.pairwise import SIDES, PairJudging, open_pair_judge, pair_reference, pair_setup
from judge.engine.plan import PlannedPrompt, named, range_text
from judge.engine.run import References
from judge.errors import ContextOverflow
from judge.types.record import Record
from judge.types.rubric import Rubric
from judge.types.trajectory import Usage


class PairPlan(Record):
    """What a run over pairs would take; retries come on top.

    Attributes:
        cached: Samples that the cache holds already; they cost nothing.
        input_tokens: Of all calls, as counted for the judge's model.
        output_tokens: Most that the calls may write.
        cost_low, cost_high: US dollars, without provider prompt caches: input alone, and with the longest output. None
            where the price is not known.
        overflow: Pairs that do not fit the judge even shortened; they would fail.
    """

    omit_none: ClassVar[bool] = False

    judge: str
    rubric: str
    pairs: int
    calls: int
    cached: int
    input_tokens: int
    output_tokens: int
    cost_low: float | None
    cost_high: float | None
    overflow: tuple[str, ...]
    truncated: tuple[str, ...]
    prompts: tuple[PlannedPrompt, ...] = ()

    def text(self) -> str:
        """The plan in a few lines."""
        lines = [
            f"{self.pairs:,} pair{'' if self.pairs == 1 else 's'} in both orders "
            f"under rubric {self.rubric} by {self.judge}",
            f"calls: {self.calls:,}, and {self.cached:,} samples from the cache",
            f"tokens: about {self.input_tokens:,} in, at most {self.output_tokens:,} out",
            f"cost: {range_text(self.cost_low, self.cost_high)}",
            *named("shortened to fit", self.truncated),
            *named("do not fit and would fail", self.overflow),
        ]
        return "\n".join(lines)


def plan_pairs(
    pairs: Sequence[Pair],
    rubric: str | Path | Rubric | None = None,
    *,
    judge: str | Connection | None = None,
    settings: Settings,
    reference: References = None,
    policy: str | None = None,
    payloads: bool = False,
) -> PairPlan:
    """What `judge_pairs` would do with the same arguments; nothing is sent.

    Args:
        payloads: Keep every prompt and payload in the result.

    Raises:
        UsageError: As for `judge_pairs`.
    """
    return PRIVATE.run(_plan(pairs, rubric, judge, settings, reference, policy, payloads))


async def _plan(
    pairs: Sequence[Pair],
    rubric: str | Path | Rubric | None,
    judge: str | Connection | None,
    settings: Settings,
    reference: References,
    policy: str | None,
    payloads: bool,
) -> PairPlan:
    async with open_pair_judge(judge, settings) as connection:
        setup = pair_setup(rubric_of(rubric, settings), connection, settings, policy=policy)
        judging = PairJudging(setup, connection)
        calls = cached = tokens = 0
        overflow: list[str] = []
        truncated: list[str] = []
        prompts: list[PlannedPrompt] = []
        for pair in pairs:
            for first in SIDES:
                x, y = (pair.a, pair.b) if first == "a" else (pair.b, pair.a)
                name = f"{x.id} against {y.id}"
                try:
                    made = judging.prompt(pair, first, pair_reference(pair, reference))
                except ContextOverflow:
                    overflow.append(name)
                    continue
                kept = [connection.hit(numbered(made.request, i)) is not None for i in range(setup.draws[1])]
                cached += sum(kept)
                calls += kept.count(False)
                tokens += made.tokens * kept.count(False)
                if made.truncated:
                    truncated.append(name)
                if payloads:
                    prompts.append(PlannedPrompt.of(name, made, connection))
        output = calls * (setup.sampling.max_output_tokens + (setup.sampling.thinking_tokens or 0))

        def price(written: int) -> float | None:
            return 0.0 if connection.offline else connection.price(Usage(input_tokens=tokens, output_tokens=written))

        return PairPlan(
            judge=connection.name,
            rubric=setup.rubric.id,
            pairs=len(pairs),
            calls=calls,
            cached=cached,
            input_tokens=tokens,
            output_tokens=output,
            cost_low=price(0),
            cost_high=price(output),
            overflow=tuple(overflow),
            truncated=tuple(truncated),
            prompts=tuple(prompts),
        )
