"""Small runs in short notation, and one check of one rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.policy import check
from judge.types import Approval, Check, Final, Message, Source, Text, ToolCall, ToolResult, Trajectory

Case = tuple[Trajectory, dict[str, Any], str, tuple[int, ...], str]
"""(run, rule, status, steps, words of the detail)"""


def call(name: str, /, status: str | None = "ok", structured: Any = None, **arguments: Any) -> list[Any]:
    """A call and, unless `status` is None, its result; the call's id is "c" and its index."""
    made: list[Any] = [("call", name, arguments)]
    return made if status is None else [*made, ("result", status, structured)]


def ask(state: str, by: str | None = None, **where: Any) -> list[Any]:
    return [("approval", state, by, where)]


def say(text: str, role: str = "assistant") -> list[Any]:
    return [Message(index=1, role=role, content=(Text(text=text),))]


def end(status: str | None = None, text: str = "done") -> list[Any]:
    return [Final(index=1, text=text, status=status)]


def run(*parts: list[Any], **fields: Any) -> Trajectory:
    """A run of these parts, numbered from 1; a result and an approval belong to the last call unless they say more."""
    steps: list[Any] = []
    last = 0
    for index, part in enumerate([part for several in parts for part in several], 1):
        if not isinstance(part, tuple):
            steps.append(part.model_copy(update={"index": index}))
        elif part[0] == "call":
            last = index
            steps.append(ToolCall(index=index, call_id=f"c{index}", name=part[1], arguments=part[2]))
        elif part[0] == "result":
            steps.append(
                ToolResult(
                    index=index, call_id=f"c{last}", call_index=last, pairing="id", status=part[1], structured=part[2]
                )
            )
        else:
            where = {"call_id": f"c{last}", "call_index": last, **part[3]}
            steps.append(Approval(index=index, state=part[1], approver=part[2], **where))
    return Trajectory(id="run", source=Source(format="test"), steps=tuple(steps), **fields)


def rule(trajectory: Trajectory, policy_fields: Mapping[str, Any] | None = None, /, **given: Any) -> Check:
    """The one check of a policy with this rule."""
    policy = {"id": "p", **(policy_fields or {}), "checks": [{"id": "c", **given}]}
    return check(trajectory, policy).checks[0]


def hold(case: Case) -> None:
    """Asserts that the rule says of the run what the case says."""
    trajectory, given, status, steps, said = case
    found = rule(trajectory, **given)
    assert (found.status, found.steps) == (status, steps), found.detail
    assert found.detail
    assert said in found.detail
    if status == "not_applicable":
        assert "not applicable: " in found.detail
