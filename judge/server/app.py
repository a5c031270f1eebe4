"""The application: routes, errors, the guard around them, and what runs beside them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

from fastapi import FastAPI, Request
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles

import judge
from judge.server import (
    batches,
    calibrations,
    comparisons,
    forgetting,
    health,
    labels,
    measuring,
    pages,
    problems,
    report_pages,
    scoring,
    sets,
)
from judge.server.access import admit
from judge.server.guard import LOOPBACK, Guard
from judge.server.problems import Problem
from judge.server.service import Service
from judge.server.workers import Workers

ABOUT = (
    "Scores trajectories of AI agents with an LLM judge and says with every score whether that judge can be trusted. "
    "Errors are problem documents (RFC 9457). A judgement that failed is never a number."
)
PARTS = (
    health, scoring, measuring, labels, batches, sets, calibrations, comparisons, forgetting, pages, report_pages,
)  # fmt: skip


HOLD_S = 10.0
"""Seconds from one look whether the database is still held to the next."""


async def _hold(workers: Workers) -> None:
    while True:
        await asyncio.sleep(HOLD_S)
        with suppress(SQLAlchemyError):  # it does not answer: the next look may tell
            await run_in_threadpool(workers.hold)


def create_app(service: Service) -> FastAPI:
    """The ASGI application around an opened service; it closes the service when it stops."""

    workers = Workers(service)

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(workers.start)
        chores = [asyncio.create_task(forgetting.purge_daily(service)), asyncio.create_task(_hold(workers))]
        try:
            yield
        finally:
            for chore in chores:
                chore.cancel()
                with suppress(asyncio.CancelledError):
                    await chore
            await run_in_threadpool(workers.close)
            await service.close()

    app = FastAPI(
        title="trajudge", version=judge.__version__, description=ABOUT, lifespan=life, docs_url=None, redoc_url=None
    )
    app.state.service = service
    app.state.workers = workers
    problems.install(app, _on_page)
    app.add_exception_handler(pages.SignInFirst, _to_sign_in)
    for part in PARTS:
        app.include_router(part.router)
    app.mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    deployment = service.deployment
    hosts = {*LOOPBACK, *deployment.hosts} if deployment.on_loopback or deployment.hosts else None
    app.add_middleware(
        Guard,
        counters=service.counters,
        max_body=deployment.max_body,
        hosts=hosts,
        admit=partial(admit, service),
        body_s=deployment.body_s,
    )
    return app


def _on_page(request: Request, problem: Problem) -> Response | None:
    """A problem as a page, where a browser asked for one."""
    if request.url.path.startswith("/v1/") or "text/html" not in request.headers.get("accept", ""):
        return None
    return pages.page(
        "problem",
        None,
        status=problem.status,
        title=problem.kind.replace("_", " "),
        detail=f"{problem.detail} {problem.hint}".strip(),
    )


async def _to_sign_in(_request: Request, _error: Exception) -> Response:
    return RedirectResponse("/sign-in", 303)
