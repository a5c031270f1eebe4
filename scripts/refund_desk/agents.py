"""The refund desk's agent on a batch of tickets: sound runs of the set `refunds`, made again, with a price."""

from __future__ import annotations

from set_builder.pricing import priced
from set_builder.refunds import runs

from judge.types import Trajectory
from judge.types.suite import AgentTask

SOUND = {
    "duplicate": "refund-careful",
    "annual-member": "refund-annual-member-1",
    "single-charge": "refund-single-charge-1",
}
"""Case to the run of the set that handles its ticket."""


def desk(task: AgentTask) -> Trajectory:
    """Handles one ticket.

    Raises:
        ValueError: The case is none of the batch.
    """
    wanted = SOUND.get(task.case)
    found = next((built.trajectory for built in runs() if built.trajectory.id == wanted), None)
    if found is None:
        raise ValueError(f"no ticket {task.case!r}; known: {', '.join(SOUND)}")
    return priced(found)
