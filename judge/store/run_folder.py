"""A run on disk: manifest, verdicts appended one by one, and an index, so that a kill at any moment loses nothing.

::

    DIR/manifest.json    what the run is about; never changed by a later session but for its settings
    DIR/results.jsonl    verdicts in the order of finishing; append-only; the newest valid one of a trajectory counts
    DIR/index.sqlite     which trajectories are done and where their verdicts lie; built again when lost
    DIR/summary.json     of the verdicts that count, written at the end of a session
    DIR/run.lock         held by the one writer
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
from pydantic import ValidationError

from judge.errors import FingerprintMismatch, UsageError
from judge.store.index import INDEX, Counts, Index, Line, Spend, short
from judge.store.lock import LOCK, FolderLock
from judge.store.manifest import (
    MANIFEST,
    NEW,
    Manifest,
    check_folder_name,
    identity_changes,
    input_changes,
    read_manifest,
    write_whole,
)
from judge.types.record import fingerprint
from judge.types.trajectory import Trajectory
from judge.types.verdict import Verdict

RESULTS = "results.jsonl"
SUMMARY = "summary.json"
PEOPLE = "people.jsonl"
"""Verdicts of a run that wait for a person, written anew at the end of each session."""
OWN = {MANIFEST, RESULTS, SUMMARY, INDEX, f"{INDEX}-wal", f"{INDEX}-shm", LOCK}
"""All files of a run that left no requests at a provider. One that ended before its first verdict is begun anew."""
LISTED = 20
"""Duplicate ids named in the error; the rest is counted."""
BLOCK = 64
"""Trajectories looked up together."""


class RunFolder:
    """A run folder, open for writing by `start` or for reading by `read`. Use as a context manager.

    Attributes:
        manifest: Of this session.
        resumed: Whether an earlier session was found.
    """

    def __init__(self, path: Path, manifest: Manifest, index: Index, *, lock: FolderLock | None, resumed: bool) -> None:
        self.path = path
        self.manifest = manifest
        self.resumed = resumed
        self._lock = lock
        self._index = index
        self._file = -1
        self._size = index.catch_up(path / RESULTS, _prints(manifest))
        self._appended = 0

    @classmethod
    def start(cls, path: Path, manifest: Manifest, *, resume: bool = False, new_input: bool = False) -> Self:
        """Opens a folder for writing: a new one, or with `resume` one that is there.

        Args:
            new_input: Take an input that differs from the earlier session's: trajectories that are new or
                changed are judged, the rest is kept.

        Raises:
            UsageError: There is a run that came to something and `resume` is not given; or the folder is in use,
                holds other files, or cannot be written; or the input changed and `new_input` is not given.
            FingerprintMismatch: Rubric, judge, policy or references changed; the message says how.
        """
        check_folder_name(path)
        found = resume and (path / MANIFEST).is_file()
        if not found:
            _check_free(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"The folder {str(path)!r} cannot be made: {error.strerror or error}.",
                hint="Choose another folder with --out.",
            ) from None
        lock = FolderLock(path)
        try:
            if found:
                _check(path, read_manifest(path), manifest, new_input=new_input)
                manifest = manifest.model_copy(update={"created": read_manifest(path).created})
            try:
                if not found:
                    _check_free(path)  # another process may have come and gone
                    for name in (RESULTS, SUMMARY, INDEX, f"{INDEX}-wal", f"{INDEX}-shm"):
                        (path / name).unlink(missing_ok=True)
                write_whole(path / MANIFEST, json.dumps(manifest.to_json(), ensure_ascii=False, indent=2) + "\n")
                index = Index(path / INDEX)
            except OSError as error:
                raise cannot_write(path, error) from None
            return cls(path, manifest, index, lock=lock, resumed=found)
        except BaseException:
            lock.close()
            raise

    @classmethod
    def read(cls, path: Path) -> Self:
        """Opens a run for reading, also while another process writes it."""
        return cls(path, read_manifest(path), Index(path / INDEX, read_only=True), lock=None, resumed=True)

    # -- the input ---------------------------------------------------------------------------------------------

    def scan(self, trajectories: Iterable[Trajectory]) -> bool:
        """Takes down ids and contents of the input, where that was not done yet; says whether it was read.

        Raises:
            UsageError: Ids stand twice; the message lists them. A folder that was new is taken away again.
        """
        wanted = fingerprint([self.manifest.reading, [file.sha256 for file in self.manifest.inputs]])
        if self._index.fact("input") == wanted:
            return False
        new = not self.resumed  # then nothing was judged that the content has to be compared with
        items = ((run.id, None if new else short(run.content_fingerprint)) for run in trajectories)
        try:
            twice = self._index.scan(items, print_of_input=wanted)
            names = list(dict.fromkeys(name for name, _, _ in twice))
            if names:
                more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
                raise UsageError(
                    f"Ids that stand for more than one trajectory ({len(names)}): "
                    f"{', '.join(map(repr, names[:LISTED]))}{more}.",
                    hint="Give each trajectory its own id; verdicts and labels are joined by it.",
                )
        except BaseException:
            if not self.resumed:
                self._take_away()
            raise
        return True

    def unread(self, lines: int) -> None:
        """Remembers how many lines of the input hold no trajectory, so that none is missing in silence."""
        self._index.unread(lines)

    def _take_away(self) -> None:
        self.close()
        for name in (MANIFEST, INDEX, LOCK):
            with contextlib.suppress(OSError):
                (self.path / name).unlink()
        with contextlib.suppress(OSError):
            self.path.rmdir()

    def pending(self, trajectories: Iterable[Trajectory]) -> Iterator[Trajectory]:
        """Those of the input that still need a verdict, in order."""
        self._commit()
        return self._pending(iter(trajectories))

    def _pending(self, trajectories: Iterator[Trajectory]) -> Iterator[Trajectory]:
        broken: Exception | None = None
        while broken is None:
            block: list[Trajectory] = []
            try:
                block.extend(islice(trajectories, BLOCK))
            except Exception as error:  # what was read before it comes first
                broken = error
            if not block and broken is None:
                return
            needed = self._index.pending_of([trajectory.id for trajectory in block])
            yield from (trajectory for trajectory in block if trajectory.id in needed)
        raise broken

    def holds(self, trajectory: Trajectory) -> bool:
        """Whether there is a verdict on exactly this trajectory that is no error; the input's list is not asked."""
        return self._index.judged(trajectory.id) == short(trajectory.content_fingerprint)

    def n_pending(self) -> int:
        """How many still need a verdict; found without reading the input."""
        return self._index.pending()

    # -- the results -------------------------------------------------------------------------------------------

    def append(self, verdict: Verdict) -> None:
        """Writes one verdict and hands it to the operating system before it counts as done.

        A line that could be written only in part is taken back, so that the file stays readable.

        Raises:
            UsageError: The disk is full, or the file cannot be written.
        """
        line = orjson.dumps(verdict.to_json()) + b"\n"
        try:
            if self._file < 0:
                self._open()
            written = 0
            while written < len(line):
                written += write_some(self._file, line[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                if self._file >= 0:
                    os.ftruncate(self._file, self._size)
            raise cannot_write(self.path / RESULTS, error) from None
        prints = verdict.fingerprints
        place = Line(verdict.trajectory_id, verdict.status, short(prints["trajectory"]), self._size, len(line))
        self._size += len(line)
        self._appended += 1
        with contextlib.suppress(sqlite3.OperationalError):  # a full disk: the index is derived, and catches up later
            self._index.add(place, calls=verdict.calls, cost_usd=verdict.cost_usd, at_most_usd=verdict.at_most_usd)

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._file = os.open(self.path / RESULTS, flags, 0o644)
        end = os.lseek(self._file, 0, os.SEEK_END)
        if end > self._size:  # the last line was torn: it gets an end, and spoils only itself
            os.write(self._file, b"\n")
            self._size = end + 1
            self._index.bad_line()

    def verdicts(self) -> Iterator[Verdict]:
        """The verdicts that count, in the order of the input."""
        for raw in self.lines():
            try:
                yield Verdict.from_json(orjson.loads(raw))
            except (orjson.JSONDecodeError, ValidationError):
                raise UsageError(
                    f"A verdict in {str(self.path / RESULTS)!r} was changed after it was written.",
                    hint=f"Remove {INDEX}, then run with --resume: what cannot be read is judged again.",
                ) from None

    def lines(self) -> Iterator[bytes]:
        """As `verdicts`, as lines of JSON without being read."""
        self._commit()
        if not (self.path / RESULTS).is_file():
            return
        with (self.path / RESULTS).open("rb") as file:
            for offset, length in self._index.places():
                file.seek(offset)
                yield file.read(length)

    def page(self, after: int, limit: int, *, ended: bool = True) -> list[tuple[int, bytes]]:
        """Position in the input (from 1) and verdict line of at most `limit` items after the position `after`.

        Args:
            ended: Whether nothing more is judged; while more is, the page ends before the first item without verdict.
        """
        self._commit()
        places = self._index.page(after, limit, whole=ended)
        if not places:
            return []
        with (self.path / RESULTS).open("rb") as file:
            found = []
            for position, offset, length in places:
                file.seek(offset)
                found.append((position, file.read(length)))
        return found

    def counts(self) -> Counts:
        """How far the run is."""
        self._commit()
        return self._index.counts()

    def _commit(self) -> None:
        try:
            self._index.commit(self._size)
        except sqlite3.OperationalError as error:
            raise cannot_write(self.path / INDEX, OSError(0, str(error))) from None

    def spend(self) -> Spend:
        """What all verdicts ever written here cost."""
        return self._index.spend()

    # -- the end -----------------------------------------------------------------------------------------------

    def save_summary(self, summary: dict[str, Any]) -> None:
        """Writes summary.json, bound to the results and the input that it was made from."""
        bound = {"results_bytes": self._size, "input": self._index.fact("input")}
        text = json.dumps({**bound, **summary}, ensure_ascii=False, indent=2, allow_nan=False)
        try:
            write_whole(self.path / SUMMARY, text + "\n")
        except OSError as error:
            raise cannot_write(self.path / SUMMARY, error) from None

    def saved_summary(self) -> dict[str, Any] | None:
        """The summary of an earlier session, where no verdict has come and the input is the same since; else None."""
        try:
            value = json.loads((self.path / SUMMARY).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(value, dict) or value.pop("results_bytes", None) != self._size:
            return None
        if value.pop("input", None) != self._index.fact("input"):
            return None
        return value

    def close(self) -> None:
        """Writes the index, hands everything to the disk and lets the folder go."""
        try:
            if self._file >= 0:
                with contextlib.suppress(sqlite3.OperationalError):
                    self._index.commit(self._size)
                with contextlib.suppress(OSError):
                    os.fsync(self._file)
                os.close(self._file)
                self._file = -1
            self._index.close()
        finally:
            if self._lock is not None:
                self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


write_some = os.write
"""How bytes reach the results file; may write fewer than given."""


def cannot_write(path: Path, error: OSError) -> UsageError:
    """The error for a run that cannot be written; what was written stays."""
    return UsageError(
        f"{str(path)!r} cannot be written: {error.strerror or error}.",
        hint="Finished verdicts are kept. Make room or give a folder that can be written, then run with --resume.",
    )


def find_runs(root: Path) -> list[Path]:
    """Run folders at `root` and up to two folders below it, by name."""
    return [path for path, why in found_manifests(root) if why is None]


def found_manifests(root: Path) -> Iterator[tuple[Path, str | None]]:
    """Run folders at `root` and up to two folders below it, by name; and why one's manifest cannot be read, or None."""
    found = {path.parent for pattern in ("", "*/", "*/*/") for path in root.glob(f"{pattern}{MANIFEST}")}
    for path in sorted(found):
        try:
            read_manifest(path)
        except UsageError as error:
            if (path / INDEX).is_file():  # others have a manifest.json as well
                yield path, error.message
        else:
            yield path, None


def _check_free(path: Path) -> None:
    """A run can begin in a folder that holds nothing, or a run that ended before its first verdict.

    Raises:
        UsageError: It holds something else.
    """
    files = path.iterdir() if path.is_dir() else iter(())
    names = {file.name for file in files if not file.name.startswith(NEW)}  # what a killed process was writing
    if names - OWN and MANIFEST not in names:
        raise UsageError(
            f"The folder {str(path)!r} holds other files and no run.", hint="Give a new or empty folder with --out."
        )
    if names - OWN or (RESULTS in names and (path / RESULTS).stat().st_size):
        raise UsageError(
            f"There is a run in {str(path)!r} already.",
            hint="Give --resume to go on with it, or another folder with --out.",
        )


def _prints(manifest: Manifest) -> dict[str, str]:
    return {name: manifest.fingerprints[name] for name in ("rubric", "judge") if name in manifest.fingerprints}


def _check(path: Path, old: Manifest, new: Manifest, *, new_input: bool) -> None:
    changed = identity_changes(old, new)
    if changed:
        raise FingerprintMismatch(
            f"The run in {str(path)!r} was another one: {'; '.join(changed)}.",
            hint="Verdicts of different origin are not mixed: give a new folder with --out, or undo the change.",
        )
    changed = input_changes(old, new)
    if changed and not new_input:
        raise UsageError(
            f"The input of the run in {str(path)!r} has changed: {'; '.join(changed)}.",
            hint="Give --new-input to judge what is new or changed and keep the rest, or another folder with --out.",
        )
