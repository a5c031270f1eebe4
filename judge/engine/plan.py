"""What a run would send and cost, found out without sending anything."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from judge.config import Settings
from judge.engine.connection import Connection
from judge.engine.draw import numbered
from judge.engine.facade import open_judge, rubric_of, settings_of
from judge.engine.intake import TrajectoryLike, as_reference, as_trajectories
from judge.engine.judging import Judging
from judge.engine.loop import PRIVATE
from judge.engine.setup import make_setup
from judge.types.record import Record
from judge.types.reference import Reference
from judge.types.rubric import Rubric
from judge.types.trajectory import Usage
from judge.types.verdict import Verdict


class PlannedPrompt(Record):
    """Exactly what would be sent for one trajectory, without secrets.

    Attributes:
        payload: The call of the first sample; further samples send the same and differ in their draw.
    """

    trajectory_id: str
    system: str
    segments: tuple[str, ...]
    payload: dict[str, Any]
    tokens: int
    truncated: bool

    def text(self) -> str:
        """The prompt as people read it: the system text, then the user text, whole."""
        return "\n".join(
            [
                f"==== {self.trajectory_id}: about {self.tokens:,} tokens"
                + (", truncated" if self.truncated else "")
                + " ====",
                "---- system ----",
                self.system,
                "---- user ----",
                "".join(self.segments),
                "---- call ----",
                json.dumps(_without_texts(self.payload), ensure_ascii=False, indent=2),
            ]
        )


class Plan(Record):
    """What a run would take.

    Attributes:
        calls_low, calls_high: Fewest and most calls; they differ where a third vote depends on the first two.
            Retries come on top.
        cached: Samples that the cache holds already; they cost nothing.
        input_tokens: Of all calls at `calls_high`, as counted for the judge's model.
        output_tokens: Most that the calls may write.
        cost_low, cost_high: US dollars, without provider prompt caches: input alone at `calls_low`, and input
            with the longest output at `calls_high`. None where the price is not known.
        overflow: Trajectories that do not fit the judge even shortened; they would be errors, not scores.
    """

    omit_none: ClassVar[bool] = False

    judge: str
    host: str | None
    rubric: str
    trajectories: int
    calls_low: int
    calls_high: int
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
        calls = str(self.calls_low) if self.calls_low == self.calls_high else f"{self.calls_low} to {self.calls_high}"
        cost = "unknown"
        if self.cost_low is not None and self.cost_high is not None:
            cost = f"${self.cost_low:.4g} to ${self.cost_high:.4g}"
        lines = [
            f"{self.trajectories} trajectories under rubric {self.rubric} by {self.judge}"
            + (f" at {self.host}" if self.host else ""),
            f"calls: {calls}, and {self.cached} samples from the cache",
            f"tokens: about {self.input_tokens:,} in, at most {self.output_tokens:,} out",
            f"cost: {cost}",
        ]
        if self.truncated:
            lines.append(f"shortened to fit: {len(self.truncated)} ({', '.join(self.truncated[:5])})")
        if self.overflow:
            lines.append(f"do not fit and would be errors: {len(self.overflow)} ({', '.join(self.overflow[:5])})")
        return "\n".join(lines)


def plan(
    trajectories: str | Path | Iterable[TrajectoryLike],
    rubric: str | Path | Rubric | None = None,
    *,
    judge: str | Connection | None = None,
    reference: Any = None,
    policy: str | None = None,
    settings: Settings | None = None,
    payloads: bool = False,
    **options: Any,
) -> Plan:
    """What `score_many` would do with the same arguments; nothing is sent.

    Args:
        payloads: Keep every prompt and payload in the result.

    Raises:
        UsageError: As for `score_many`.
    """
    chosen = settings_of(settings, options)
    return PRIVATE.run(_plan(trajectories, rubric, judge, reference, policy, chosen, payloads))


async def _plan(
    trajectories: str | Path | Iterable[TrajectoryLike],
    rubric: str | Path | Rubric | None,
    judge: str | Connection | None,
    reference: Any,
    policy: str | None,
    settings: Settings,
    payloads: bool,
) -> Plan:
    references = as_reference(reference)
    async with open_judge(judge, settings) as connection:
        setup = make_setup(rubric_of(rubric, settings), connection, settings, policy=policy)
        judging = Judging(setup, connection)
        least, most = setup.draws
        count = low = high = cached = tokens_low = tokens_high = 0
        overflow: list[str] = []
        truncated: list[str] = []
        prompts: list[PlannedPrompt] = []
        for trajectory in as_trajectories(trajectories):
            count += 1
            own = references
            if own is not None and not isinstance(own, Reference):
                own = own.get(trajectory.id) or own.get(trajectory.group or "")
            case = judging.begin(trajectory, own)
            if isinstance(case, Verdict):
                overflow.append(trajectory.id)
                continue
            prompt = case.prompt
            kept = [connection.hit(numbered(prompt.request, index)) is not None for index in range(most)]
            cached += sum(kept)
            low += least - sum(kept[:least])
            high += most - sum(kept)
            tokens_low += prompt.tokens * (least - sum(kept[:least]))
            tokens_high += prompt.tokens * (most - sum(kept))
            if prompt.truncated:
                truncated.append(trajectory.id)
            if payloads:
                request = prompt.request
                prompts.append(
                    PlannedPrompt(
                        trajectory_id=trajectory.id,
                        system=request.system,
                        segments=request.segments,
                        payload=connection.payload(request),
                        tokens=prompt.tokens,
                        truncated=prompt.truncated,
                    )
                )
        output = high * setup.sampling.max_output_tokens
        return Plan(
            judge=connection.name,
            host=connection.host,
            rubric=setup.rubric.id,
            trajectories=count,
            calls_low=0 if connection.offline else low,
            calls_high=0 if connection.offline else high,
            cached=cached,
            input_tokens=tokens_high,
            output_tokens=output,
            cost_low=_price(connection, tokens_low, 0),
            cost_high=_price(connection, tokens_high, output),
            overflow=tuple(overflow),
            truncated=tuple(truncated),
            prompts=tuple(prompts),
        )


def _price(connection: Connection, input_tokens: int, output_tokens: int) -> float | None:
    if connection.offline or (input_tokens == 0 and output_tokens == 0):
        return 0.0
    return connection.price(Usage(input_tokens=input_tokens, output_tokens=output_tokens))


def _without_texts(payload: dict[str, Any]) -> dict[str, Any]:
    """The payload with its long texts named and not repeated: they stand above it, whole."""

    def short(value: Any) -> Any:
        if isinstance(value, str) and len(value) > 300:
            return f"({len(value):,} characters, shown above)"
        if isinstance(value, dict):
            return {key: short(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [short(part) for part in value]
        return value

    return {key: short(value) for key, value in payload.items()}
