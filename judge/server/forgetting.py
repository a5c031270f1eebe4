"""What the service keeps how long, and deleting now what is over; it also does so when it starts and once a day."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool

from judge.server.access import ServiceHere, need
from judge.server.service import Service
from judge.store.access_keys import Caller
from judge.store.database import stamp
from judge.store.retention import Purged, purge

LOG = logging.getLogger("judge.server")
EVERY_S = 86_400.0
"""Seconds from one purge to the next."""

router = APIRouter(tags=["retention"])


class PurgeRequest(BaseModel):
    """Deletes by default; with `dry_run` it only counts."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"dry_run": True}]})

    dry_run: bool = Field(default=False, description="Count what would go, and delete nothing.")


@router.get("/v1/retention", summary="What is kept how long")
def retention(service: ServiceHere, caller: Annotated[Caller, Depends(need())]) -> dict[str, Any]:
    """Days by kind, null for ever; how many of each would be deleted now; when this server last deleted, or null."""
    return {
        "days": service.deployment.retention.to_json(),
        "due": purged(service, dry=True).to_json(),
        "last_purge": service.last_purge,
    }


@router.post("/v1/retention/purge", summary="Delete what is over")
def purge_now(body: PurgeRequest, service: ServiceHere, caller: Annotated[Caller, Depends(need())]) -> dict[str, Any]:
    """Deletes what is older than it may become, and says how many of each. Export labels and verdicts before."""
    return {"deleted": purged(service, dry=body.dry_run).to_json(), "dry_run": body.dry_run}


def purged(service: Service, *, dry: bool = False) -> Purged:
    """Deletes (or counts) what is over now."""
    deployment, now = service.deployment, datetime.now(UTC)
    found = purge(service.engine, deployment.batches, deployment.retention, now=now, dry=dry)
    if not dry:
        service.last_purge = stamp(now)
    return found


async def purge_daily(service: Service, every_s: float = EVERY_S) -> None:
    """Purges again and again until it is cancelled; a database that does not answer is asked again the next time."""
    while True:
        try:
            found = await run_in_threadpool(purged, service)
            LOG.info("purged", extra={"facts": found.to_json()})
        except (SQLAlchemyError, OSError) as error:
            LOG.error("purge failed", extra={"facts": {"kind": type(error).__name__}})
        await asyncio.sleep(every_s)
