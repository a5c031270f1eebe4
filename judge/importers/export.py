"""Trajectories to native JSON Lines."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import orjson

from judge.errors import UsageError
from judge.types.trajectory import Trajectory


def write_jsonl(trajectories: Iterable[Trajectory], path: str | Path) -> int:
    """Writes one trajectory a line to a temporary file beside `path`, then renames it. Returns how many.

    Nothing is left behind and `path` is untouched when `trajectories` raises.

    Raises:
        UsageError: The file cannot be written.
    """
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be written: {error}.") from None
    part = Path(name)
    written = 0
    try:
        with os.fdopen(handle, "wb") as file:
            for trajectory in trajectories:
                file.write(line_of(trajectory))
                written += 1
        part.replace(target)
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be written: {error}.") from None
    finally:
        part.unlink(missing_ok=True)
    return written


def line_of(trajectory: Trajectory) -> bytes:
    """A trajectory as one line of native JSON Lines."""
    import json

    value = trajectory.to_json()
    try:
        return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # whole numbers beyond 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"
