"""The application: routes, errors, the guard around them, and what runs beside them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

import judge
from judge.server import health, measuring, problems, scoring
from judge.server.guard import LOOPBACK, Guard
from judge.server.service import Service

ABOUT = (
    "Scores trajectories of AI agents with an LLM judge and says with every score whether that judge can be trusted. "
    "Errors are problem documents (RFC 9457). A judgement that failed is never a number."
)


def create_app(service: Service) -> FastAPI:
    """The ASGI application around an opened service; it closes the service when it stops."""

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await service.close()

    app = FastAPI(
        title="trajudge", version=judge.__version__, description=ABOUT, lifespan=life, docs_url=None, redoc_url=None
    )
    app.state.service = service
    problems.install(app)
    for part in (health, scoring, measuring):
        app.include_router(part.router)
    deployment = service.deployment
    hosts = {*LOOPBACK, *deployment.hosts} if deployment.on_loopback or deployment.hosts else None
    app.add_middleware(Guard, counters=service.counters, max_body=deployment.max_body, hosts=hosts)
    return app
