"""`--log`: what happened, one JSON object a line."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from judge.errors import UsageError


class JsonLines(logging.Formatter):
    """A record as {"time", "level", "logger", "event", ...facts}; times are UTC."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        facts = getattr(record, "facts", {})
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **(facts if isinstance(facts, dict) else {}),
        }
        return json.dumps(line, ensure_ascii=False, default=str)


@contextmanager
def logging_to(target: str | None) -> Iterator[None]:
    """Sends the package's log records to a file, or with "-" to stderr; nowhere when None.

    Raises:
        UsageError: The file cannot be written.
    """
    logger = logging.getLogger("judge")
    handler: logging.Handler = logging.NullHandler()
    if target == "-":
        handler = logging.StreamHandler(sys.stderr)
    elif target is not None:
        try:
            handler = logging.FileHandler(target, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"The log {target!r} cannot be written: {error.strerror or error}.") from None
    handler.setFormatter(JsonLines())
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    if target is not None:
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
        logger.setLevel(before[0])
        logger.propagate = before[1]
