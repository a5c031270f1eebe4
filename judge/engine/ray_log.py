"""Log records of workers, carried to the process that writes the log."""

from __future__ import annotations

import logging
import time
import warnings
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

WHOLE = "judge"
"""The logger of the package."""
WARNED = "warning"
"""Event of a warning."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A record as it travels: plain values."""

    logger: str
    level: int
    created: float
    event: str
    facts: dict[str, Any]


class KeptLog(logging.Handler):
    """Keeps what the package logs in this process, and every warning given in it, until it is taken."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._lines: deque[LogLine] = deque()

    def listen(self, *, calls: bool) -> None:
        """From now on, and instead of anybody else in this process; without `calls` to warnings alone."""
        warnings.showwarning = self._warned
        if not calls:
            return
        logger = logging.getLogger(WHOLE)
        logger.addHandler(self)
        logger.setLevel(logging.INFO)
        logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps a record."""
        facts = getattr(record, "facts", {})
        self._lines.append(LogLine(record.name, record.levelno, record.created, record.getMessage(), dict(facts)))

    def _warned(self, message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        facts = {"kind": category.__name__, "message": str(message)}
        self._lines.append(LogLine(WHOLE, logging.WARNING, time.time(), WARNED, facts))

    def take(self) -> tuple[LogLine, ...]:
        """What was kept since the last time."""
        lines = tuple(self._lines)
        self._lines.clear()
        return lines


def listens() -> bool:
    """Whether somebody here wants to know of single calls."""
    return logging.getLogger(f"{WHOLE}.call").isEnabledFor(logging.INFO)


def retell(lines: Iterable[LogLine], worker: str) -> None:
    """Logs here what a worker logged, under the time at which it did, with the worker's name."""
    for line in lines:
        record = logging.makeLogRecord({"name": line.logger, "levelno": line.level, "msg": line.event})
        record.levelname = logging.getLevelName(line.level)
        record.created = line.created
        record.facts = {**line.facts, "worker": worker}
        logging.getLogger(line.logger).handle(record)
