"""Verdicts as JSON Lines: appended and flushed one by one, so that a run that dies loses nothing finished."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import orjson
from pydantic import ValidationError

from judge.errors import UsageError
from judge.store.manifest import beside
from judge.types.record import Record
from judge.types.verdict import Verdict

Key = tuple[str, str, str, str, str]


class VerdictWriter:
    """Appends verdicts to a file, each flushed when it is written. Use as a context manager.

    A last line that an earlier run left unfinished is closed off first, so that it spoils only itself.

    Raises:
        UsageError: The file cannot be opened for appending.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            torn = _is_torn(self.path)
            self._file: IO[bytes] = self.path.open("ab")
        except OSError as error:
            raise UsageError(
                f"Verdicts cannot be written to {str(path)!r}: {error.strerror or error}.",
                hint="Name a file in a folder that can be written.",
            ) from None
        if torn:
            self._file.write(b"\n")

    def append(self, verdict: Verdict) -> None:
        """Writes one verdict as one line and hands it to the operating system."""
        self._file.write(orjson.dumps(verdict.to_json()) + b"\n")
        self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class BadLine(Record):
    """A line that is no verdict: torn by a crash, or of another kind."""

    number: int
    message: str


class StoredVerdicts(Record):
    """What a file of verdicts holds.

    Attributes:
        verdicts: One for each key, in the order in which the keys first appear.
        replaced: Lines left out because a later one of the same key took their place.
        bad: Lines that are no verdict, counted and never guessed at.
    """

    verdicts: tuple[Verdict, ...]
    replaced: int
    bad: tuple[BadLine, ...]


def read_verdicts(path: str | Path) -> StoredVerdicts:
    """The newest verdict of each key (see `key_of`).

    A later line replaces an earlier one, except that a verdict with status "error" never replaces one
    that was judged: a failure later on does not undo it.

    Raises:
        UsageError: The file cannot be read.
    """
    newest: dict[Key, Verdict] = {}
    bad: list[BadLine] = []
    replaced = 0
    for found in each_line(path):
        if isinstance(found, BadLine):
            bad.append(found)
            continue
        key = key_of(found)
        known = newest.get(key)
        replaced += known is not None
        if known is None or found.status != "error" or known.status == "error":
            newest[key] = found
    return StoredVerdicts(verdicts=tuple(newest.values()), replaced=replaced, bad=tuple(bad))


def each_line(path: str | Path) -> Iterator[Verdict | BadLine]:
    """The verdict on each line, or what is wrong with it, one at a time; empty lines are passed over."""
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield _read(number, line)
    except OSError as error:
        raise UsageError(
            f"The verdicts in {str(path)!r} cannot be read: {error.strerror or error}.",
            hint="Check the path; `judge score --out FILE` writes such a file.",
        ) from None


def key_of(verdict: Verdict) -> Key:
    """What makes two verdicts answers to the same question: trajectory, rubric and judge, by name and content."""
    prints = verdict.fingerprints
    return (
        verdict.trajectory_id,
        prints.get("trajectory", ""),
        prints.get("rubric", verdict.rubric),
        prints.get("judge", verdict.judge),
        "/".join(prints.get(name, "") for name in ("reference", "policy")),
    )


def write_verdicts(path: str | Path, verdicts: Iterable[Verdict]) -> int:
    """Writes a whole file and gives the number of verdicts; readers see the old file or the new one, never a part.

    Raises:
        UsageError: The folder cannot be written.
    """
    target = Path(path)
    count = 0
    temporary = beside(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            for verdict in verdicts:
                file.write(orjson.dumps(verdict.to_json()) + b"\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        raise UsageError(f"Verdicts cannot be written to {str(path)!r}: {error.strerror or error}.") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return count


def _is_torn(path: Path) -> bool:
    """Whether the file's last line has no end."""
    try:
        with path.open("rb") as file:
            if file.seek(0, os.SEEK_END) == 0:
                return False
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
    except FileNotFoundError:
        return False


def _read(number: int, line: bytes) -> Verdict | BadLine:
    try:
        return Verdict.from_json(orjson.loads(line))
    except orjson.JSONDecodeError as error:
        return BadLine(number=number, message=f"not JSON: {error}")
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return BadLine(number=number, message=f"not a verdict at {where!r}: {first['msg']}")
