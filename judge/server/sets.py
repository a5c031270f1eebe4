"""What judges are held against: the shipped sets, those the deployment names, and the queues labelled here."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from judge.engine.calibrating import set_criterion
from judge.errors import UnknownName
from judge.server.access import ServiceHere, need
from judge.server.label_set import set_of_queue
from judge.server.problems import Problem
from judge.server.service import Service
from judge.store.access_keys import Caller
from judge.types.calibration_set import CalibrationSet
from judge.types.rubric import Rubric

router = APIRouter(tags=["calibrations"])


class Labelled(BaseModel):
    """A queue, or a set: exactly one."""

    queue: str | None = Field(default=None, max_length=63, description="Of this service.")
    set: str | None = Field(default=None, max_length=100, description="Name of a set; see /v1/sets.")
    criterion: str | None = Field(default=None, max_length=200)


def check_source(service: Service, asked: Labelled) -> None:
    """Refuses none or both of queue and set, and one that is not there.

    Raises:
        Problem: 422.
    """
    if (asked.queue is None) == (asked.set is None):
        raise Problem(422, "invalid_request", "Exactly one of `queue` and `set` is needed.")
    try:
        if asked.queue is not None:
            service.queues.settings(asked.queue)
        elif asked.set is not None:
            service.set(asked.set)
    except UnknownName as error:
        raise Problem(422, error.kind, error.message, hint=error.hint) from None


def labelled(service: Service, asked: dict[str, Any]) -> tuple[CalibrationSet, Rubric]:
    """The set that a job works on, with the rubric of its criterion, which may be the deployment's own.

    Raises:
        UnknownName: The queue, set, criterion or rubric is not there (any more).
        TooFewLabels: The queue has no label.
    """
    queue = asked.get("queue")
    chosen = set_of_queue(service.queues, queue) if queue is not None else service.set(asked["set"])
    return chosen, service.rubric(set_criterion(chosen, asked["criterion"]).rubric)


@router.get("/v1/sets", summary="Sets of labelled runs")
def sets(service: ServiceHere, caller: Annotated[Caller, Depends(need())]) -> dict[str, Any]:
    """The sets that a calibration or a comparison may name; queues stand under /v1/queues."""
    return {
        "sets": [
            {
                "name": name,
                "title": found.settings.title,
                "trajectories": len(found.trajectories),
                "labels": len(found.labels),
                "label_kinds": sorted({label.rater_kind for label in found.labels}),
                "criteria": [criterion.id for criterion in found.settings.criteria],
            }
            for name in service.set_names()
            for found in [service.set(name)]
        ]
    }
