"""Progress on stderr: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PLAIN_EVERY_S = 10.0


@contextmanager
def progress(what: str, total: int | None, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Gives a function that takes how many are done so far."""
    if quiet:
        yield lambda done: None
    elif sys.stderr.isatty():
        with _bar(what, total) as advance:
            yield advance
    else:
        yield _lines(what, total)


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


def _lines(what: str, total: int | None) -> Callable[[int], None]:
    started = last = time.monotonic()

    def advance(done: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < PLAIN_EVERY_S:
            return
        last = now
        of = f" of {total:,}" if total is not None else ""
        sys.stderr.write(f"{what}: {done:,}{of} after {now - started:.0f} s\n")
        sys.stderr.flush()

    return advance
