"""How others end a run early: an interrupt, a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable


class Control:
    """A switch that a signal handler or another thread may turn, and a deadline.

    Attributes:
        reason: Why no further trajectory begins ("interrupt", "deadline"); None while all goes on.
    """

    def __init__(self, *, deadline_s: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """`deadline_s`: seconds from now after which nothing new begins; what is under way is finished and kept."""
        self.reason: str | None = None
        self._clock = clock
        self._until = None if deadline_s is None else clock() + deadline_s

    def drain(self, reason: str) -> None:
        """Lets no further trajectory begin; those under way are finished. The first reason stays."""
        if self.reason is None:
            self.reason = reason

    def ending(self) -> bool:
        """Whether no further trajectory may begin."""
        if self.reason is None and self._until is not None and self._clock() >= self._until:
            self.reason = "deadline"
        return self.reason is not None
