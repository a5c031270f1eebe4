"""What an SDK raised → one of our three errors: wait, this request is wrong, or stop.

=====================================  ================  ==========================
what came back                         error             reason
=====================================  ================  ==========================
401, 402, 403                          TerminalError     auth, payment, permission
429 or 400 that says quota or credit   TerminalError     quota
408, 409, 425, 429, 5xx, 529           RetryableError    timeout, rate_limit, server
no connection, a reset, a time-out     RetryableError    connection, timeout
200 with a body that is not JSON       RetryableError    bad_response
any other status                       RequestRefused    request_refused, context_length
=====================================  ================  ==========================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from judge.errors import ProviderError, RequestRefused, RetryableError, TerminalError
from judge.providers.quota import limit_headers
from judge.providers.redaction import redact
from judge.providers.retry import asked_wait

_EXHAUSTED = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "account_deactivated"}
)
_EXHAUSTED_TEXT = re.compile(r"credit balance is too low|exceeded your current quota|insufficient[_ ]quota", re.I)
_TERMINAL = {401: "auth", 402: "payment", 403: "permission"}
_TOO_LONG = re.compile(r"context[_ ](?:length|size|window)|exceed_context|prompt is too long|maximum context", re.I)
LONGEST_SERVER_TEXT = 300
BILLED = frozenset({"timeout", "bad_response", "no_outcome", "outcome_gone", "duplicate_outcome"})
"""Reasons of a failed call that the provider may have billed: it counts with its whole estimate."""


def may_be_billed(error: ProviderError) -> int:
    """How many tries of a call that failed the provider may have billed without saying so."""
    return max(error.untold, int(error.reason in BILLED))


class Answered(Exception):
    """An error that a server put into the body of a success: `failure` reads it like an SDK's error."""

    response = None

    def __init__(self, body: Mapping[str, Any], status: int | None = None) -> None:
        """`status`: where it is told beside the body."""
        super().__init__("an error in the body of a success")
        code = str(server_error(body).get("code"))
        told = int(code) if code.isdecimal() and 300 <= int(code) < 600 else 500
        self.status_code = told if status is None else status
        self.body = body


def server_error(body: Any) -> dict[str, Any]:
    """The object that holds message, code and param, wherever a server put it."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if isinstance(inner, Mapping):
            return dict(inner)
        return {"message": str(inner)}
    return {"message": str(body)} if body else {}


def failure(
    error: BaseException, *, provider: str, secrets: Iterable[str], now: float, parameter: str | None = None
) -> ProviderError:
    """Our error for what an SDK raised. Reads attributes only, so that any SDK's errors fit.

    Args:
        now: Seconds since the epoch, for a Retry-After that is a date.
        parameter: The request parameter that the caller found to be refused.
    """
    status = getattr(error, "status_code", None)
    response = getattr(error, "response", None)
    if not isinstance(status, int):
        status = getattr(response, "status_code", None)
    said = server_error(getattr(error, "body", None))
    text = redact(str(said.get("message") or error or type(error).__name__), secrets)
    text = " ".join(text.split())[:LONGEST_SERVER_TEXT] or type(error).__name__
    no_status = _without_status(error, status)
    broken = broken_connection(error) if no_status else None
    if no_status and broken is not None:  # some transports call a refused connection a timeout
        no_status, text = "connection", redact(" ".join(str(broken).split()), secrets)[:LONGEST_SERVER_TEXT] or text
    if no_status:
        return RetryableError(
            f"{provider}: {'the request timed out' if no_status == 'timeout' else 'the connection failed'} ({text}).",
            provider=provider,
            reason=no_status,
        )
    code = int(status or 0)
    message = f"{provider} answered {code}: {text}" if code else f"{provider}: {text}"
    exhausted = str(said.get("code")) in _EXHAUSTED or str(said.get("type")) in _EXHAUSTED
    if code in {400, 403, 429} and (exhausted or _EXHAUSTED_TEXT.search(text)):
        return TerminalError(
            message, hint="The quota or credit is used up.", provider=provider, status_code=code, reason="quota"
        )
    if code in _TERMINAL:
        hint = "Check the API key and that it may use this model." if code != 402 else "Check the account's billing."
        return TerminalError(message, hint=hint, provider=provider, status_code=code, reason=_TERMINAL[code])
    if code in {408, 409, 425, 429} or code >= 500:
        headers = {str(k).lower(): str(v) for k, v in dict(getattr(response, "headers", None) or {}).items()}
        reason = {408: "timeout", 429: "rate_limit"}.get(code, "server")
        retryable = RetryableError(
            message, provider=provider, status_code=code, reason=reason, retry_after=asked_wait(headers, now=now)
        )
        retryable.quota = limit_headers(headers)
        return retryable
    reason, hint = "request_refused", ""
    if code == 404:
        hint = "Check the model's name and the base_url."
    elif 300 <= code < 400:
        reason, hint = "redirect", "Redirects are not followed, so that no other host is contacted: set the final URL."
    elif code == 413 or _TOO_LONG.search(text) or str(said.get("code")) == "context_length_exceeded":
        reason, hint = "context_length", "Set models.<judge>.context_tokens to what the server takes."
    return RequestRefused(message, hint=hint, provider=provider, status_code=status, reason=reason, parameter=parameter)


def _without_status(error: BaseException, status: int | None) -> str | None:
    """ "timeout" or "connection" where no answer came; None where one did."""
    kind = getattr(error, "kind", None)
    if kind in {"timeout", "connection"}:
        return str(kind)
    name = type(error).__name__
    if "Timeout" in name and (status is None or getattr(error, "response", None) is None or status == 408):
        return "timeout"
    if "Connection" in name or isinstance(error, OSError):
        return "connection"
    return None


def broken_connection(error: BaseException) -> OSError | None:
    """What the operating system said of the connection, where that is what the SDK's error came from."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, OSError) and not isinstance(cause, TimeoutError):
            return cause
        seen.add(id(cause))
        cause = cause.__cause__ or cause.__context__
    return None


def bad_response(provider: str, detail: str, *, status: int = 200) -> RetryableError:
    """A success status with a body that is no reply."""
    return RetryableError(
        f"{provider} answered {status} with {detail}.",
        hint="Check that the base_url is that of the API and not of a web page.",
        provider=provider,
        status_code=status,
        reason="bad_response",
    )
