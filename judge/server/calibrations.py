"""Calibrations as jobs, over HTTP and on the reports page."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from judge.calibration.claims import KINDS
from judge.errors import UnknownName
from judge.server.access import ServiceHere, need
from judge.server.batches import JobId, LastEvent, WorkersHere, followed, listed
from judge.server.cursors import Cursor, Limit
from judge.server.links import of_job, of_list
from judge.server.problems import Problem
from judge.server.repeats import IdempotencyKey, Repeats
from judge.server.service import Service
from judge.server.sets import Labelled, check_source
from judge.store.access_keys import Caller
from judge.types.calibration_set import Profile

router = APIRouter(tags=["calibrations"])

Admin = Annotated[Caller, Depends(need())]


class CalibrationRequest(Labelled):
    """A judge against the labels of a queue or a set."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"queue": "refunds"}, {"set": "refunds", "profile": "advisory"}]},
    )

    judge: str | None = Field(default=None, max_length=200)
    samples: int | None = Field(default=None, ge=1, le=21)
    repeats: int | None = Field(default=None, ge=2, le=21)
    profile: Profile | None = None
    claims: list[Annotated[str, Field(max_length=40)]] | None = Field(
        default=None, max_length=20, description='What must be proved, e.g. ["tpr", "tnr", "kappa"]; all by default.'
    )


def checked(service: Service, body: CalibrationRequest) -> dict[str, Any]:
    """The request with the judge that it gets.

    Raises:
        Problem: 422 for none or both of queue and set, or one that is not there.
    """
    check_source(service, body)
    strange = sorted(set(body.claims or ()) - set(KINDS))
    if strange:
        raise Problem(422, "unknown_claim", f"There is no claim {strange[0]!r}.", hint=f"Claims: {', '.join(KINDS)}.")
    try:
        return body.model_dump(mode="json") | {"judge": service.judge_name(body.judge)}
    except UnknownName as error:
        raise Problem(422, error.kind, error.message, hint=error.hint) from None


@router.post(
    "/v1/calibrations",
    status_code=202,
    summary="Begin a calibration",
    operation_id="begin_calibration",
    responses={422: {}, **of_job("calibration")},
)
async def begin(
    body: CalibrationRequest,
    service: ServiceHere,
    workers: WorkersHere,
    caller: Admin,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """The certificate lands in the service's folder, and later verdicts carry its state."""

    async def work() -> dict[str, Any]:
        request = await run_in_threadpool(checked, service, body)
        job = await run_in_threadpool(workers.add_job, "calibration", caller.name, request, idempotency_key)
        return job.to_json()

    repeats = Repeats(service, caller, idempotency_key, "calibrations")
    return await repeats.answer(body, work, 202)


@router.get(
    "/v1/calibrations",
    summary="Calibrations, newest first",
    operation_id="list_calibrations",
    responses={404: {}, **of_list("list_calibrations")},
)
def calibrations(service: ServiceHere, caller: Admin, limit: Limit = 50, cursor: Cursor = None) -> dict[str, Any]:
    """Without their reports; `next` is the cursor of the following page, or null."""
    return listed(service, "calibration", caller, limit, cursor)


@router.get("/v1/calibrations/{id}", summary="A calibration", operation_id="get_calibration", responses={404: {}})
def calibration(id: JobId, service: ServiceHere, caller: Admin) -> dict[str, Any]:
    """State, and once it is done `result` with decision, report and certificate."""
    return service.jobs.get(id, "calibration").to_json()


@router.delete(
    "/v1/calibrations/{id}", summary="Cancel a calibration", operation_id="cancel_calibration", responses={404: {}}
)
def cancel(id: JobId, workers: WorkersHere, caller: Admin) -> dict[str, Any]:
    """Asks the judge nothing more, and writes no certificate. What has ended stays as it is."""
    return workers.cancel(id, "calibration").to_json()


@router.get(
    "/v1/calibrations/{id}/events",
    summary="Follow a calibration",
    operation_id="follow_calibration",
    response_class=Response,
    responses={204: {}, 404: {}},
)
async def events(id: JobId, service: ServiceHere, caller: Admin, last_event_id: LastEvent = None) -> Response:
    """Server-sent events, as of a batch."""
    await run_in_threadpool(service.jobs.get, id, "calibration")
    return await followed(service, id, last_event_id)
