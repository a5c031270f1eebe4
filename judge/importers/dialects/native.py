"""Our own JSON into a trajectory: as it is, every key checked."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from judge.errors import TraceError
from judge.types.trajectory import Trajectory


def quick_native(line: bytes) -> Trajectory | None:
    """The trajectory of a line straight from its bytes, or None for a line that the slow way has to look at.

    That is a line which does not fit the schema, and one whose text may need replacing: NaN and infinities (which
    JSON has not), lone surrogates and raw control characters (which this parser refuses).
    """
    if b"NaN" in line or b"Infinity" in line:
        return None
    try:
        return Trajectory.model_validate_json(line)
    except ValidationError:
        return None


def read_native(record: dict[str, Any], *, where: str) -> Trajectory:
    """The trajectory that `Trajectory.to_json` wrote.

    Raises:
        TraceError: It does not fit the schema; the message names the first field that does not.
    """
    try:
        return Trajectory.model_validate(record)
    except (ValidationError, RecursionError) as error:
        if isinstance(error, RecursionError):
            raise TraceError(f"{where}: nested too deeply.") from None
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise TraceError(
            f"{where}: not a judge.trajectory/1 record: {field}: {first['msg']}{more}.",
            hint="Native files are read strictly; correct the key, or use --format for another format.",
        ) from None
