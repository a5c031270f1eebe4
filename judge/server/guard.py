"""The outermost layer: whose requests are taken, how large they may be, and the headers of every answer."""

from __future__ import annotations

import time
from collections.abc import Collection
from urllib.parse import urlsplit

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from judge.server.counters import Counters
from judge.server.problems import Problem

UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# With "no-referrer" a form would be sent with the origin "null", and could not be told from a foreign one.
HEADERS = {
    b"content-security-policy": CSP.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    b"cache-control": b"no-store",
}
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Guard:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, *, counters: Counters, max_body: int, hosts: Collection[str] | None) -> None:
        """
        Args:
            max_body: Largest request body in bytes.
            hosts: Names that a request may be addressed to, so that a foreign page cannot reach a server on
                loopback under a name of its own (DNS rebinding); None for any.
        """
        self._app = app
        self._counters = counters
        self._max_body = max_body
        self._hosts = None if hosts is None else frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        status = 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name.lower() for name, _ in message["headers"]}
                more = [(name, value) for name, value in HEADERS.items() if name not in given]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        self._counters.add("judge_requests_in_flight")
        try:
            try:
                body = await self._admit(scope, receive)
            except Problem as problem:
                await problem.response()(scope, receive, answer)
                return
            await self._app(scope, receive if body is None else _replay(body, receive), answer)
        finally:
            route = getattr(scope.get("route"), "path", "unmatched")
            self._counters.add("judge_requests_in_flight", -1)
            self._counters.add("judge_requests_total", route=route, status=str(status))
            self._counters.observe(route, time.perf_counter() - begun)

    async def _admit(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body of a request that has one; raises `Problem` for a request that is not taken."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if self._hosts is not None and (urlsplit(f"//{host}").hostname or "") not in self._hosts:
            raise Problem(421, "wrong_host", f"This service does not answer to the host name {host[:100]!r}.")
        if scope["method"] not in UNSAFE:
            return None
        origin = headers.get("origin")
        foreign = origin is not None and urlsplit(origin).netloc != host
        if foreign or headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            raise Problem(403, "foreign_origin", "Another site sent this request, and only pages of this service may.")
        body = await self._body(headers, receive)
        if scope["path"].startswith("/v1/") and body:
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise Problem(415, "unsupported_media_type", f"The body is {kind[:60]!r}, application/json is needed.")
            try:
                orjson.loads(body)
            except orjson.JSONDecodeError as error:
                raise Problem(400, "bad_json", f"The body is no valid JSON: {error}.") from None
        return body

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes:
        stated = headers.get("content-length", "")
        if stated.isdigit() and int(stated) > self._max_body:
            raise self._too_large()
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise Problem(400, "bad_request", "The client went away before the request was whole.")
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > self._max_body:
                raise self._too_large()
            chunks.append(chunk)
            if not message.get("more_body", False):
                return b"".join(chunks)

    def _too_large(self) -> Problem:
        return Problem(
            413,
            "body_too_large",
            f"The request is larger than {self._max_body} bytes.",
            hint="Send fewer trajectories at a time.",
        )


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
