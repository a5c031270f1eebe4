"""Runs in short notation."""

from __future__ import annotations

from typing import Any

from judge.types import Final, Message, Source, Text, ToolCall, ToolResult, Trajectory, Usage

Call = tuple[str, dict[str, Any], Any]
"""(tool, arguments, result); a result that is an exception is a failure with its text."""


def recorded(
    calls: list[Call],
    answer: str | None = "Done.",
    *,
    id: str = "run-1",
    group: str | None = "one",
    status: str | None = None,
    cost: float | None = None,
    labels: dict[str, Any] | None = None,
) -> Trajectory:
    """A run: a question, the calls with their results, the answer."""
    steps: list[Any] = [Message(index=1, role="user", content=(Text(text="Please."),))]
    for number, (name, arguments, result) in enumerate(calls, start=1):
        at = len(steps) + 1
        steps.append(ToolCall(index=at, call_id=f"c{number}", name=name, arguments=arguments))
        failed = isinstance(result, Exception)
        steps.append(
            ToolResult(
                index=at + 1,
                call_id=f"c{number}",
                call_index=at,
                pairing="id",
                status="error" if failed else "ok",
                structured=None if failed else result,
                content=(Text(text=str(result)),) if failed else (),
            )
        )
    if answer is not None:
        steps.append(Final(index=len(steps) + 1, text=answer, status=status))
    return Trajectory(
        id=id,
        group=group,
        task="Please.",
        source=Source(format="native"),
        steps=tuple(steps),
        final=answer,
        usage=None if cost is None else Usage(cost_usd=cost),
        labels=labels or {},
    )
