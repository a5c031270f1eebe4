"""A connection whose calls are logged and, where an exporter is configured, traced and measured."""

from __future__ import annotations

import logging
import time
from typing import Any

from judge.config import Settings
from judge.engine.connection import Connection
from judge.engine.telemetry import Telemetry, telemetry
from judge.errors import JudgeError, ProviderError
from judge.types.request import Reply, Request
from judge.types.trajectory import Usage

LOG = logging.getLogger("judge.call")


def observed(connection: Connection, settings: Settings) -> Connection:
    """The connection, watched where somebody listens; itself where nobody does."""
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

    def price(self, usage: Usage) -> float | None:
        """As the inner connection's."""
        return self._inner.price(usage)

    async def complete(self, request: Request) -> Reply:
        """As the inner connection's, noted."""
        begun = time.monotonic()
        span = self._meter.begin(self, request) if self._meter is not None else None
        try:
            reply = await self._inner.complete(request)
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
        usage = reply.usage or Usage()
        if self._meter is not None:
            self._meter.answered(span, self, reply, seconds)
        if LOG.isEnabledFor(logging.INFO):
            facts = {
                **self._facts(request, seconds),
                "status": reply.status,
                "attempts": reply.attempts,
                "served_model": reply.model,
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
                "cost_usd": usage.cost_usd if usage.cost_usd is not None else self.price(usage),
            }
            LOG.info("call", extra={"facts": facts})
        return reply

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
