"""POST /v1/comparisons: judges of this service side by side on the labels of a queue or a set, as a job."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from judge.errors import UnknownName
from judge.server.access import ServiceHere
from judge.server.batches import JobId, LastEvent, WorkersHere, followed, listed
from judge.server.calibrations import Admin
from judge.server.cursors import Cursor, Limit
from judge.server.links import of_job, of_list
from judge.server.problems import Problem
from judge.server.repeats import IdempotencyKey, Repeats
from judge.server.service import Service
from judge.server.sets import Labelled, check_source

router = APIRouter(tags=["calibrations"])


class ComparisonRequest(Labelled):
    """Two judges or more, all on offer here."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"queue": "refunds", "judges": ["rules/process", "fake/always-4"]},
                {"set": "refunds", "judges": ["rules/process", "fake/always-4"]},
            ]
        },
    )

    judges: list[str] = Field(min_length=2, max_length=10)


def checked(service: Service, body: ComparisonRequest) -> dict[str, Any]:
    """The request, when everything that it names is there.

    Raises:
        Problem: 422 otherwise.
    """
    check_source(service, body)
    try:
        for name in body.judges:
            service.judge_name(name)
    except UnknownName as error:
        raise Problem(422, error.kind, error.message, hint=error.hint) from None
    if len(set(body.judges)) < len(body.judges):
        raise Problem(422, "invalid_request", "A judge stands twice.")
    return body.model_dump(mode="json")


@router.post(
    "/v1/comparisons",
    status_code=202,
    summary="Begin a comparison",
    operation_id="begin_comparison",
    responses={422: {}, **of_job("comparison")},
)
async def begin(
    body: ComparisonRequest,
    service: ServiceHere,
    workers: WorkersHere,
    caller: Admin,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Every judge on the same runs; the report is a page under /reports."""

    async def work() -> dict[str, Any]:
        request = await run_in_threadpool(checked, service, body)
        job = await run_in_threadpool(workers.add_job, "comparison", caller.name, request, idempotency_key)
        return job.to_json()

    repeats = Repeats(service, caller, idempotency_key, "comparisons")
    return await repeats.answer(body, work, 202)


@router.get(
    "/v1/comparisons",
    summary="Comparisons, newest first",
    operation_id="list_comparisons",
    responses={404: {}, **of_list("list_comparisons")},
)
def comparisons(service: ServiceHere, caller: Admin, limit: Limit = 50, cursor: Cursor = None) -> dict[str, Any]:
    """Without their results; `next` is the cursor of the following page, or null."""
    return listed(service, "comparison", caller, limit, cursor)


@router.get("/v1/comparisons/{id}", summary="A comparison", operation_id="get_comparison", responses={404: {}})
def comparison(id: JobId, service: ServiceHere, caller: Admin) -> dict[str, Any]:
    """State, and once it is done the comparison."""
    return service.jobs.get(id, "comparison").to_json()


@router.delete(
    "/v1/comparisons/{id}", summary="Cancel a comparison", operation_id="cancel_comparison", responses={404: {}}
)
def cancel(id: JobId, workers: WorkersHere, caller: Admin) -> dict[str, Any]:
    """Asks the judges nothing more. What has ended stays as it is."""
    return workers.cancel(id, "comparison").to_json()


@router.get(
    "/v1/comparisons/{id}/events",
    summary="Follow a comparison",
    operation_id="follow_comparison",
    response_class=Response,
    responses={204: {}, 404: {}},
)
async def events(id: JobId, service: ServiceHere, caller: Admin, last_event_id: LastEvent = None) -> Response:
    """Server-sent events, as of a batch."""
    await run_in_threadpool(service.jobs.get, id, "comparison")
    return await followed(service, id, last_event_id)
