"""Trajectories to JSON Lines: native, or in a format of others."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import orjson

from judge.errors import UsageError
from judge.importers.exports import Exported, to_atif, to_openai
from judge.types.trajectory import Trajectory

Target = Literal["native", "atif", "openai"]
TARGETS: tuple[Target, ...] = get_args(Target)
_WRITERS: Mapping[str, Callable[[Trajectory], Exported]] = {"atif": to_atif, "openai": to_openai}


def write_jsonl(
    trajectories: Iterable[Trajectory], path: str | Path, *, to: Target = "native", lost: Counter[str] | None = None
) -> int:
    """Writes one trajectory a line to a temporary file beside `path`, then renames it. Returns how many.

    What the format `to` cannot hold is counted in `lost`; native JSON Lines lose nothing.
    Nothing is left behind and `path` is untouched when `trajectories` raises.

    Raises:
        UsageError: The file cannot be written.
    """
    target = Path(path)
    part = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        opened = part.open("xb")  # with the permissions of any new file
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be written: {error}.") from None
    written = 0
    try:
        with opened as file:
            for trajectory in trajectories:
                file.write(_line(trajectory, to, lost))
                written += 1
        part.replace(target)
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be written: {error}.") from None
    finally:
        part.unlink(missing_ok=True)
    return written


def _line(trajectory: Trajectory, to: Target, lost: Counter[str] | None) -> bytes:
    if to == "native":
        return line_of(trajectory)
    made = _WRITERS[to](trajectory)
    if lost is not None:
        lost.update(made.lost)
    return _json_line(made.value)


def line_of(trajectory: Trajectory) -> bytes:
    """A trajectory as one line of native JSON Lines."""
    return _json_line(trajectory.to_json())


def _json_line(value: dict[str, Any]) -> bytes:
    import json

    try:
        return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # whole numbers beyond 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"
