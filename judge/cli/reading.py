"""What commands read before they start: traces, references, mapping files, settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.cli.output import note
from judge.errors import UsageError

if TYPE_CHECKING:
    from judge.types import Reference, Trajectory
    from judge.types.probe import ProbeReport
    from judge.types.trajectory import Diagnostic


def trajectories(
    paths: Sequence[str], *, format: str | None, mapping: str | None, limit: int | None
) -> Iterator[Trajectory]:
    """Trajectories of all files in order, at most `limit` in all, as they are read.

    Lines that hold nothing of a trajectory are told when a file has been read: they are in no count.
    """
    from judge.importers import load

    left = limit
    fields = mapping_file(mapping)
    for path in paths:
        if left is not None and left <= 0:
            return
        unread: list[Diagnostic] = []
        for trajectory in load(path, format=format, mapping=fields, limit=left, unread=unread.append):
            yield trajectory
            if left is not None:
                left -= 1
        if unread:
            lines = "1 line holds" if len(unread) == 1 else f"{len(unread)} lines hold"
            note(f"{path}: {lines} nothing of a trajectory, and in no count: {unread[0].message}")


def mapping_file(path: str | None) -> Mapping[str, Any] | None:
    """A mapping file as a dictionary, or None."""
    if path is None:
        return None
    import yaml

    try:
        value = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"The mapping file {path!r} cannot be read: {error}.") from None
    if not isinstance(value, dict):
        raise UsageError(f"The mapping file {path!r} holds {type(value).__name__}, expected a mapping.")
    return value


def references(text: str | None) -> Reference | dict[str, Reference] | None:
    """`--reference`: one for all trajectories, or a mapping from trajectory id or group to one.

    A file (or text) that is `{"references": {ID: REFERENCE, ...}}` is such a mapping; JSON Lines of
    `{"trajectory_id"|"group": ID, ...reference}` too; anything else is one reference.
    """
    if text is None:
        return None
    from judge.metrics import parse_reference

    values = _json_or_lines(text)
    if isinstance(values, dict) and set(values) == {"references"}:
        return {str(key): parse_reference(value) for key, value in values["references"].items()}
    if isinstance(values, list) and values and all(isinstance(v, dict) and _key(v) for v in values):
        return {
            str(_key(v)): parse_reference({k: x for k, x in v.items() if k not in ("trajectory_id", "group")})
            for v in values
        }
    return parse_reference(values)


def _key(value: dict[str, Any]) -> Any:
    return value.get("trajectory_id") or value.get("group")


def _json_or_lines(text: str) -> Any:
    source = text
    if not text.lstrip().startswith(("[", "{", '"')):
        path = Path(text)
        if not path.is_file():
            raise UsageError(
                f"--reference is {text!r}: neither JSON nor a file.",
                hint='Give a JSON file, or JSON such as \'["tool_call:search_docs", "final"]\'.',
            )
        source = path.read_text(encoding="utf-8-sig")
    try:
        return json.loads(source)
    except json.JSONDecodeError:
        pass
    try:
        return [json.loads(line) for line in source.split("\n") if line.strip()]
    except json.JSONDecodeError as error:
        raise UsageError(f"--reference does not parse as JSON or JSON Lines: {error}.") from None


def text_file(path: str | None, what: str) -> str | None:
    """The text of a file, or None when no path was given."""
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The {what} file {path!r} cannot be read: {error}.") from None


def probe_report(path: str) -> ProbeReport:
    """The report that `judge probe --out` wrote.

    Raises:
        UsageError: The file does not read, or holds another thing.
    """
    from pydantic import ValidationError

    from judge.types.probe import ProbeReport

    try:
        return ProbeReport.model_validate_json(Path(path).read_bytes())
    except (OSError, ValidationError) as error:
        raise UsageError(
            f"--probes is {path!r}, which is no probe report: {str(error).splitlines()[0]}.",
            hint="Give the probe.json that `judge probe --out DIR` writes.",
        ) from None
