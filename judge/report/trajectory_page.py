"""One or several trajectories as a self-contained page: their agents and tools as a tree, then every step."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from judge.report.html import page_template
from judge.types.trajectory import Step, Text, ToolCall, ToolResult, Trajectory

LONGEST = 4000
"""Characters of one text that the page shows; what is left out is counted on the page."""


class Branch(NamedTuple):
    """An agent in the tree.

    Attributes:
        parent: Index of the step that started it, or None.
        tools: (name, calls, failed results), most used first.
    """

    name: str
    model: str | None
    parent: int | None
    steps: int
    tools: tuple[tuple[str, int, int], ...]


def trajectory_page(trajectories: Sequence[Trajectory]) -> str:
    """The page. Every text of a trace is escaped; there is no script and no address in it."""
    return page_template("trajectory", branches=branches, depth=depths, body=body).render(trajectories=trajectories)


def branches(trajectory: Trajectory) -> tuple[Branch, ...]:
    """The agents of a run in the order in which they first act, each with the tools that it called."""
    models = {agent.name: agent.model for agent in trajectory.agents}
    first = trajectory.agents[0].name if trajectory.agents else "agent"
    failed = {step.call_index for step in trajectory.steps if isinstance(step, ToolResult) and step.status == "error"}
    steps: Counter[str] = Counter()
    calls: dict[str, Counter[str]] = {}
    errors: dict[str, Counter[str]] = {}
    parents: dict[str, int | None] = {}
    for step in trajectory.steps:
        name = step.agent or first
        steps[name] += 1
        parents.setdefault(name, step.parent if step.agent and not isinstance(step, ToolCall) else None)
        if isinstance(step, ToolCall):
            calls.setdefault(name, Counter())[step.name] += 1
            errors.setdefault(name, Counter())[step.name] += step.index in failed
    return tuple(
        Branch(
            name,
            models.get(name),
            parents[name],
            number,
            tuple((tool, n, errors[name][tool]) for tool, n in calls.get(name, Counter()).most_common()),
        )
        for name, number in steps.items()
    )


def depths(trajectory: Trajectory) -> dict[int, int]:
    """Step index to how deep it stands below the calls that it belongs to."""
    found: dict[int, int] = {}
    for step in trajectory.steps:
        found[step.index] = min(found.get(step.parent, 0) + 1, 8) if step.parent is not None else 0
    return found


def body(step: Step) -> tuple[str, int]:
    """What a step says, as text, and how many characters of it were left out."""
    text = _text(step.to_json())
    return text[:LONGEST], max(len(text) - LONGEST, 0)


def _text(value: dict[str, Any]) -> str:
    kind = value["kind"]
    if kind in ("message", "reasoning", "tool_result"):
        parts = [
            part["text"] if part["type"] == Text.model_fields["type"].default else _json(part)
            for part in value.get("content", [])
        ]
        if "structured" in value:
            parts.append(_json(value["structured"]))
        if "error" in value:
            parts.append(_json(value["error"]))
        return "\n".join(parts)
    if kind == "tool_call":
        return value["arguments_raw"] if "arguments_raw" in value else _json(value.get("arguments"))
    if kind == "final":
        return str(value["text"])
    known = ("index", "kind", "ts", "seconds", "turn", "agent", "parent", "provenance", "extra", "usage")
    return _json({key: item for key, item in value.items() if key not in known})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
