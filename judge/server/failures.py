"""Too many wrong keys from one address: no further try is looked at for a while."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

MOST_ADDRESSES = 10_000


class FailureLimit:
    """Counts failed tries by address. Safe to use from several threads."""

    def __init__(self, *, most: int = 10, window_s: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        """`most` failed tries within `window_s` seconds close the door until the oldest is that long ago."""
        self._most = most
        self._window = window_s
        self._clock = clock
        self._lock = threading.Lock()
        self._tries: dict[str, deque[float]] = {}

    def wait(self, address: str) -> float | None:
        """Seconds until this address may try again, or None when it may now."""
        with self._lock:
            tries = self._recent(address)
            return tries[0] + self._window - self._clock() if len(tries) >= self._most else None

    def failed(self, address: str) -> None:
        """Counts a failed try."""
        with self._lock:
            if len(self._tries) >= MOST_ADDRESSES and address not in self._tries:
                self._tries.pop(next(iter(self._tries)))
            tries = self._recent(address)
            tries.append(self._clock())
            self._tries[address] = tries

    def _recent(self, address: str) -> deque[float]:
        tries = self._tries.get(address, deque())
        while tries and tries[0] <= self._clock() - self._window:
            tries.popleft()
        return tries
