"""What callers may hand over as a trajectory: a record, its JSON, a path, a list of messages or events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from judge import registry
from judge.errors import TraceError, UsageError
from judge.importers import load
from judge.importers.detect import choose, rank
from judge.importers.mapping import Vocabulary
from judge.protocols import Head, Importer
from judge.types.reference import Reference
from judge.types.trajectory import Trajectory

TrajectoryLike = Trajectory | Mapping[str, Any] | list[Any] | tuple[Any, ...] | str | Path
"""A trajectory, its JSON, any trace of a known format as decoded JSON, or the path of a file."""


def as_trajectory(given: TrajectoryLike) -> Trajectory:
    """The one trajectory that `given` holds.

    Raises:
        TraceError: It is no trace of a known format, or a file with more than one trajectory.
    """
    if isinstance(given, Trajectory):
        return given
    if isinstance(given, str | Path):
        found = list(_first_two(load(given, limit=2)))
        where = repr(str(given))
    else:
        found = list(_first_two(_decoded(given)))
        where = "the value given"
    if len(found) != 1:
        raise TraceError(
            f"One trajectory was needed, and {where} holds {'more' if found else 'none'}.",
            hint="Use score_many for a file of many." if found else "",
        )
    return found[0]


def as_trajectories(given: str | Path | Iterable[TrajectoryLike]) -> Iterable[Trajectory]:
    """Trajectories one by one: of a file, or of each item. A list of records keeps its length."""
    if isinstance(given, str | Path):
        return load(given)
    if hasattr(given, "to_dict") and not isinstance(given, Trajectory):  # a table, which would give its columns' names
        raise UsageError(f"A {type(given).__name__} was given.", hint="Give its rows: table.to_dict('records').")
    if not isinstance(given, Iterable):
        raise UsageError(f"score_many takes many trajectories, and found a {type(given).__name__}.")
    if isinstance(given, Trajectory | Mapping):
        raise UsageError("score_many takes many trajectories, and one was given.", hint="Use score for one.")
    if isinstance(given, list | tuple) and all(isinstance(item, Trajectory) for item in given):
        return given
    return map(as_trajectory, given)


def as_reference(given: Any) -> Reference | Mapping[str, Reference] | None:
    """A reference, or a mapping from trajectory id or group to one, from what a caller may write."""
    if given is None or isinstance(given, Reference):
        return given
    if isinstance(given, Mapping) and given and all(isinstance(value, Reference) for value in given.values()):
        return given
    from judge.metrics import parse_reference

    return parse_reference(given)


def _first_two(found: Iterable[Trajectory]) -> Iterator[Trajectory]:
    for count, trajectory in enumerate(found):
        yield trajectory
        if count:
            return


def _decoded(value: Any) -> Iterator[Trajectory]:
    if not isinstance(value, Mapping | list | tuple):
        raise TraceError(
            f"A trajectory was needed, and a {type(value).__name__} was given.",
            hint="Give a Trajectory, its JSON, messages or events as a list, or the path of a file.",
        )
    if isinstance(value, Mapping) and str(value.get("schema", "")).startswith("judge.trajectory/"):
        try:
            yield Trajectory.from_json(value)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise TraceError(f"The trajectory does not fit its schema at {where!r}: {first['msg']}.") from None
        return
    records = tuple(value) if isinstance(value, list | tuple) else (value,)
    head, words = Head(whole=value, records=records[:60]), Vocabulary()
    where = "the value given"
    best: Importer = registry.find("importers", choose(rank(head, words), head, words, where))
    yield from best.read([(where, value)], path=None, mapping=None)
