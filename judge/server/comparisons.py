"""POST /v1/comparisons: judges of this service side by side on a shipped set, as a job."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from judge.calibration.sets import set_names
from judge.errors import UnknownName
from judge.server.access import ServiceHere
from judge.server.batches import JobId, WorkersHere, listed
from judge.server.calibrations import Admin
from judge.server.cursors import Cursor, Limit
from judge.server.problems import Problem
from judge.server.repeats import as_json

router = APIRouter(tags=["calibrations"])


class ComparisonRequest(BaseModel):
    """Two judges or more, all on offer here."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"set": "refunds", "judges": ["rules/process", "fake/always-4"]}]},
    )

    set: str = Field(max_length=100)
    judges: list[str] = Field(min_length=2, max_length=10)
    criterion: str | None = Field(default=None, max_length=200)


@router.post("/v1/comparisons", status_code=202, summary="Begin a comparison", responses={422: {}})
async def begin(body: ComparisonRequest, service: ServiceHere, workers: WorkersHere, caller: Admin) -> Response:
    """Every judge on the same runs; the report is a page under /reports."""
    try:
        for name in body.judges:
            service.judge_name(name)
    except UnknownName as error:
        raise Problem(422, error.kind, error.message, hint=error.hint) from None
    if body.set not in set_names():
        raise Problem(
            422, "unknown_name", f"There is no shipped set {body.set!r}.", hint=f"There: {', '.join(set_names())}."
        )
    if len(set(body.judges)) < len(body.judges):
        raise Problem(422, "invalid_request", "A judge stands twice.")
    job = await run_in_threadpool(workers.add_job, "comparison", caller.name, body.model_dump(mode="json"))
    return as_json(job.to_json(), 202)


@router.get("/v1/comparisons", summary="Comparisons, newest first", responses={404: {}})
def comparisons(service: ServiceHere, caller: Admin, limit: Limit = 50, cursor: Cursor = None) -> dict[str, Any]:
    """Without their results; `next` is the cursor of the following page, or null."""
    return listed(service, "comparison", caller, limit, cursor)


@router.get("/v1/comparisons/{id}", summary="A comparison", responses={404: {}})
def comparison(id: JobId, service: ServiceHere, caller: Admin) -> dict[str, Any]:
    """State, and once it is done the comparison."""
    return service.jobs.get(id, "comparison").to_json()
