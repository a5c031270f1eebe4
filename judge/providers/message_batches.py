"""The Message Batches API of Anthropic: the requests are in the call that makes a batch, the outcomes in a stream.

A batch here carries nothing of ours but its custom ids, and they show only once it has ended. One whose id was lost
is therefore found by the time it was made and the number of its requests, and known for certain by its first outcome.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from judge.config import Settings
from judge.errors import ProviderError, RequestRefused, TerminalError
from judge.providers.anthropic import AnthropicMessages, adapted, marked_for, reply_of, usage_of, with_fallback
from judge.providers.batches import (
    CLOCKS_APART_S,
    LONGEST_TRANSFER_S,
    BatchLimits,
    BatchState,
    Outcome,
    Search,
    json_lines,
    not_answered,
)
from judge.providers.failures import Answered, bad_response, server_error
from judge.providers.refusals import dropped
from judge.types.request import Reply, Request
from judge.types.trajectory import Usage

CUSTOM_ID = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
"""What the API takes as a custom id."""
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The API's error types as the HTTP statuses that they come with elsewhere."""


def open_batches(model: str, settings: Settings) -> MessageBatches:
    """The batch API behind `anthropic/MODEL`."""
    return MessageBatches(f"anthropic/{model}", model, settings)


class MessageBatches(AnthropicMessages):
    """`BatchApi` of Anthropic, by the official SDK."""

    limits = BatchLimits(requests=100_000, bytes=256 * 1000 * 1000)

    def entry(self, custom_id: str, request: Request, refused: frozenset[str]) -> bytes:
        """One line of the file of requests."""
        params = self._params(request, refused)
        return orjson.dumps({"custom_id": custom_id, "params": params}) + b"\n"

    async def submit(self, mark: str, entries: Path, uploaded: Callable[[str], None]) -> BatchState:
        """Sends all requests in one call; no file is made."""
        client = await self._ready()
        with entries.open("rb") as file:
            requests = [orjson.loads(line) for line in file]
        try:
            return _state(await client.messages.batches.create(requests=requests, timeout=LONGEST_TRANSFER_S))
        except Exception as error:
            raise self._failure(error, {}) from None

    async def search(self, mark: str, *, total: int, since: float, known: frozenset[str]) -> Search:
        """Batches of that size made since then: one that has ended says by its outcomes whether it is ours."""
        client = await self._ready()
        unclear = []
        try:
            async for batch in client.messages.batches.list(limit=100):
                state = _state(batch)
                if state.created < since - CLOCKS_APART_S:
                    break
                if state.id in known or state.total != total:
                    continue
                if not state.ended:
                    unclear.append(state)
                elif await self._is(state, mark):
                    return Search(found=state)
        except ProviderError:
            raise
        except Exception as error:
            raise self._failure(error, {}) from None
        return Search(unclear=tuple(unclear))

    async def _is(self, state: BatchState, mark: str) -> bool:
        try:
            async with contextlib.aclosing(self.outcomes(state)) as outcomes:
                async for outcome in outcomes:
                    return outcome.custom_id.startswith(mark)
        except RequestRefused:  # its outcomes are gone, so it is an old one
            return False
        return False

    async def state(self, id: str) -> BatchState:
        """As the provider has it now."""
        client = await self._ready()
        try:
            return _state(await client.messages.batches.retrieve(id))
        except Exception as error:
            raise self._failure(error, {}) from None

    async def outcomes(self, state: BatchState) -> AsyncGenerator[Outcome, None]:
        """Lines of the stream of results."""
        if not state.files:
            raise RequestRefused(
                f"{self.name}: the outcomes of {state.id} are no longer kept.",
                provider=self.name,
                reason="outcome_gone",
            )
        place = urlsplit(state.files[0]).netloc
        if place and place != self.host:
            raise TerminalError(
                f"{self.name}: the outcomes are said to lie at {place!r}, and {self.host!r} alone is contacted.",
                hint="Reach the API without the gateway in between for batches.",
                provider=self.name,
                reason="other_host",
            )
        client = await self._ready()
        try:
            got = client.messages.batches.with_streaming_response.results(state.id, timeout=LONGEST_TRANSFER_S)
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
            custom_id, result = str(row["custom_id"]), row["result"]
            kind = result["type"]
        except (ValueError, KeyError, TypeError):
            raise bad_response(self.name, "a line of outcomes that is none") from None
        if kind == "succeeded" and isinstance(result.get("message"), dict):
            return Outcome(custom_id, "succeeded", 200, result["message"])
        if kind in {"expired", "canceled"}:
            return Outcome(custom_id, kind)
        error = result.get("error")
        body = error if isinstance(error, dict) else {}
        return Outcome(custom_id, "errored", _STATUSES.get(str(server_error(body).get("type")), 500), body)

    async def cancel(self, id: str) -> BatchState:
        """Asks to end it."""
        client = await self._ready()
        try:
            return _state(await client.messages.batches.cancel(id))
        except Exception as error:
            raise self._failure(error, {}) from None

    def reply(self, outcome: Outcome, request: Request, refused: frozenset[str]) -> Reply:
        """The message."""
        reply = reply_of(outcome.body or {}, limit=request.sampling.max_output_tokens, host=self.host)
        body = self.body(request)
        left_out = {*dropped(body, refused), *self._left_out(request, body)}
        if "effort" in refused and request.sampling.reasoning_effort is not None:
            left_out.add("reasoning_effort")
        return reply.model_copy(update={"dropped": tuple(sorted(left_out))})

    def usage(self, outcome: Outcome) -> Usage | None:
        """As the reply says."""
        return usage_of((outcome.body or {}).get("usage"))

    def failure(self, outcome: Outcome, request: Request, refused: frozenset[str]) -> ProviderError:
        """Our error for it."""
        if outcome.kind != "errored":
            return not_answered(self.name, outcome)
        return self._failure(Answered(outcome.body or {}, outcome.status), self._params(request, refused))

    def _params(self, request: Request, refused: frozenset[str]) -> dict[str, Any]:
        return adapted(with_fallback(marked_for(request, self.body(request)), request), refused)


def _state(batch: Any) -> BatchState:
    counts = batch.request_counts
    done = counts.succeeded + counts.errored + counts.canceled + counts.expired
    return BatchState(
        id=batch.id,
        status=batch.processing_status,
        ended=batch.processing_status == "ended",
        total=done + counts.processing,
        done=done,
        created=batch.created_at.timestamp(),
        files=(batch.results_url,) if batch.results_url else (),
    )
