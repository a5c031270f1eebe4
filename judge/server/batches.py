"""POST /v1/batches: many trajectories as a job; poll it, follow it, cancel it, read its verdicts a page at a time."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Request
from pydantic import ConfigDict, JsonValue
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from judge.errors import JudgeError
from judge.server.access import ServiceHere, need
from judge.server.cursors import Cursor, Limit, read_cursor, write_cursor
from judge.server.links import of_job, of_list
from judge.server.problems import Problem
from judge.server.received import TrajectoryIn, one_or_many, trajectories
from judge.server.repeats import IdempotencyKey, Repeats, as_json
from judge.server.scoring import EXAMPLE_RUN, JudgingOptions, judge_and_rubric
from judge.server.service import Service
from judge.server.workers import Workers
from judge.store.access_keys import Caller
from judge.store.jobs import Job, JobKind
from judge.store.run_folder import RunFolder

router = APIRouter(tags=["batches"])

JobId = Annotated[str, Path(max_length=64)]
LastEvent = Annotated[str | None, Header(max_length=100, description="`id` of the last event that was read.")]
LOOK_S, BEAT_S = 0.3, 15.0
"""Seconds between two looks at a followed job, and between two signs of life."""


class BatchRequest(JudgingOptions):
    """Trajectories to judge in the background."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"trajectories": [EXAMPLE_RUN], "rubric": "process"}]}
    )

    trajectories: list[TrajectoryIn]
    reference: JsonValue = None


async def workers_of(request: Request) -> Workers:
    """The workers of the service that a request has reached."""
    found: Workers = request.app.state.workers
    return found


WorkersHere = Annotated[Workers, Depends(workers_of)]
Scorer = Annotated[Caller, Depends(need("score"))]


@router.post(
    "/v1/batches",
    status_code=202,
    summary="Begin a batch",
    operation_id="begin_batch",
    responses={413: {}, 422: {}, **of_job("batch")},
)
async def begin(
    body: BatchRequest,
    service: ServiceHere,
    workers: WorkersHere,
    caller: Scorer,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Takes the batch and answers at once; every finished verdict is on disk, and a restart goes on from there."""

    async def work() -> dict[str, Any]:
        given = one_or_many(None, body.trajectories, most=service.deployment.max_batch)
        judge_and_rubric(service, body)
        runs = await run_in_threadpool(trajectories, given, max_steps=service.deployment.max_steps)
        request = body.model_dump(mode="json", exclude={"trajectories"})
        job = await run_in_threadpool(workers.add_batch, caller.name, runs, request, idempotency_key)
        return job.to_json()

    answer = await Repeats(service, caller, idempotency_key, "batches").answer(body, work, 202)
    answer.headers["Location"] = f"/v1/batches/{json.loads(bytes(answer.body))['id']}"
    return answer


@router.get(
    "/v1/batches",
    summary="Batches, newest first",
    operation_id="list_batches",
    responses={404: {}, **of_list("list_batches")},
)
def batches(
    service: ServiceHere,
    caller: Scorer,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """The caller's batches; an admin sees all. `next` is the cursor of the following page, or null."""
    return listed(service, "batch", caller, limit, cursor)


def listed(service: Service, kind: JobKind, caller: Caller, limit: int, cursor: str | None) -> dict[str, Any]:
    """A page of jobs without their results."""
    owner = None if caller.role == "admin" else caller.name
    key = read_cursor(cursor, str, str)
    before = None if key is None else (str(key[0]), str(key[1]))
    found = service.jobs.list(kind, limit=limit + 1, before=before, owner=owner)
    last = found[limit - 1] if len(found) > limit else None
    more = None if last is None else write_cursor(last.created_at, last.id)
    return {"jobs": [job.model_dump(mode="json", exclude={"result"}) for job in found[:limit]], "next": more}


def own(service: Service, id: str, kind: JobKind, caller: Caller) -> Job:
    """The job, when it is the caller's or the caller is an admin; for others there is none."""
    job = service.jobs.get(id, kind)
    if caller.role != "admin" and job.owner != caller.name:
        raise Problem(404, "unknown_name", f"There is no {kind} {id!r}.")
    return job


@router.get("/v1/batches/{id}", summary="A batch", operation_id="get_batch", responses={404: {}})
def batch(id: JobId, service: ServiceHere, caller: Scorer) -> dict[str, Any]:
    """State, progress, and the result once it is done."""
    return own(service, id, "batch", caller).to_json()


@router.delete("/v1/batches/{id}", summary="Cancel a batch", operation_id="cancel_batch", responses={404: {}})
def cancel(id: JobId, service: ServiceHere, workers: WorkersHere, caller: Scorer) -> dict[str, Any]:
    """Lets nothing further begin; verdicts so far stay readable. A batch that has ended stays as it is."""
    own(service, id, "batch", caller)
    return workers.cancel(id, "batch").to_json()


@router.get(
    "/v1/batches/{id}/results",
    summary="Verdicts of a batch",
    operation_id="batch_results",
    responses={404: {}, 410: {}, **of_list("batch_results", id="$request.path.id")},
)
def results(
    id: JobId,
    service: ServiceHere,
    workers: WorkersHere,
    caller: Scorer,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """Verdicts in the order of the input; `next` is the cursor of the following page, or null after the last one.

    While the batch runs, a page ends before the first run that has no verdict yet, and `next` asks for what has come
    since: no verdict is missed and none comes twice. 410 when the verdicts were deleted by age.
    """
    job = own(service, id, "batch", caller)
    key = read_cursor(cursor, int)
    after = 0 if key is None else int(key[0])
    run = workers.folder(id) / "run"
    found: list[tuple[int, bytes]] = []
    try:
        if (run / "index.sqlite").is_file():
            with RunFolder.read(run) as folder:
                found = folder.page(after, limit + 1, ended=job.ended)
    except (OSError, sqlite3.Error, JudgeError):
        if run.parent.is_dir():
            raise
    if job.ended and not run.parent.is_dir():
        raise Problem(410, "verdicts_deleted", "The verdicts of this batch were deleted: their time was over.")
    last = found[:limit][-1][0] if found else after
    more = len(found) > limit or not job.ended
    page = [json.loads(line) for _, line in found[:limit]]
    return as_json({"results": page, "next": write_cursor(last) if more else None})


@router.get(
    "/v1/batches/{id}/events",
    summary="Follow a batch",
    operation_id="follow_batch",
    response_class=Response,
    responses={204: {}, 404: {}},
)
async def events(id: JobId, service: ServiceHere, caller: Scorer, last_event_id: LastEvent = None) -> Response:
    """Server-sent events: `progress` whenever something changed, `end` with the whole job when it has ended.

    Whoever comes again with `Last-Event-ID` is told what is new since, and 204 when `end` was told.
    """
    await run_in_threadpool(own, service, id, "batch", caller)
    return await followed(service, id, last_event_id)


async def followed(service: Service, id: str, last: str | None) -> Response:
    """The events of a job after the event `last`."""
    job = await run_in_threadpool(service.jobs.get, id)
    if job.ended and last == _end_of(job):
        return Response(status_code=204)  # which ends an EventSource

    async def stream() -> AsyncIterator[str]:
        told, beat = last or "", time.monotonic()
        while True:
            job = await run_in_threadpool(service.jobs.get, id)
            if job.updated_at != told:
                told = job.updated_at
                text = json.dumps({"state": job.state, "progress": job.progress})
                yield f"event: progress\nid: {told}\ndata: {text}\n\n"
            if job.ended:
                yield f"event: end\nid: {_end_of(job)}\ndata: {json.dumps(job.to_json())}\n\n"
                return
            if time.monotonic() - beat > BEAT_S:
                beat = time.monotonic()
                yield ": alive\n\n"
            await asyncio.sleep(LOOK_S)

    # A proxy that collects answers would hold events back.
    return StreamingResponse(stream(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _end_of(job: Job) -> str:
    return f"{job.updated_at}/end"
