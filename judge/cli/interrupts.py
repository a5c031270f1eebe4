"""What signals do: the first Ctrl-C lets a run finish what is under way and save it; the second stops it at once."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from judge.cli.output import note

SAME_MOMENT_S = 0.3
"""Signals so close together are one: some programs signal a process and then its whole group."""


@contextmanager
def draining(drain: Callable[[str], None]) -> Iterator[None]:
    """Calls `drain("interrupt")` at the first SIGINT or SIGTERM of the block; the next raises KeyboardInterrupt."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    first: float | None = None

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal first
        if first is not None:
            if time.monotonic() - first > SAME_MOMENT_S:
                raise KeyboardInterrupt
            return
        first = time.monotonic()
        drain("interrupt")
        note("Finishing what is under way and saving it; press Ctrl-C again to stop at once.")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stoppable() -> Iterator[None]:
    """Ends the block at SIGINT or SIGTERM, also where the process began with SIGINT ignored, as by a shell's `&`."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except KeyboardInterrupt:
        note("Stopped.")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
