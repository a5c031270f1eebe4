"""What a mutator gives back, before its steps are numbered anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from judge.calibration.probes.splice import rebuild
from judge.types.probe import Mutant, Mutation, ProbeKind, Survival
from judge.types.record import fingerprint
from judge.types.trajectory import Step, Tool, Trajectory


@dataclass(frozen=True)
class Planted:
    """A changed list of steps.

    Attributes:
        steps: In their new order, with the numbers of the parent or of `fresh`.
        marks: Numbers of the steps at which the change can be seen; at least one must be left in `steps`.
        parent_steps: Numbers in the parent that were removed or changed.
        outcome: Whether end state and answer are still the parent's.
        tools: Offered to the agent beside those of the parent, where that lists any.
    """

    steps: Sequence[Step]
    marks: tuple[int, ...]
    parent_steps: tuple[int, ...] = ()
    outcome: Survival = "survived"
    note: str = ""
    tools: tuple[Tool, ...] = ()


Mutator = Callable[[Trajectory, np.random.Generator], Planted | None]
"""Changes a run in one way, or None where the run has no place for it. Pure: the generator is its only chance."""


def generator(seed: int, *names: str) -> np.random.Generator:
    """Random numbers of one mutation: they depend on these names alone, not on what was made before."""
    return np.random.default_rng([seed, int(fingerprint(list(names))[:12], 16)])


def mutant(parent: Trajectory, kind: ProbeKind, type: str, planted: Planted, *, seed: int, variant: str = "") -> Mutant:
    """The mutated run under its own id, with the record of what was done.

    Labels of the parent were not given to this run, so it has none.
    """
    changed, place = rebuild(parent, planted.steps)
    known = {tool.name for tool in parent.tools}
    tools = (*parent.tools, *(tool for tool in planted.tools if parent.tools and tool.name not in known))
    name = "~".join(part for part in (parent.id, type, variant) if part)
    return Mutant(
        mutation=Mutation(
            kind=kind,
            type=type,
            parent=parent.id,
            steps=tuple(sorted(place[mark] for mark in planted.marks if mark in place)),
            parent_steps=planted.parent_steps,
            outcome=planted.outcome,
            variant=variant,
            seed=seed,
            note=planted.note,
        ),
        trajectory=changed.model_copy(
            update={"id": name, "group": parent.group or parent.id, "labels": {}, "tools": tools}
        ),
    )
