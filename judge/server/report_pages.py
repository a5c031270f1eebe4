"""Calibrations and comparisons on the pages: begun, listed, and each with its report."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from judge.server import calibrations, comparisons
from judge.server.access import ServiceHere, allow, check_csrf
from judge.server.batches import WorkersHere
from judge.server.pages import Rater, fields_of, page
from judge.server.problems import Problem
from judge.store.jobs import JobKind

router = APIRouter(include_in_schema=False)

REPORT_CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
"""A report carries its styles inside and no script; it may load nothing."""
KINDS: tuple[JobKind, ...] = ("calibration", "comparison")
SHOWN = 100


@router.get("/reports")
def reports(service: ServiceHere, caller: Rater) -> Response:
    """Every calibration and comparison, and forms to begin one; for admins."""
    allow(caller)
    return page(
        "reports",
        caller,
        calibrations=service.jobs.list("calibration", limit=SHOWN),
        comparisons=service.jobs.list("comparison", limit=SHOWN),
        queues=service.queues.names(),
        sets=service.set_names(),
        judges=service.judge_names(),
        running=any(not job.ended for kind in KINDS for job in service.jobs.list(kind, limit=SHOWN)),
    )


@router.post("/reports/{kind}")
async def begin(kind: JobKind, request: Request, service: ServiceHere, workers: WorkersHere, caller: Rater) -> Response:
    """Begins a calibration or a comparison on the labels of a queue or a set."""
    allow(caller)
    form = await fields_of(request)
    check_csrf(caller, form.get("csrf", [""])[-1])
    source, _, name = form.get("on", [""])[-1].partition(":")
    if source not in ("queue", "set"):
        raise Problem(422, "invalid_request", "No queue or set was chosen.")
    asked: dict[str, Any] = {source: name}
    judges = form.get("judge", [])
    try:
        if kind == "calibration":
            body = calibrations.CalibrationRequest(**asked, judge=judges[0] if judges else None)
            wanted = await run_in_threadpool(calibrations.checked, service, body)
        elif kind == "comparison":
            if len(judges) < 2:
                raise Problem(422, "invalid_request", f"Two judges or more are compared, {len(judges)} were chosen.")
            wanted = await run_in_threadpool(
                comparisons.checked, service, comparisons.ComparisonRequest(**asked, judges=judges)
            )
        else:
            raise Problem(404, "not_found", "Calibrations and comparisons are begun here.")
    except ValidationError as error:
        raise Problem(422, "invalid_request", f"{error.errors()[0]['msg']}.") from None
    await run_in_threadpool(workers.add_job, kind, caller.name, wanted)
    return RedirectResponse("/reports", 303)


@router.post("/reports/{id}/cancel")
async def cancel(id: str, request: Request, service: ServiceHere, workers: WorkersHere, caller: Rater) -> Response:
    """Ends a calibration or comparison early."""
    allow(caller)
    check_csrf(caller, (await fields_of(request)).get("csrf", [""])[-1])
    job = await run_in_threadpool(service.jobs.get, id)
    if job.kind not in KINDS:
        raise Problem(404, "not_found", "Calibrations and comparisons are cancelled here.")
    await run_in_threadpool(workers.cancel, id, job.kind)
    return RedirectResponse("/reports", 303)


@router.get("/reports/{id}")
def report(id: str, service: ServiceHere, caller: Rater) -> Response:
    """The report of one calibration or comparison, self-contained."""
    allow(caller)
    service.jobs.get(id)
    text = service.jobs.page(id)
    if text is None:
        raise Problem(404, "no_report", f"The job {id!r} has no report (yet).")
    return HTMLResponse(text, headers={"Content-Security-Policy": REPORT_CSP})
