"""Calls that batches at a provider answered, as log lines, spans and token counts: each once, with its verdict."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from judge.config import Settings
from judge.engine.connection import Connection
from judge.engine.telemetry import Telemetry, telemetry
from judge.errors import ProviderError
from judge.store.batch_ledger import Chunk
from judge.types.request import Reply, Request

LOG = logging.getLogger("judge.call")


@dataclass(frozen=True, slots=True)
class _Answered:
    request: Request
    chunk: Chunk
    outcome: Reply | ProviderError


class BatchNotes:
    """What the calls of trajectories under way came to; told once a trajectory has its verdict, for until then the
    same outcomes are read in every pass. There is no duration: an answer waits in its batch for all the others."""

    def __init__(self, connection: Connection, settings: Settings) -> None:
        """`connection` names the judge and knows its price in a batch."""
        self._connection = connection
        self._meter: Telemetry | None = telemetry() if settings.telemetry else None
        self._under_way: dict[str, dict[str, _Answered]] = {}

    def add(self, name: str, request: Request, chunk: Chunk | None, outcome: Reply | ProviderError) -> None:
        """An outcome of a batch was read for the request of that name; None for a request that was never in one."""
        if chunk is None or (self._meter is None and not LOG.isEnabledFor(logging.INFO)):
            return
        self._under_way.setdefault(request.subject.trajectory_id, {})[name] = _Answered(request, chunk, outcome)

    def drop(self, trajectory_id: str) -> None:
        """The trajectory waits for a later pass, which reads all of it again."""
        self._under_way.pop(trajectory_id, None)

    def tell(self, trajectory_id: str) -> None:
        """The trajectory has its verdict."""
        for answered in self._under_way.pop(trajectory_id, {}).values():
            self._log(answered)
            if self._meter is not None:
                self._trace(self._meter, answered)

    def _log(self, answered: _Answered) -> None:
        request, chunk, outcome = answered.request, answered.chunk, answered.outcome
        facts: dict[str, Any] = {
            "judge": self._connection.name,
            "trajectory_id": request.subject.trajectory_id,
            "sample": request.sample,
            "attempt": request.attempt,
            "batch": chunk.number,
            "id": chunk.batch,
            "handed_in": datetime.fromtimestamp(chunk.sent_at, UTC).isoformat(timespec="seconds"),
        }
        if isinstance(outcome, ProviderError):
            more = {"attempts": outcome.attempts, "error": outcome.reason, "message": outcome.message}
            LOG.warning("call failed", extra={"facts": facts | more})
            return
        usage = outcome.usage
        more = {
            "status": outcome.status,
            "samples": 1,
            "attempts": outcome.attempts,
            "served_model": outcome.model,
            "input_tokens": None if usage is None else usage.input_tokens,
            "output_tokens": None if usage is None else usage.output_tokens,
            "cost_usd": None if usage is None else self._connection.price(usage),
        }
        LOG.info("call", extra={"facts": facts | more})

    def _trace(self, meter: Telemetry, answered: _Answered) -> None:
        chunk, outcome = answered.chunk, answered.outcome
        span = meter.begin(self._connection, answered.request, since_s=chunk.sent_at, batch=chunk.batch)
        if isinstance(outcome, ProviderError):
            meter.failed(span, self._connection, outcome.reason, None)
        else:
            meter.answered(span, self._connection, outcome, None)
