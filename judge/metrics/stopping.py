"""How the run ended: with an answer, without one, at a limit."""

from __future__ import annotations

from typing import Any

from judge.metrics.calls import Calls
from judge.metrics.metric import Measured, absent, metric


@metric(unit="boolean")
def answered_without_tool(calls: Calls) -> Measured:
    """True when a final answer was given and no tool was called: the agent gave up early, or guessed.

    Range: true or false.
    Not applicable: there is no final answer.
    Steps: the final answer, when true.
    """
    if calls.answer is None:
        return absent("the run gave no final answer")
    if calls.calls:
        return Measured(False)
    return Measured(True, calls.answer_steps)


@metric(unit="label")
def stop_behaviour(calls: Calls) -> Measured:
    """How the run ended, from structure alone, first rule that fits: hit_limit and aborted (the source's record
    of the outcome), error (the last step is an error), answered (a final answer), error (the source recorded
    a failure), stopped_without_answer.

    Range: answered, stopped_without_answer, hit_limit, aborted, error.
    Not applicable: the run has no steps and no recorded outcome.
    Steps: the final answer, or the last step; `detail.open_calls` names calls that never got a result.
    """
    outcome = calls.trajectory.outcome
    status = outcome.status if outcome else "unknown"
    if not calls.steps and status == "unknown" and calls.answer is None:
        return absent("the run has no steps")
    last = calls.steps[-1] if calls.steps else None
    steps: tuple[int, ...] = (last.index,) if last else ()
    if status == "limit":
        label = "hit_limit"
    elif status == "aborted":
        label = "aborted"
    elif last is not None and last.kind == "error":
        label = "error"
    elif calls.answer is not None:
        label, steps = "answered", calls.answer_steps
    elif status == "failed":
        label = "error"
    else:
        label = "stopped_without_answer"
    return Measured(label, steps, _detail(calls))


def _detail(calls: Calls) -> dict[str, Any] | None:
    detail: dict[str, Any] = {}
    outcome = calls.trajectory.outcome
    if outcome is not None:
        detail["outcome"] = outcome.status
        if outcome.stop_reason is not None:
            detail["stop_reason"] = outcome.stop_reason
    open_calls = [call.index for call in calls.calls if call.index not in calls.results]
    if open_calls:
        detail["open_calls"] = open_calls
    return detail or None
