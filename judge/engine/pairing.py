"""Runs → pairs of runs of one task, each to be judged in both orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from judge.errors import UsageError
from judge.prompt.view import first_request
from judge.types.trajectory import Message, Text, Trajectory

Ranked = Literal["agent", "run"]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs of one task.

    Attributes:
        task: What both are runs of: their group, or else the text of their task.
        contestants: What is ranked, of `a` and of `b`: the agents' names, or the runs' ids.
    """

    a: Trajectory
    b: Trajectory
    task: str
    contestants: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Pairing:
    """All pairs of some runs.

    Attributes:
        alone: Ids of runs that no other run shares its task with, or none by another agent.
        ranked: Whether agents or runs are ranked.
    """

    pairs: tuple[Pair, ...]
    alone: tuple[str, ...]
    ranked: Ranked


def task_of(run: Trajectory) -> str:
    """What a run is a run of: its group, else the text of its task or of the first request.

    Raises:
        UsageError: It says none of these.
    """
    if run.group is not None:
        return run.group
    text = run.task
    if text is None and (asked := first_request(run)) is not None:
        step = next(step for step in run.steps if step.index == asked)
        parts = step.content if isinstance(step, Message) else ()
        text = "\n".join(part.text for part in parts if isinstance(part, Text))
    if not (text or "").strip():
        raise UsageError(
            f"Run {run.id!r} names no task: it has no group, no task and no request.",
            hint="Give it a `group` (the id of its task), so that it can be paired with other runs of that task.",
        )
    return " ".join((text or "").split())


def agent_of_run(run: Trajectory) -> str | None:
    """Name of the agent that made the run, or None where it names none."""
    return run.agents[0].name if run.agents else None


def pair_of(a: Trajectory, b: Trajectory, *, by: Ranked = "run") -> Pair:
    """Two runs as a pair.

    Raises:
        UsageError: They are of different tasks, or the same run twice, or, by agent, a run that names no agent.
    """
    tasks = task_of(a), task_of(b)
    if tasks[0] != tasks[1]:
        raise UsageError(
            f"{a.id!r} is a run of {_short(tasks[0])} and {b.id!r} one of {_short(tasks[1])}: runs of different tasks "
            "cannot be compared.",
            hint="Pair runs of one task. Where the two are one task, give both the same `group`.",
        )
    if a.id == b.id:
        raise UsageError(f"A run cannot be compared with itself: {a.id!r} is named twice.")
    return Pair(a, b, tasks[0], (_name(a, by), _name(b, by)))


def pairs_of(runs: Sequence[Trajectory], *, by: Ranked | None = None, most: int | None = None) -> Pairing:
    """Every two runs of one task, by different agents where agents are ranked.

    Args:
        by: None ranks agents where every run names one and there are two at least, else runs.
        most: Most pairs; they are taken in turns from each task.

    Raises:
        UsageError: Two runs share an id, no two share a task, or a run names no agent with `by` "agent".
    """
    seen: set[str] = set()
    for run in runs:
        if run.id in seen:
            raise UsageError(f"Two runs are named {run.id!r}.", hint="Give each run an id of its own.")
        seen.add(run.id)
    agents = {agent_of_run(run) for run in runs}
    ranked = by or ("agent" if None not in agents and len(agents) > 1 else "run")
    tasks: dict[str, list[Trajectory]] = {}
    for run in runs:
        tasks.setdefault(task_of(run), []).append(run)
    rounds: list[tuple[int, Pair]] = []
    for of_task in tasks.values():
        found = [pair_of(a, b, by=ranked) for a, b in combinations(of_task, 2)]
        rounds += enumerate(pair for pair in found if len(set(pair.contestants)) == 2)
    if not rounds:
        raise UsageError(
            f"None of the {len(runs)} runs has another run of its task{' by another agent' * (ranked == 'agent')}: "
            + "; ".join(f"{run.id!r} is of {_short(task_of(run))}" for run in list(runs)[:3]),
            hint="Pairwise judging compares runs of one task: give several, with the same `group` or task text.",
        )
    paired = {run.id for _, pair in rounds for run in (pair.a, pair.b)}
    if most is not None:
        rounds.sort(key=lambda numbered: numbered[0])  # stable: one pair of every task before the second of any
    return Pairing(
        pairs=tuple(pair for _, pair in rounds[:most]),
        alone=tuple(run.id for run in runs if run.id not in paired),
        ranked=ranked,
    )


def _name(run: Trajectory, by: Ranked) -> str:
    if by == "run":
        return run.id
    agent = agent_of_run(run)
    if agent is None:
        raise UsageError(f"Run {run.id!r} names no agent, and agents are ranked.", hint="Rank runs: --by run.")
    return agent


def _short(task: str) -> str:
    return repr(task if len(task) <= 60 else task[:59] + "…")
