"""Runs of a few tasks by a few agents, and judges that compare two of them by a function."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from offline_judge import OfflineJudge

from judge.types.request import Reply, Request
from judge.types.trajectory import Trajectory, Usage

Opinion = Callable[[str, str], "str | None"]
"""(id of the run that stands first, id of the other) to "X", "Y", "tie", "unknown"; None for a reply of no use."""


def run_of(agent: str, task: str, *, said: str = "") -> Trajectory:
    """A short run, `AGENT-TASK` by id."""
    steps: list[dict[str, Any]] = [
        {"index": 1, "kind": "message", "role": "user", "content": [{"type": "text", "text": f"Do task {task}."}]},
        {"index": 2, "kind": "tool_call", "name": "work", "arguments": {"task": task}},
        {"index": 3, "kind": "final", "text": said or f"Done as number {sum(map(ord, agent))}."},
    ]
    body = {"id": f"{agent}-{task}", "group": task, "source": {"format": "native"}, "steps": steps}
    return Trajectory.from_json({**body, "agents": [{"name": agent}]})


def runs_of(agents: str, tasks: int) -> list[Trajectory]:
    """One run of each agent (a letter) on each task."""
    return [run_of(agent, f"t{task}") for task in range(tasks) for agent in agents]


class Comparing(OfflineJudge):
    """An opened judge without a model that compares two runs."""

    def __init__(self, opinion: Opinion, name: str = "fake/pairs") -> None:
        super().__init__(name)
        self.asked: list[tuple[str, str, int]] = []
        self._opinion = opinion

    async def complete(self, request: Request) -> Reply:
        first, second = request.subject.trajectory_id, request.subject.against or ""
        self.asked.append((first, second, request.sample))
        winner = self._opinion(first, second)
        usage = Usage(input_tokens=0, output_tokens=0)
        if winner is None:
            return Reply(text="I would rather not say.", model=self.name, usage=usage)
        answer = {"reason": "By opinion.", "evidence": [{"step": "X3", "quote": ""}], "winner": winner}
        return Reply(text=json.dumps(answer), model=self.name, usage=usage)


def by_strength(strengths: dict[str, float], bonus: float = 0.0) -> Opinion:
    """The stronger agent wins, `bonus` added to the one that stands first; equal ones tie."""

    def opinion(first: str, second: str) -> str:
        lead = strengths[first.split("-")[0]] + bonus - strengths[second.split("-")[0]]
        return "tie" if lead == 0 else "X" if lead > 0 else "Y"

    return opinion
