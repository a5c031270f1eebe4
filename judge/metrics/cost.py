"""What the run used: tokens, seconds, dollars. A total with an unknown part is unknown, and the part is in `detail`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from math import fsum
from typing import Any

from judge.metrics.calls import Calls
from judge.metrics.metric import Measured, absent, metric
from judge.types.trajectory import Step, Usage

Amount = Callable[[Usage], float | int | None]


def _tokens(usage: Usage) -> int | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return usage.input_tokens + usage.output_tokens


def _cost(usage: Usage) -> float | None:
    return usage.cost_usd


@metric(unit="tokens")
def tokens(calls: Calls) -> Measured:
    """Input and output tokens of all model calls, cached and reasoning tokens included: the source's own total,
    else the sum over the model calls. Without turn ids, a model call is a block of steps between two inputs.

    Range: 0 and up.
    Not applicable: no usage is recorded, or that of some model call is not (then the known part is in detail).
    Steps: those that carry the usage.
    """
    return _total(calls, _tokens, "token usage")


@metric(unit="usd")
def cost_usd(calls: Calls) -> Measured:
    """Price of all model calls in US dollars, as recorded; nothing is estimated from a price list.

    Range: 0 and up.
    Not applicable: no price is recorded, or that of some model call is not (then the known part is in detail).
    Steps: those that carry the price.
    """
    return _total(calls, _cost, "price")


def _total(calls: Calls, amount: Amount, what: str) -> Measured:
    whole = None if calls.trajectory.usage is None else amount(calls.trajectory.usage)
    if whole is not None:
        return Measured(whole, (), {"source": "total of the run"})
    blocks = calls.once(_model_calls)
    if not blocks:
        return absent(f"no {what} is recorded")
    known: list[float | int] = []
    steps: list[int] = []
    unknown: list[int] = []
    for block in blocks:
        found = [(step.index, amount(step.usage)) for step in block if step.usage is not None]
        if not found or any(value is None for _, value in found):
            unknown.append(block[0].index)
        for at, value in found:
            if value is not None:
                known.append(value)
                steps.append(at)
    if not known:
        return absent(f"no {what} is recorded")
    total = sum(known) if all(isinstance(value, int) for value in known) else fsum(known)
    if unknown:
        detail = {"known": total, "model_calls": len(blocks), "unknown_from_steps": unknown}
        return absent(f"{what} of {len(unknown)} of {len(blocks)} model calls is not recorded", detail, tuple(steps))
    return Measured(total, tuple(steps), {"model_calls": len(blocks)})


def _made_by_model(step: Step) -> bool:
    return step.kind in ("tool_call", "reasoning") or (step.kind == "message" and step.role == "assistant")


def _model_calls(calls: Calls) -> list[list[Step]]:
    """The steps of each model call, in order; steps that no model made and that carry no usage are in none.

    A final step repeats what a model said, so without a turn or usage of its own it opens no call.
    """
    if calls.trajectory.usage is None and not any(step.usage is not None for step in calls.steps):
        return []
    by_turn: dict[tuple[str | None, str], list[Step]] = {}
    blocks: list[list[Step]] = []
    current: list[Step] | None = None
    for step in calls.steps:
        if not (_made_by_model(step) or step.usage is not None):
            if step.kind != "final":
                current = None
            continue
        if step.turn is not None:
            current = by_turn.get((step.agent, step.turn))
            if current is None:
                current = by_turn[step.agent, step.turn] = []
                blocks.append(current)
        elif current is None or (step.usage is not None and any(other.usage is not None for other in current)):
            current = []
            blocks.append(current)
        current.append(step)
    return blocks


@metric(unit="seconds")
def seconds(calls: Calls) -> Measured:
    """Wall-clock time from the start of the first step to the end of the last, by their time stamps; where no
    step has one, the sum of the durations of all steps, which counts parallel steps twice.

    Range: 0 and up.
    Not applicable: no times are recorded, or too few to know the whole (then the known part is in detail).
    Steps: the first and the last by time stamp; else those with a duration.
    """
    timed = [step for step in calls.steps if step.ts is not None]
    return _elapsed(calls, timed) if timed else _durations(calls)


def _elapsed(calls: Calls, timed: list[Step]) -> Measured:
    starts: list[tuple[datetime, int]] = []
    ends: list[tuple[datetime, int]] = []
    for step in timed:
        try:
            start = datetime.fromisoformat(str(step.ts))
            ends.append((start + timedelta(seconds=step.seconds or 0.0), step.index))
        except (ValueError, OverflowError):
            return absent(f"the time stamp {step.ts!r} of step {step.index} is not an ISO 8601 time")
        starts.append((start, step.index))
    if len({start.tzinfo is None for start, _ in starts}) > 1:
        return absent("some time stamps name their zone and some do not")
    first, last = min(starts), max(ends)
    span = (last[0] - first[0]).total_seconds()
    detail: dict[str, Any] = {"method": "time stamps"}
    untimed = [step.index for step in _outer(calls) if step.ts is None]
    if len(timed) == 1 and timed[0].seconds is None:
        return absent("only one step has a time stamp")
    if untimed:
        detail["known"] = span
        return absent(f"step {untimed[0]}, at an end of the run, has no time stamp", detail)
    return Measured(span, (first[1], last[1]), detail)


def _outer(calls: Calls) -> list[Step]:
    """The first and the last recorded step that take time; instructions and what the importer added do not."""
    own = [
        step
        for step in calls.steps
        if step.provenance == "recorded" and not (step.kind == "message" and step.role in ("system", "developer"))
    ]
    return [own[0], own[-1]] if own else []


def _durations(calls: Calls) -> Measured:
    durations = {step.index: step.seconds for step in calls.steps if step.seconds is not None}
    if not durations:
        return absent("no times are recorded")
    untimed = [step.index for step in calls.steps if _made_by_model(step) and not _covered(calls, step, durations)]
    total = fsum(durations.values())
    detail: dict[str, Any] = {"method": "sum of durations"}
    if untimed:
        detail |= {"known": total, "steps_without_duration": untimed}
        return absent(f"{len(untimed)} steps have no duration", detail, tuple(durations))
    return Measured(total, tuple(durations), detail)


def _covered(calls: Calls, step: Step, durations: dict[int, float]) -> bool:
    """Whether the step, or for a call its result, has a duration."""
    result = calls.results.get(step.index)
    return step.index in durations or (result is not None and result.index in durations)
