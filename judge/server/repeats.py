"""Idempotency keys: a request that is sent again gets the answer of the first one, and does nothing twice."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import Header
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from judge.server.problems import SOON, Problem
from judge.server.service import Service
from judge.store.access_keys import Caller
from judge.types.record import fingerprint

IdempotencyKey = Annotated[
    str | None, Header(min_length=1, max_length=200, description="Of your choice; a repeated one does nothing twice.")
]


class Repeats:
    """One request under its `Idempotency-Key`; without a key it is simply done."""

    def __init__(self, service: Service, caller: Caller, key: str | None, route: str) -> None:
        self._service = service
        self._owner = caller.name
        self._key = key
        self._route = route

    async def answer(self, body: BaseModel, work: Callable[[], Awaitable[Any]], status: int = 200) -> Response:
        """The answer of `work`, or that of the earlier request with the same key and `body`.

        A request that failed frees its key, so that it may be tried again.

        Raises:
            Problem: 422 when the key stood for another request, 409 while the first is under way.
        """
        if self._key is None:
            return as_json(await work(), status)
        kept = self._service.kept
        asked = fingerprint(body.model_dump(mode="json"))
        found = await run_in_threadpool(kept.begin, self._owner, self._key, self._route, asked)
        if found is not None:
            if not found.same_request:
                raise Problem(
                    422, "key_reused", "This Idempotency-Key stood for another request.", hint="Use a new one."
                )
            if found.status is None:
                raise Problem(409, "in_progress", "The first request of this key is under way.", retry_after=SOON)
            return as_json(found.answer, found.status, {"Idempotency-Replayed": "true"})
        try:
            done = await work()
        except BaseException:
            await run_in_threadpool(kept.drop, self._owner, self._key)
            raise
        await run_in_threadpool(kept.finish, self._owner, self._key, status, done)
        return as_json(done, status)


def as_json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer; NaN, which JSON cannot say, is an error and not sent."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Response(text, status, headers=headers, media_type="application/json")
