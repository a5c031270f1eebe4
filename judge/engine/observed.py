"""A connection whose calls are logged and, where an exporter is configured, traced and measured."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from judge.config import Settings
from judge.engine.connection import Connection, Opened, OpenJury, SharedConnection, SharingConnection
from judge.engine.telemetry import Telemetry, telemetry
from judge.errors import JudgeError, ProviderError
from judge.types.request import Reply, Request, Sharing
from judge.types.trajectory import Usage
from judge.voting import add_usage

LOG = logging.getLogger("judge.call")


def observed(opened: Opened, settings: Settings) -> Opened:
    """The judge or jury, its calls watched where somebody listens; itself where nobody does."""
    if isinstance(opened, OpenJury):
        return replace(opened, connections={n: _observed(c, settings) for n, c in opened.connections.items()})
    return _observed(opened, settings)


def _observed(connection: Connection, settings: Settings) -> Connection:
    meter = telemetry() if settings.telemetry and not connection.offline else None
    if meter is None and not LOG.isEnabledFor(logging.INFO):
        return connection
    return ObservedConnection(connection, meter)


class ObservedConnection:
    """Passes everything on and notes every call. Log records hold counts, names and causes, never texts of a run."""

    def __init__(self, inner: Connection, meter: Telemetry | None) -> None:
        self._inner = inner
        self._meter = meter
        self.name = inner.name
        self.provider = inner.provider
        self.model = inner.model
        self.host = inner.host
        self.offline = inner.offline
        self.context_tokens = inner.context_tokens
        self.most_at_once: int | None = getattr(inner, "most_at_once", None)

    def count_tokens(self, text: str) -> int:
        """As the inner connection's."""
        return self._inner.count_tokens(text)

    def payload(self, request: Request) -> dict[str, Any]:
        """As the inner connection's."""
        return self._inner.payload(request)

    def hit(self, request: Request) -> Reply | None:
        """As the inner connection's."""
        return self._inner.hit(request)

    def keep(self, request: Request, reply: Reply) -> None:
        """As the inner connection's."""
        self._inner.keep(request, reply)

    @property
    def cache_failures(self) -> int:
        """As the inner connection's; 0 where it has no cache."""
        return self._inner.cache_failures if isinstance(self._inner, SharedConnection) else 0

    @property
    def shares_cache(self) -> bool:
        """As the inner connection's."""
        return isinstance(self._inner, SharedConnection) and self._inner.shares_cache

    @asynccontextmanager
    async def alone(self, request: Request) -> AsyncIterator[bool]:
        """As the inner connection's."""
        if not isinstance(self._inner, SharedConnection):
            yield False
            return
        async with self._inner.alone(request) as again:
            yield again

    def price(self, usage: Usage) -> float | None:
        """As the inner connection's."""
        return self._inner.price(usage)

    def sharing(self, request: Request, tokens: int) -> Sharing:
        """As the inner connection's."""
        return self._inner.sharing(request, tokens) if isinstance(self._inner, SharingConnection) else "apart"

    async def complete(self, request: Request) -> Reply:
        """As the inner connection's, noted."""

        async def ask() -> tuple[Reply, ...]:
            return (await self._inner.complete(request),)

        return (await self._noted(request, ask))[0]

    async def complete_together(self, request: Request, copies: int) -> tuple[Reply, ...]:
        """As the inner connection's, noted as the one call that it is."""
        inner = self._inner
        if not isinstance(inner, SharingConnection):
            return (await self.complete(request),)
        return await self._noted(request, lambda: inner.complete_together(request, copies))

    async def _noted(self, request: Request, ask: Callable[[], Awaitable[tuple[Reply, ...]]]) -> tuple[Reply, ...]:
        begun = time.monotonic()
        span = self._meter.begin(self, request) if self._meter is not None else None
        try:
            replies = await ask()
        except JudgeError as error:
            seconds = time.monotonic() - begun
            reason = error.reason if isinstance(error, ProviderError) else error.kind
            if self._meter is not None:
                self._meter.failed(span, self, reason, seconds)
            LOG.warning(
                "call failed",
                extra={"facts": {**self._facts(request, seconds), "error": reason, "message": error.message}},
            )
            raise
        except BaseException:
            if self._meter is not None:
                self._meter.failed(span, self, "cancelled", time.monotonic() - begun)
            raise
        seconds = time.monotonic() - begun
        reply = replies[0]
        usage = add_usage([each.usage for each in replies])
        if self._meter is not None:
            self._meter.answered(span, self, reply.model_copy(update={"usage": usage}), seconds)
        if LOG.isEnabledFor(logging.INFO):
            facts = {
                **self._facts(request, seconds),
                "status": reply.status,
                "samples": len(replies),
                "attempts": reply.attempts,
                "served_model": reply.model,
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cost_usd": usage.cost_usd if usage.cost_usd is not None else self.price(usage),
            }
            LOG.info("call", extra={"facts": facts})
        return replies

    def _facts(self, request: Request, seconds: float) -> dict[str, Any]:
        return {
            "judge": self.name,
            "trajectory_id": request.subject.trajectory_id,
            "sample": request.sample,
            "attempt": request.attempt,
            "seconds": round(seconds, 4),
        }

    async def aclose(self) -> None:
        """As the inner connection's."""
        await self._inner.aclose()
