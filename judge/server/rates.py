"""How many requests a caller may make: a bucket for each, that fills again by the minute."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

MOST_CALLERS = 10_000


@dataclass
class _Bucket:
    left: float
    at: float


class RequestLimit:
    """Counts requests by caller. Safe to use from several threads.

    Raises:
        ValueError: A limit below 1.
    """

    def __init__(self, per_minute: int | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        """`per_minute`: requests of one caller in a minute, all of which may come at once; None for no limit."""
        if per_minute is not None and per_minute < 1:
            raise ValueError(f"{per_minute} requests a minute: at least 1 is needed.")
        self._per_minute = per_minute
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: dict[str, _Bucket] = {}

    def take(self, caller: str) -> float | None:
        """Counts a request; seconds until one may be made, or None when this one may."""
        most = self._per_minute
        if most is None:
            return None
        with self._lock:
            now = self._clock()
            if caller not in self._buckets and len(self._buckets) >= MOST_CALLERS:
                self._buckets.pop(next(iter(self._buckets)))
            bucket = self._buckets.setdefault(caller, _Bucket(float(most), now))
            bucket.left = min(float(most), bucket.left + (now - bucket.at) * most / 60)
            bucket.at = now
            if bucket.left < 1:
                return (1 - bucket.left) * 60 / most
            bucket.left -= 1
            return None
