"""Requests and tokens a minute, as the server's headers tell them, kept to before a call is sent.

=============================================  ====================================================
``x-ratelimit-{limit,remaining,reset}-KIND``   OpenAI and compatible; KIND is requests or tokens,
                                               reset a duration such as ``1s``, ``6m0s``, ``20ms``
``anthropic-ratelimit-KIND-{limit,…,reset}``   Anthropic; KIND is requests, tokens, input-tokens or
                                               output-tokens, reset an RFC 3339 time
=============================================  ====================================================

Both servers fill up continuously: "reset" is when the allowance is whole again.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

_OPENAI = "x-ratelimit-"
_ANTHROPIC = "anthropic-ratelimit-"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
KINDS = ("requests", "tokens", "input-tokens", "output-tokens")
LONGEST_NAP_S = 60.0


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one reply says of one quota.

    Attributes:
        reset_s: Seconds until it is whole again, or None where that is not said.
    """

    kind: str
    limit: float
    remaining: float
    reset_s: float | None


def limit_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a reply that speak of quotas, names in lower case."""
    out = {}
    for name, value in headers.items():
        lower = name.lower()
        if lower.startswith((_OPENAI, _ANTHROPIC)):
            out[lower] = value
    return out


def allowances(limits: Mapping[str, str], *, now: float) -> tuple[Allowance, ...]:
    """The quotas in `limits` (see `limit_headers`); one without a limit and a remainder is left out.

    Args:
        now: Seconds since the epoch, for a reset that is a time.
    """
    found = []
    for kind in KINDS:
        for pattern in (_OPENAI + "{part}-" + kind, _ANTHROPIC + kind + "-{part}"):
            limit, remaining = (_number(limits.get(pattern.format(part=part))) for part in ("limit", "remaining"))
            if limit is not None and limit > 0 and remaining is not None:
                reset = _reset(limits.get(pattern.format(part="reset")), now)
                found.append(Allowance(kind, limit, min(remaining, limit), reset))
    return tuple(found)


class Bucket:
    """An allowance that fills up at a steady rate."""

    def __init__(self, limit: float, rate: float, now: float) -> None:
        """`rate`: per second."""
        self.limit = limit
        self.rate = rate
        self._level = limit
        self._at = now

    def level(self, now: float) -> float:
        """What is left; below 0 when more was taken than there was."""
        return min(self.limit, self._level + self.rate * max(0.0, now - self._at))

    def wait(self, need: float, now: float) -> float:
        """Seconds until `need` is there; a need beyond the limit waits for the whole limit."""
        missing = min(need, self.limit) - self.level(now)
        return missing / self.rate if missing > 0 else 0.0

    def put(self, level: float, now: float) -> None:
        """Sets what is left."""
        self._level = min(level, self.limit)
        self._at = now


@dataclass(slots=True)
class Ticket:
    """One call that was let through, in the order of sending."""

    number: int
    needs: dict[str, float]


class Quota:
    """The quotas of one provider. Every call takes a ticket before it is sent and gives it back when it is answered."""

    def __init__(
        self,
        *,
        tokens_per_minute: float | None,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]],
    ) -> None:
        """`tokens_per_minute`: Set by the user; headers do not change it."""
        self._clock = clock
        self._sleep = sleep
        self._fixed = frozenset({"tokens"} if tokens_per_minute else ())
        self.buckets: dict[str, Bucket] = {}
        if tokens_per_minute:
            self.buckets["tokens"] = Bucket(tokens_per_minute, tokens_per_minute / 60.0, clock())
        self._open: dict[int, Ticket] = {}
        self._next = 0
        self._newest = -1

    @property
    def counts_tokens(self) -> bool:
        """Whether a call has to say how many tokens it takes."""
        return any(kind != "requests" for kind in self.buckets)

    async def turn(self, input_tokens: int, output_tokens: int) -> Ticket:
        """Waits until a call fits every quota, and counts it."""
        needs: dict[str, float] = {
            "requests": 1.0,
            "tokens": float(input_tokens + output_tokens),
            "input-tokens": float(input_tokens),
            "output-tokens": float(output_tokens),
        }
        while self.buckets:
            now = self._clock()
            wait = max(bucket.wait(needs[kind], now) for kind, bucket in self.buckets.items())
            if wait <= 0:
                break
            await self._sleep(min(wait, LONGEST_NAP_S))
        now = self._clock()
        for kind, bucket in self.buckets.items():
            bucket.put(bucket.level(now) - needs[kind], now)
        ticket = Ticket(self._next, needs)
        self._next += 1
        self._open[ticket.number] = ticket
        return ticket

    def answered(self, ticket: Ticket, limits: Mapping[str, str], *, now: float) -> None:
        """Gives a ticket back and learns from the reply's headers.

        What the headers call remaining is taken as the state when that call was sent: calls sent after it and
        still open are taken off. A reply to a call older than one already heard teaches nothing.

        Args:
            now: Seconds since the epoch.
        """
        self._open.pop(ticket.number, None)
        if not limits or ticket.number < self._newest:
            return
        told = allowances(limits, now=now)
        if not told:
            return
        self._newest = ticket.number
        clock = self._clock()
        later = [open_.needs for number, open_ in self._open.items() if number > ticket.number]
        for allowance in told:
            kind = allowance.kind
            if kind in self._fixed:
                continue
            rate = allowance.limit / 60.0
            used = allowance.limit - allowance.remaining
            if allowance.reset_s and used > 0:
                rate = used / allowance.reset_s
            bucket = self.buckets.setdefault(kind, Bucket(allowance.limit, rate, clock))
            bucket.limit, bucket.rate = allowance.limit, rate
            bucket.put(allowance.remaining - sum(needs[kind] for needs in later), clock)


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < float("inf") else None


def _reset(text: str | None, now: float) -> float | None:
    if text is None:
        return None
    plain = _number(text)
    if plain is not None:
        return plain
    parts = _DURATION.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _SECONDS[unit] for number, unit in parts)
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - now)
