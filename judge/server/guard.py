"""The outermost layer: whose requests are taken, how large they may be, and the headers of every answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from urllib.parse import SplitResult, urlsplit

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from judge.server.counters import Counters
from judge.server.problems import Problem, crashed

COUNTS = "/metrics"
"""The one path outside the API that asks for a key, where there are keys: it tells what is spent."""
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
FORM_BYTES = 256 * 1024
"""Most bytes of what a page sends: an answer with a note."""
BODY_S = 120.0
"""Seconds in which a request must be whole."""

Admit = Callable[[Scope, dict[str, str]], Awaitable[None]]


class Guard:
    """ASGI middleware."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        counters: Counters,
        max_body: int,
        hosts: Collection[str] | None,
        admit: Admit,
        body_s: float = BODY_S,
    ) -> None:
        """
        Args:
            max_body: Largest request body in bytes.
            admit: Checks who asks for a path of the API, before any of the body is read; raises `Problem`.
            body_s: Seconds in which the body must have come.
            hosts: Names that a request may be addressed to, so that a foreign page cannot reach a server on
                loopback under a name of its own (DNS rebinding); None for any.
        """
        self._app = app
        self._counters = counters
        self._max_body = max_body
        self._admit_caller = admit
        self._body_s = body_s
        self._hosts = None if hosts is None else frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        status, begun_answer = 500, False

        async def answer(message: Message) -> None:
            nonlocal status, begun_answer
            if message["type"] == "http.response.start":
                status, begun_answer = message["status"], True
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
            try:
                await self._app(scope, receive if body is None else _replay(body, receive), answer)
            except Exception as error:
                told = crashed(scope["path"], error)
                if begun_answer:
                    raise RuntimeError("an answer broke off") from None  # the server ends the connection
                await told.response()(scope, receive, answer)
        finally:
            route = getattr(scope.get("route"), "path", "unmatched")
            self._counters.add("judge_requests_in_flight", -1)
            self._counters.add("judge_requests_total", route=route, status=str(status))
            self._counters.observe(route, time.perf_counter() - begun)

    async def _admit(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body of a request that has one; raises `Problem` for a request that is not taken."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        name = _parts(f"//{host}").hostname or ""
        if self._hosts is not None and name not in self._hosts:
            raise Problem(421, "wrong_host", f"This service does not answer to the host name {host[:100]!r}.")
        if "\x00" in scope["path"] or b"%00" in scope["query_string"] or b"\x00" in scope["query_string"]:
            raise Problem(400, "bad_request", "An address holds no NUL.")
        unsafe = scope["method"] in UNSAFE
        origin = headers.get("origin")
        foreign = origin is not None and _parts(origin).netloc != host
        if unsafe and (foreign or headers.get("sec-fetch-site") in ("cross-site", "same-site")):
            raise Problem(403, "foreign_origin", "Another site sent this request, and only pages of this service may.")
        api = scope["path"].startswith("/v1/")
        if api or scope["path"] == COUNTS:
            await self._admit_caller(scope, headers)
        if not unsafe:
            return None
        try:
            async with asyncio.timeout(self._body_s):
                body = await self._body(headers, receive, self._max_body if api else min(FORM_BYTES, self._max_body))
        except TimeoutError:
            words = f"The request was not whole after {self._body_s:g} s."
            raise Problem(408, "request_too_slow", words, headers={"Connection": "close"}) from None
        if api and body:
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise Problem(415, "unsupported_media_type", f"The body is {kind[:60]!r}, application/json is needed.")
            try:
                orjson.loads(body)
            except orjson.JSONDecodeError as error:
                raise Problem(400, "bad_json", f"The body is no valid JSON: {error}.") from None
        return body

    async def _body(self, headers: dict[str, str], receive: Receive, most: int) -> bytes:
        stated = headers.get("content-length", "")
        if stated.isascii() and stated.isdigit() and (len(stated) > 18 or int(stated) > most):
            raise _too_large(most)
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                raise Problem(400, "bad_request", "The client went away before the request was whole.")
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > most:
                raise _too_large(most)
            chunks.append(chunk)
            if not message.get("more_body", False):
                return b"".join(chunks)


def _too_large(most: int) -> Problem:
    return Problem(
        413,
        "body_too_large",
        f"The request is larger than {most} bytes.",
        hint="Send fewer trajectories at a time.",
    )


def _parts(address: str) -> SplitResult:
    """An address in parts.

    Raises:
        Problem: 400 for what is none.
    """
    try:
        found = urlsplit(address)
        _ = found.hostname, found.port
    except ValueError:
        raise Problem(400, "bad_request", f"{address[:100]!r} is no address.") from None
    return found


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
