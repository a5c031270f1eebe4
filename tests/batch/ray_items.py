"""What the tests of batches on Ray share: the workers' process ids, and verdicts without what may differ."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from judge.store.run_folder import RunFolder

DIFFERS = ("seconds", "cost_usd", "known_usd")
"""Fields that two runs of equal input need not share: sums of dollars are rounded by the order of the terms; the tests
compare them for themselves."""


class Heard(logging.Handler):
    """Keeps the facts of what the batch log says."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.facts: list[tuple[str, dict[str, Any]]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.facts.append((record.getMessage(), getattr(record, "facts", {})))

    def of(self, message: str) -> list[dict[str, Any]]:
        return [facts for said, facts in self.facts if said == message]


@contextmanager
def hearing() -> Iterator[Heard]:
    """Listens to the batch log."""
    logger = logging.getLogger("judge.batch")
    before, heard = logger.level, Heard()
    logger.addHandler(heard)
    logger.setLevel(logging.INFO)
    try:
        yield heard
    finally:
        logger.removeHandler(heard)
        logger.setLevel(before)


def bare(value: Any) -> Any:
    """Verdict JSON without the fields that may differ."""
    if isinstance(value, dict):
        return {name: bare(part) for name, part in value.items() if name not in DIFFERS}
    return [bare(part) for part in value] if isinstance(value, list) else value


def verdicts(folder: Path) -> list[dict[str, Any]]:
    """The verdicts that count in a run folder, in the order of the input, bare."""
    with RunFolder.read(folder) as run:
        return [bare(verdict.to_json()) for verdict in run.verdicts()]
