"""How long to wait before a request is tried again. The only retry arithmetic of the project."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

FIRST_WAIT_S = 0.5
LONGEST_BACKOFF_S = 30.0


def asked_wait(headers: Mapping[str, str], *, now: float) -> float | None:
    """Seconds that a server asks to wait, or None where it does not say.

    Reads ``retry-after-ms`` (milliseconds) and ``Retry-After`` (seconds or an HTTP date); of
    several, the longest. A date is measured against both `now` and the reply's own ``Date``,
    so that a clock that runs fast here does not send the next request too early.

    Args:
        headers: Names in lower case.
        now: Seconds since the epoch.

    Source: RFC 9110 section 10.2.3.
    """
    waits: list[float] = []
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        waits.append(milliseconds / 1000)
    text = headers.get("retry-after")
    if text is not None:
        seconds = _number(text)
        if seconds is not None:
            waits.append(seconds)
        else:
            until = _date(text)
            if until is not None:
                waits.append(until - now)
                sent = _date(headers.get("date", ""))
                if sent is not None:
                    waits.append(until - sent)
    return max(0.0, *waits) if waits else None


def backoff(attempt: int, *, draw: float) -> float:
    """Seconds before try `attempt` + 1 where the server names no wait: doubling, with jitter.

    Args:
        attempt: Tries made so far, from 1.
        draw: A random number in [0, 1); the wait lies in [half, whole) of the doubled time.
    """
    whole = min(LONGEST_BACKOFF_S, FIRST_WAIT_S * 2.0 ** min(attempt - 1, 16))
    return float(whole * (0.5 + draw / 2))


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return None if math.isnan(value) or value < 0 else value


def _date(text: str) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
