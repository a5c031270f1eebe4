"""A jury as a YAML file."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import ValidationError

from judge.errors import UsageError
from judge.types.jury import Jury

PREFIX = "jury:"


def is_jury(name: str) -> bool:
    """Whether a judge's name is that of a jury file, "jury:FILE.yaml"."""
    return name.startswith(PREFIX)


def load_jury(name: str) -> Jury:
    """The jury of "jury:FILE.yaml"; it is named "jury/STEM" where the file gives no name.

    Raises:
        UsageError: The file does not read, or its content is no jury; the field is named.
    """
    path = Path(name.removeprefix(PREFIX))
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The jury file {str(path)!r} cannot be read: {error}.") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is no YAML: {error}.") from None
    if not isinstance(value, dict):
        raise UsageError(f"{path} holds {type(value).__name__}, needed a mapping.", hint="Give at least `members:`.")
    try:
        return Jury.model_validate({"name": f"jury/{path.stem}", **value})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise UsageError(
            f"{path}: {where}: {first['msg']}.", hint=f"Keys of a jury: {', '.join(Jury.model_fields)}."
        ) from None
