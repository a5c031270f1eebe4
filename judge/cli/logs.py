"""`--log`: what happened, one JSON object a line."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

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


def _logged_too(logger: logging.Logger, shown: Callable[..., Any]) -> Callable[..., Any]:
    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        logger.warning("warning", extra={"facts": {"kind": category.__name__, "message": str(message)}})
        shown(message, category, *where, **more)

    return show


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
    shown = warnings.showwarning
    if target is not None:
        warnings.showwarning = _logged_too(logger, shown)
    try:
        yield
    finally:
        warnings.showwarning = shown
        logger.removeHandler(handler)
        handler.close()
        logger.setLevel(before[0])
        logger.propagate = before[1]
