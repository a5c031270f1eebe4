"""Who may do what: a key in the Authorization header, or a page session in a cookie."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.types import Scope

from judge.server.problems import Problem
from judge.server.service import Service
from judge.store.access_keys import Caller, Role, caller_of_session

COOKIE = "judge_session"
_CALLER = "judge.caller"
LOCAL = Caller(name="local", role="admin")
"""Who calls a service on loopback that has no keys."""
_BEARER = HTTPBearer(auto_error=False, description="An API key: `Authorization: Bearer tj_…`.")


async def service_of(request: Request) -> Service:
    """The service that a request has reached; not in a thread of its own, which would cost more than it does."""
    found: Service = request.app.state.service
    return found


ServiceHere = Annotated[Service, Depends(service_of)]


def address(request: Request) -> str:
    """The address that a request came from; headers that anyone can write are not asked."""
    return _where(request.scope)


def _where(scope: Scope) -> str:
    return str(scope["client"][0]) if scope.get("client") else "unknown"


async def admit(service: Service, scope: Scope, headers: dict[str, str]) -> None:
    """Finds out who asks for a path of the API, and notes it for `known`.

    Raises:
        Problem: 401 without a valid key, 429 after too many wrong ones or too many requests.
    """
    kind, _, key = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and key.strip():
        caller = within_rate(service, await check_key(service, _where(scope), key.strip()))
    elif await service.needs_key():
        service.counters.add("judge_access_failures_total")
        raise _unknown("No key was given.")
    else:
        caller = LOCAL
    scope[_CALLER] = caller


async def known(
    request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)] = None
) -> Caller:
    """The caller that `admit` found, before the body of the request was read."""
    caller: Caller = request.scope[_CALLER]
    return caller


def within_rate(service: Service, caller: Caller) -> Caller:
    """The caller, when it has not made too many requests.

    Raises:
        Problem: 429 otherwise.
    """
    wait = service.requests.take(caller.name)
    if wait is not None:
        most = service.deployment.requests_per_minute
        raise Problem(
            429, "too_many_requests", f"The key {caller.name!r} may make {most} requests a minute.", retry_after=wait
        )
    return caller


async def check_key(service: Service, where: str, key: str) -> Caller:
    """The caller whose key this is, at the address `where`.

    Raises:
        Problem: 401 for a wrong key; 429, without looking at it, after too many wrong ones.
    """
    wait = service.failures.wait(where)
    if wait is not None:
        raise Problem(429, "too_many_failures", "Too many wrong keys came from this address.", retry_after=wait)
    caller = await service.callers.of_key(key)
    if caller is None:
        service.failures.failed(where)
        service.counters.add("judge_access_failures_total")
        raise _unknown("The key is not valid.")
    return caller


def _unknown(detail: str) -> Problem:
    return Problem(
        401,
        "unauthorized",
        detail,
        hint="Send `Authorization: Bearer KEY`; `judge serve --new-key NAME --role ROLE` makes one.",
        headers={"WWW-Authenticate": "Bearer"},
    )


def need(*roles: Role) -> Callable[[Caller], Awaitable[Caller]]:
    """A dependency that lets callers with one of `roles` (and admins) through."""

    async def check(caller: Annotated[Caller, Depends(known)]) -> Caller:
        return allow(caller, *roles)

    return check


def allow(caller: Caller, *roles: Role) -> Caller:
    """The caller, when it has one of `roles` or is an admin.

    Raises:
        Problem: 403 otherwise.
    """
    if not caller.may(*roles):
        wanted = " or ".join((*roles, "admin"))
        raise Problem(403, "forbidden", f"The key {caller.name!r} has the role {caller.role}; {wanted} is needed.")
    return caller


def session_caller(request: Request, service: Service) -> Caller | None:
    """Who is signed in on the pages, or None."""
    token = request.cookies.get(COOKIE)
    caller = caller_of_session(service.engine, token, now=datetime.now(UTC)) if token else None
    if caller is not None and caller.key_id is None and not service.is_open:
        return None  # begun with a name alone, before the first key was made
    return caller if caller is None or caller.key_id is None else within_rate(service, caller)


def check_csrf(caller: Caller, token: str) -> None:
    """Refuses a form that did not come from a page of this session.

    Raises:
        Problem: 403.
    """
    if caller.csrf is None or not hmac.compare_digest(caller.csrf.encode(), token.encode("utf-8", "replace")):
        raise Problem(403, "stale_form", "The form does not belong to this session.", hint="Load the page again.")
