"""Caps: how much of something a run may use. An amount that is not known is not applicable, never passed."""

from __future__ import annotations

from decimal import Decimal

from judge.policy.history import Attempt, History, places
from judge.protocols import Metric
from judge.registry import find
from judge.types.json_equality import call_key
from judge.types.metric import MetricResult
from judge.types.policy import Cap, Ruling

_METRICS: dict[Cap, str] = {
    "tool_calls": "num_tool_calls",
    "steps": "num_steps",
    "tokens": "tokens",
    "seconds": "seconds",
    "usd": "cost_usd",
}
"""The metric that measures what a cap limits; retries are counted here."""
_UNITS: dict[Cap, str] = {
    "tool_calls": "tool calls",
    "steps": "steps",
    "tokens": "tokens",
    "seconds": "seconds",
    "usd": "USD",
    "retries": "retries",
}


def at_most(caps: dict[Cap, float], history: History) -> Ruling:
    """The run used at most so much.

    Where only a part is known and that part alone is over the cap, the check fails all the same.
    Not applicable: the amount is not recorded. Steps: those beyond the cap, where they can be told.
    """
    ((cap, limit),) = caps.items()
    measured = retries(history) if cap == "retries" else _measured(cap, history)
    value, least = measured.value, ""
    if value is None:
        value = (measured.detail or {}).get("known")
        if value is None or Decimal(repr(value)) <= Decimal(repr(limit)):
            why = measured.reason or "not applicable: it is not recorded"
            return Ruling(status="not_applicable", detail=f"{cap}: {why}")
        least = "at least "
    words = _UNITS[cap]
    detail = f"{least}{_plain(value)} of at most {_plain(limit)} {words}"
    if Decimal(repr(value)) <= Decimal(repr(limit)):
        return Ruling(status="passed", detail=f"{detail}.")
    beyond = _beyond(cap, int(limit), measured, history)
    where = f": beyond it {places(beyond)}" if beyond else ""
    return Ruling(status="failed", detail=f"{detail}{where}.", steps=beyond)


def retries(history: History) -> MetricResult:
    """Number of calls made again: marked so by the trace, or identical to the call of that tool before, which failed.

    Where a trace has more retry steps than such calls, those count.
    """
    again: list[int] = []
    last: dict[str, Attempt] = {}
    for attempt in history.attempts:
        call = attempt.call
        before = last.get(call.name)
        failed = before is not None and before.result is not None and not before.succeeded
        if call.attempt > 1 or (failed and before is not None and call_key(before.call) == call_key(call)):
            again.append(attempt.index)
        last[call.name] = attempt
    marked = [step.index for step in history.retries]
    steps = marked if len(marked) > len(again) else again
    return MetricResult(value=len(steps), unit="retries", steps=tuple(steps))


def _measured(cap: Cap, history: History) -> MetricResult:
    metric: Metric = find("metrics", _METRICS[cap])
    return metric.measure(history.trajectory, None)


def _beyond(cap: Cap, limit: int, measured: MetricResult, history: History) -> tuple[int, ...]:
    if cap == "steps":
        return tuple(step.index for step in history.steps[limit:])
    if cap in ("tool_calls", "retries"):
        return measured.steps[limit:]
    return ()


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) and value.is_integer() and abs(value) < 1e6 else str(value)
