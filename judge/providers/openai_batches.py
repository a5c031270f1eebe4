"""The Batch API of OpenAI: a file of requests is uploaded, a batch made of it, its outcomes are in one or two files.

The batch carries our mark as metadata, so that one whose id was lost is found again for certain. An uploaded file
without a batch costs nothing.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from judge.config import Settings
from judge.errors import ProviderError
from judge.providers.batches import (
    CLOCKS_APART_S,
    LONGEST_TRANSFER_S,
    BatchLimits,
    BatchState,
    Outcome,
    OutcomeKind,
    Search,
    json_lines,
    not_answered,
)
from judge.providers.failures import Answered, bad_response
from judge.providers.openai import OpenAIChat, adapted, replies_of, usage_of
from judge.providers.refusals import dropped
from judge.types.request import Reply, Request
from judge.types.trajectory import Usage

ENDPOINT = "/v1/chat/completions"
MARK = "judge_batch"
"""Key of our mark in a batch's metadata."""
_ENDED = frozenset({"failed", "completed", "expired", "cancelled"})
_PASSING = frozenset({"token_limit_exceeded"})
"""Causes for which a batch is turned down today and taken tomorrow."""
_UNANSWERED: dict[str, OutcomeKind] = {"batch_expired": "expired", "batch_cancelled": "canceled"}


def open_batches(model: str, settings: Settings) -> OpenAIBatches:
    """The batch API behind `openai/MODEL`."""
    return OpenAIBatches(f"openai/{model}", model, settings)


class OpenAIBatches(OpenAIChat):
    """`BatchApi` of OpenAI, by the official SDK."""

    limits = BatchLimits(requests=50_000, bytes=200 * 1000 * 1000)

    def entry(self, custom_id: str, request: Request, refused: frozenset[str]) -> bytes:
        """One line of the file of requests."""
        body = {**adapted(self.body(request), refused), **self._extra}
        return orjson.dumps({"custom_id": custom_id, "method": "POST", "url": ENDPOINT, "body": body}) + b"\n"

    async def submit(self, mark: str, entries: Path, uploaded: Callable[[str], None]) -> BatchState:
        """Uploads the file and makes a batch of it."""
        client = await self._ready()
        try:
            content = (f"{mark}.jsonl", entries.read_bytes(), "application/jsonl")
            file = await client.files.create(file=content, purpose="batch", timeout=LONGEST_TRANSFER_S)
            uploaded(file.id)
            made = await client.batches.create(
                input_file_id=file.id, endpoint=ENDPOINT, completion_window="24h", metadata={MARK: mark}
            )
        except Exception as error:
            raise self._failure(error, {}) from None
        return _state(made)

    async def search(self, mark: str, *, total: int, since: float, known: frozenset[str]) -> Search:
        """The batch whose metadata holds the mark."""
        client = await self._ready()
        try:
            async for batch in client.batches.list(limit=100):
                if batch.created_at < since - CLOCKS_APART_S:
                    break
                if batch.id not in known and (batch.metadata or {}).get(MARK) == mark:
                    return Search(found=_state(batch))
        except Exception as error:
            raise self._failure(error, {}) from None
        return Search()

    async def state(self, id: str) -> BatchState:
        """As the provider has it now."""
        client = await self._ready()
        try:
            return _state(await client.batches.retrieve(id))
        except Exception as error:
            raise self._failure(error, {}) from None

    async def outcomes(self, state: BatchState) -> AsyncGenerator[Outcome, None]:
        """Lines of the output file, then of the error file."""
        client = await self._ready()
        for file in state.files:
            try:
                got = client.files.with_streaming_response.content(file, timeout=LONGEST_TRANSFER_S)
                async with got as response, contextlib.aclosing(json_lines(response.iter_bytes())) as lines:
                    async for line in lines:
                        yield self._outcome(line)
            except ProviderError:
                raise
            except Exception as error:
                raise self._failure(error, {}) from None

    def _outcome(self, line: bytes) -> Outcome:
        try:
            row = orjson.loads(line)
            custom_id, response, error = str(row["custom_id"]), row.get("response"), row.get("error")
            status = int(response["status_code"]) if response else None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise bad_response(self.name, "a line of outcomes that is none") from None
        if status is None or (error and not (response or {}).get("body")):
            said = error if isinstance(error, dict) else {}
            return Outcome(custom_id, _UNANSWERED.get(str(said.get("code")), "errored"), None, {"error": said})
        body = response.get("body")
        body = body if isinstance(body, dict) else {}
        return Outcome(custom_id, "succeeded" if status == 200 else "errored", status, body)

    async def cancel(self, id: str) -> BatchState:
        """Asks to end it."""
        client = await self._ready()
        try:
            return _state(await client.batches.cancel(id))
        except Exception as error:
            raise self._failure(error, {}) from None

    def reply(self, outcome: Outcome, request: Request, refused: frozenset[str]) -> Reply:
        """The chat completion."""
        reply = replies_of(outcome.body or {}, 1, limit=request.sampling.max_output_tokens, host=self.host)[0]
        left_out = dropped(self.body(request), refused)
        if request.sampling.thinking_tokens is not None:
            left_out = (*left_out, "thinking_tokens")
        return reply.model_copy(update={"dropped": left_out})

    def usage(self, outcome: Outcome) -> Usage | None:
        """As the reply says."""
        return usage_of((outcome.body or {}).get("usage"))

    def failure(self, outcome: Outcome, request: Request, refused: frozenset[str]) -> ProviderError:
        """Our error for it."""
        if outcome.kind != "errored":
            return not_answered(self.name, outcome)
        sent = adapted(self.body(request), refused)
        return self._failure(Answered(outcome.body or {}, outcome.status), sent)


def _state(batch: Any) -> BatchState:
    counts = batch.request_counts
    problems = [problem for problem in (batch.errors.data or ()) if problem] if batch.errors else []
    return BatchState(
        id=batch.id,
        status=batch.status,
        ended=batch.status in _ENDED,
        total=counts.total if counts else None,
        done=counts.completed + counts.failed if counts else None,
        created=float(batch.created_at or time.time()),
        files=tuple(file for file in (batch.output_file_id, batch.error_file_id) if file),
        problem=(_problem(problems[0]) if problems else "no cause given") if batch.status == "failed" else "",
        passing=bool(problems) and all(problem.code in _PASSING for problem in problems),
    )


def _problem(problem: Any) -> str:
    said: Mapping[str, Any] = problem.to_dict() if hasattr(problem, "to_dict") else {}
    where = f" (line {said['line']})" if said.get("line") else ""
    return f"{said.get('code') or 'failed'}: {said.get('message') or 'no cause given'}{where}"
