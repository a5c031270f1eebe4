"""A jury as a YAML file."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import ValidationError

from judge.config import Settings
from judge.errors import UsageError
from judge.registry import unknown
from judge.types.jury import Jury

PATH_PREFIX = "jury:"
NAME_PREFIX = "jury/"
SUFFIXES = (".yaml", ".yml")


def is_jury(name: str) -> bool:
    """Whether a judge's name is that of a jury: "jury/NAME", or "jury:FILE.yaml"."""
    return name.startswith((PATH_PREFIX, NAME_PREFIX))


def jury_names(folder: Path) -> tuple[str, ...]:
    """Every "jury/NAME" of a folder of jury files, sorted; none where there is no such folder."""
    if not folder.is_dir():
        return ()
    return tuple(sorted({f"{NAME_PREFIX}{path.stem}" for path in folder.iterdir() if path.suffix in SUFFIXES}))


def load_jury(name: str, settings: Settings) -> Jury:
    """The jury of "jury/NAME" (a file in the folder `settings.juries`) or of "jury:FILE.yaml".

    It is called "jury/STEM" by the file's name, unless the file gives another.

    Raises:
        UnknownName: No file in the folder has that name.
        UsageError: The file does not read, or its content is no jury; the field is named.
    """
    path = _path(name, settings.juries)
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The jury file {str(path)!r} cannot be read: {error}.") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is no YAML: {error}.") from None
    if not isinstance(value, dict):
        raise UsageError(f"{path} holds {type(value).__name__}, needed a mapping.", hint="Give at least `members:`.")
    try:
        return Jury.model_validate({"name": f"{NAME_PREFIX}{path.stem}", **value})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise UsageError(
            f"{path}: {where}: {first['msg']}.", hint=f"Keys of a jury: {', '.join(Jury.model_fields)}."
        ) from None


def _path(name: str, folder: Path) -> Path:
    if name.startswith(PATH_PREFIX):
        return Path(name.removeprefix(PATH_PREFIX))
    stem = name.removeprefix(NAME_PREFIX)
    known = jury_names(folder)
    if name not in known:
        if not known:
            raise UsageError(
                f"{name!r} is to be a file in the folder {str(folder)!r}, and no jury is there.",
                hint=f"Write {folder / (stem or 'NAME')}.yaml (docs/compare.md), or give jury:FILE.yaml.",
            )
        raise unknown("jury", name, known)
    return next(path for suffix in SUFFIXES if (path := folder / f"{stem}{suffix}").is_file())
