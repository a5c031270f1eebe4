"""Small runs for the metrics: calls in short notation, and the three runs of a documentation agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from judge.types import ExpectedCall, Final, Reference, Source, Text, ToolCall, ToolResult, Trajectory

SOURCE = Source(format="test")


def build(steps: Sequence[Any], *, final: str | None = None, **fields: Any) -> Trajectory:
    return Trajectory(id="run", source=SOURCE, steps=tuple(steps), final=final, **fields)


def run_of(calls: Sequence[dict[str, Any]], *, turn: str | None = None) -> Trajectory:
    """A run of calls {"name", "args", "turn"?} without results or an answer."""
    return build(
        [
            ToolCall(index=at, name=call["name"], arguments=call.get("args"), turn=call.get("turn", turn))
            for at, call in enumerate(calls, 1)
        ]
    )


def reference_of(calls: Sequence[dict[str, Any]] | None) -> Reference:
    if calls is None:
        return Reference()
    return Reference(calls=tuple(ExpectedCall(name=call["name"], arguments=call.get("args")) for call in calls))


def _search(queries: Sequence[str]) -> Trajectory:
    steps: list[Any] = []
    for query in queries:
        at = len(steps) + 1
        steps.append(ToolCall(index=at, name="search_docs", arguments={"query": query}))
        steps.append(
            ToolResult(
                index=at + 1,
                call_index=at,
                pairing="nested",
                structured={"result_ids": ["doc-7"]},
                content=(Text(text="Open the settings page."),),
            )
        )
    steps.append(Final(index=len(steps) + 1, text="Open the settings page and press Reset."))
    return build(steps, final="Open the settings page and press Reset.")


@pytest.fixture
def docs_runs() -> dict[str, Trajectory]:
    """Clean (one search), wasteful (three near-identical searches, same answer), no search at all."""
    return {
        "clean": _search(["reset a forgotten password"]),
        "wasteful": _search(
            ["reset a forgotten password", "how to reset a forgotten password", "reset a forgotten password now"]
        ),
        "no_search": _search([]),
    }


@pytest.fixture
def calls_run() -> Callable[..., Trajectory]:
    return run_of


@pytest.fixture
def expecting() -> Callable[[Sequence[dict[str, Any]] | None], Reference]:
    return reference_of


@pytest.fixture
def trajectory_of() -> Callable[..., Trajectory]:
    return build
