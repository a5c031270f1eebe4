"""Calibrations as jobs, over HTTP and on the reports page."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from judge.calibration.claims import KINDS
from judge.calibration.sets import set_names
from judge.errors import UnknownName
from judge.server.access import ServiceHere, allow, check_csrf, need
from judge.server.batches import JobId, WorkersHere, listed
from judge.server.cursors import Cursor, Limit
from judge.server.pages import Rater, form_of, page
from judge.server.problems import Problem
from judge.server.repeats import Repeats
from judge.server.service import Service
from judge.store.access_keys import Caller
from judge.types.calibration_set import Profile

router = APIRouter(tags=["calibrations"])
page_router = APIRouter(include_in_schema=False)

Admin = Annotated[Caller, Depends(need())]
REPORT_CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
"""A report carries its styles inside and no script; it may load nothing."""


class CalibrationRequest(BaseModel):
    """A judge against the labels of a queue, or against a shipped set."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"queue": "refunds"}, {"set": "refunds", "profile": "advisory"}]},
    )

    queue: str | None = Field(default=None, max_length=63)
    set: str | None = Field(default=None, max_length=100)
    judge: str | None = Field(default=None, max_length=200)
    criterion: str | None = Field(default=None, max_length=200)
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
    if (body.queue is None) == (body.set is None):
        raise Problem(422, "invalid_request", "Exactly one of `queue` and `set` is needed.")
    strange = sorted(set(body.claims or ()) - set(KINDS))
    if strange:
        raise Problem(422, "unknown_claim", f"There is no claim {strange[0]!r}.", hint=f"Claims: {', '.join(KINDS)}.")
    try:
        if body.queue is not None:
            service.queues.settings(body.queue)
        elif body.set not in set_names():
            raise UnknownName(f"There is no shipped set {body.set!r}.", hint=f"There: {', '.join(set_names())}.")
        return body.model_dump(mode="json") | {"judge": service.judge_name(body.judge)}
    except UnknownName as error:
        raise Problem(422, error.kind, error.message, hint=error.hint) from None


@router.post("/v1/calibrations", status_code=202, summary="Begin a calibration", responses={422: {}})
async def begin(
    body: CalibrationRequest,
    service: ServiceHere,
    workers: WorkersHere,
    caller: Admin,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """The certificate lands in the service's folder, and later verdicts carry its state."""

    async def work() -> dict[str, Any]:
        request = await run_in_threadpool(checked, service, body)
        return (await run_in_threadpool(workers.add_job, "calibration", caller.name, request)).to_json()

    repeats = Repeats(service, caller, idempotency_key, "calibrations")
    return await repeats.answer(body.model_dump(mode="json"), work, 202)


@router.get("/v1/calibrations", summary="Calibrations, newest first", responses={404: {}})
def calibrations(service: ServiceHere, caller: Admin, limit: Limit = 50, cursor: Cursor = None) -> dict[str, Any]:
    """Without their reports; `next` is the cursor of the following page, or null."""
    return listed(service, "calibration", caller, limit, cursor)


@router.get("/v1/calibrations/{id}", summary="A calibration", responses={404: {}})
def calibration(id: JobId, service: ServiceHere, caller: Admin) -> dict[str, Any]:
    """State, and once it is done `result` with decision, report and certificate."""
    return service.jobs.get(id, "calibration").to_json()


@page_router.get("/reports")
def reports(service: ServiceHere, caller: Rater) -> Response:
    """Every calibration, and a form to begin one; for admins."""
    allow(caller)
    jobs = service.jobs.list("calibration", limit=100)
    compared = service.jobs.list("comparison", limit=100)
    return page(
        "reports", caller, jobs=jobs, compared=compared, queues=service.queues.names(), judges=service.judge_names()
    )


@page_router.post("/reports")
async def begin_on_page(request: Request, service: ServiceHere, workers: WorkersHere, caller: Rater) -> Response:
    """Begins a calibration of a queue."""
    allow(caller)
    form = await form_of(request)
    check_csrf(caller, form.get("csrf", ""))
    body = CalibrationRequest(queue=form.get("queue", "")[:63], judge=form.get("judge") or None)
    wanted = await run_in_threadpool(checked, service, body)
    await run_in_threadpool(workers.add_job, "calibration", caller.name, wanted)
    return RedirectResponse("/reports", 303)


@page_router.get("/reports/{id}")
def report(id: str, service: ServiceHere, caller: Rater) -> Response:
    """The report of one calibration or comparison, self-contained."""
    allow(caller)
    service.jobs.get(id)
    text = service.jobs.page(id)
    if text is None:
        raise Problem(404, "no_report", f"The job {id!r} has no report (yet).")
    return HTMLResponse(text, headers={"Content-Security-Policy": REPORT_CSP})
