"""/healthz and /readyz for probes, without a key; /metrics for Prometheus; no name of anybody in them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from judge.server.access import ServiceHere, need
from judge.server.guard import COUNTS
from judge.server.problems import SOON, Problem, displaced
from judge.store.access_keys import Caller
from judge.store.database import is_ready

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="The process lives")
async def healthz() -> dict[str, str]:
    """Answers at once, also while judge calls run."""
    return {"status": "ok"}


@router.get("/readyz", summary="Requests can be served", responses={503: {}})
async def readyz(service: ServiceHere) -> dict[str, str]:
    """Whether the database answers and is this server's own; 503 where not."""
    if service.displaced:
        raise displaced()
    if not await run_in_threadpool(is_ready, service.engine):
        raise Problem(503, "not_ready", "The database does not answer.", retry_after=SOON)
    return {"status": "ready"}


@router.get(COUNTS, summary="Counts for Prometheus", response_class=Response)
async def counters(service: ServiceHere, caller: Annotated[Caller, Depends(need("score", "label"))]) -> Response:
    """Requests, verdicts, calls and known cost since the process began, for whoever has a key of any role."""
    return Response(service.counters.text(), media_type="text/plain; version=0.0.4")
