"""A file with given content, read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judge.importers import load
from judge.types import Trajectory


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., list[Trajectory]]:
    """Trajectories of a file with the given content: bytes as they are, a list of records as JSON Lines."""

    def read(content: Any, *, name: str = "trace.jsonl", **options: Any) -> list[Trajectory]:
        path = tmp_path / name
        if isinstance(content, list):
            content = b"".join(json.dumps(record).encode() + b"\n" for record in content)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return list(load(path, **options))

    return read
