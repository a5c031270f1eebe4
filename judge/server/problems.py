"""Errors as problem+json (RFC 9457): what was found, what is needed, and when to try again."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from judge.errors import (
    BudgetReached,
    ContextOverflow,
    FingerprintMismatch,
    JudgeError,
    ProviderError,
    RetryableError,
    TerminalError,
    TrustRequired,
    UnknownName,
)

LOG = logging.getLogger("judge.server")
SOON, LATER, MUCH_LATER = 5, 30, 3600
"""Seconds of Retry-After: after a broken or slow answer, after an overload, after a spent budget or quota."""


class Problem(Exception):
    """Ends a request with a problem document.

    Attributes:
        kind: Machine name, the last part of `type`.
        retry_after: Seconds, where waiting may help.
        more: Further members of the document.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        hint: str = "",
        retry_after: float | None = None,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.hint = hint
        self.retry_after = retry_after
        self.headers = dict(headers or {})
        self.more = more

    def response(self) -> Response:
        """The document; ASCII only, so that any text of a request may stand in it."""
        body: dict[str, Any] = {
            "type": f"urn:trajudge:problem:{self.kind}",
            "title": self.kind.replace("_", " "),
            "status": self.status,
            "detail": self.detail,
        }
        if self.hint:
            body["hint"] = self.hint
        headers = dict(self.headers)
        if self.retry_after is not None:
            seconds = max(1, round(self.retry_after))
            headers["Retry-After"] = str(seconds)
            body["retry_after"] = seconds
        text = json.dumps(body | self.more, ensure_ascii=True, default=str)
        return Response(text, self.status, headers=headers, media_type="application/problem+json")


def displaced() -> Problem:
    """Another server has the database, and this one begins nothing."""
    return Problem(
        503,
        "displaced",
        "Another server has taken this service's database while the connection to it was lost.",
        hint="Stop one of the two servers; the one that is left takes up the jobs when it starts.",
    )


CAUSES: dict[str, tuple[int, int | None]] = {
    "timeout": (504, SOON),
    "rate_limit": (503, LATER),
    "overloaded": (503, LATER),
    "quota": (503, MUCH_LATER),
    "item_budget": (503, MUCH_LATER),
    "server": (502, SOON),
    "connection": (502, SOON),
    "bad_response": (502, SOON),
    "auth": (502, None),
    "payment": (502, None),
    "request_refused": (502, None),
    "redirect": (502, None),
    "context_length": (422, None),
    "context_overflow": (422, None),
}
"""Why there is no score → HTTP status and Retry-After. Any other cause is a reply of no use: 502, try again soon."""


def of_cause(cause: str) -> tuple[int, int | None]:
    """HTTP status and seconds of Retry-After for a judgement that failed with `cause`."""
    return CAUSES.get(cause, (502, SOON))


def of_error(error: JudgeError) -> Problem:
    """The problem that an error of the package is to the caller."""
    if isinstance(error, ProviderError):
        status, wait = of_cause(error.reason)
        if isinstance(error, RetryableError) and error.retry_after is not None:
            wait = max(1, round(error.retry_after))
        if isinstance(error, TerminalError) and error.reason not in CAUSES:
            status, wait = 502, None
        return Problem(status, f"judge_{error.reason}", error.message, hint=error.hint, retry_after=wait)
    if isinstance(error, BudgetReached):
        return Problem(503, error.kind, error.message, hint=error.hint, retry_after=MUCH_LATER)
    if isinstance(error, TrustRequired | FingerprintMismatch):
        return Problem(409, error.kind, error.message, hint=error.hint)
    if isinstance(error, UnknownName):
        return Problem(404, error.kind, error.message, hint=error.hint)
    status = 422 if isinstance(error, ContextOverflow) or error.exit_code == 2 else 500
    return Problem(status, error.kind, error.message, hint=error.hint)


def crashed(path: str, error: Exception) -> Problem:
    """The problem that an unexpected error is; the log says where it arose.

    Where, and not what: the words of an error may hold a part of the request.
    """
    frames = traceback.extract_tb(error.__traceback__)
    at = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    facts = {"path": path, "kind": type(error).__name__, "at": at}
    LOG.error("unexpected error: %s at %s", facts["kind"], at, extra={"facts": facts})
    return Problem(500, "internal_error", "Something went wrong inside the service; its log says what.")


def install(app: FastAPI, shown: Callable[[Request, Problem], Response | None]) -> None:
    """Makes every error of the application a problem document, or what `shown` makes of it."""

    def answer(request: Request, problem: Problem) -> Response:
        return shown(request, problem) or problem.response()

    async def on_problem(request: Request, error: Exception) -> Response:
        assert isinstance(error, Problem)
        return answer(request, error)

    async def on_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, JudgeError)
        return answer(request, of_error(error))

    async def on_invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        faults = [
            {"where": ".".join(str(part) for part in fault["loc"]), "message": fault["msg"]}
            for fault in error.errors()[:20]
        ]
        first = faults[0] if faults else {"where": "body", "message": "invalid"}
        detail = f"{first['where']}: {first['message']}."
        return answer(request, Problem(422, "invalid_request", detail, faults=faults))

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        names = {404: "not_found", 405: "method_not_allowed", 400: "bad_request"}
        kind = names.get(error.status_code, "http_error")
        return answer(request, Problem(error.status_code, kind, str(error.detail), headers=error.headers))

    app.add_exception_handler(Problem, on_problem)
    app.add_exception_handler(JudgeError, on_error)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(HTTPException, on_http)
