"""A file to trajectories: opened, recognised, read, each with what was odd about its lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from judge.importers.detect import choose, rank, unusable
from judge.importers.dialects.native import quick_native
from judge.importers.format import Format
from judge.importers.mapping import read_mapping
from judge.importers.source import Document, Fault, open_document
from judge.protocols import Candidate, Importer
from judge.registry import find
from judge.types.trajectory import Diagnostic, Outcome, Trajectory

_LINES = re.compile(r"(?:lines?|document) (\d+)(?:-(\d+))?")


class Opened(NamedTuple):
    """A file whose format is found.

    Attributes:
        candidates: Every claim on the file, best first; empty where the format was given.
        trajectories: Read as they are taken, once.
    """

    format: str
    candidates: tuple[Candidate, ...]
    trajectories: Iterator[Trajectory]


def load(
    path: str | Path,
    *,
    format: str | None = None,
    mapping: Mapping[str, Any] | None = None,
    limit: int | None = None,
    unique: bool = True,
    unread: Callable[[Diagnostic], None] | None = None,
) -> Iterator[Trajectory]:
    """Trajectories of one file, as they are read; "-" is standard input.

    The file is opened and its format found before this returns. JSON Lines with a run to a line is read in
    flat memory, but for the ids.

    Args:
        format: Name of an importer, instead of detection.
        mapping: A mapping file's content, for logs with names of their own.
        limit: At most so many trajectories.
        unique: Make ids unique within the file, for which all of them are held in memory; False leaves them as they
            stand, for a caller who looks for repeats.
        unread: Takes a note on each line of this file that is no JSON, or nothing of a run, as it is met; a trajectory
            beside it has it too.

    Raises:
        TraceError: The file cannot be read, or nothing in it is a trajectory. It may come late, from the iterator.
        AmbiguousFormat: Two formats fit equally well.
        UnknownName: No importer is called `format`.
    """
    return open_trace(path, format=format, mapping=mapping, limit=limit, unique=unique, unread=unread).trajectories


def open_trace(
    path: str | Path,
    *,
    format: str | None = None,
    mapping: Mapping[str, Any] | None = None,
    limit: int | None = None,
    unique: bool = True,
    unread: Callable[[Diagnostic], None] | None = None,
) -> Opened:
    """As `load`, with the format that was found and the claims of all."""
    words = read_mapping(mapping)
    importer: Importer | None = find("importers", format) if format is not None else None
    document = open_document(path)
    candidates: tuple[Candidate, ...] = ()
    if importer is None:
        candidates = rank(document.head, words)
        importer = find("importers", choose(candidates, document.head, words, document.shown))
    if importer.name == "native" and document.head.lines:
        document.shortcut.parse = quick_native
    found = _Reading(document, importer, mapping, unread).run()
    if unique:
        found = _numbered(found)
    return Opened(importer.name, candidates, found if limit is None else islice(found, max(limit, 0)))


def _numbered(trajectories: Iterator[Trajectory]) -> Iterator[Trajectory]:
    """The same with unique ids: a repeated one gets #2, #3 and so on, and a diagnostic."""
    seen: dict[str, int] = {}
    for trajectory in trajectories:
        name = trajectory.id
        if name in seen:
            number = seen[name] + 1
            while f"{name}#{number}" in seen:
                number += 1
            seen[name] = number
            text = f"the id {name!r} stands for {number} trajectories of this file"
            note = Diagnostic(code="DUPLICATE_TRAJECTORY_ID", message=text)
            changed = {"id": f"{name}#{number}", "diagnostics": (*trajectory.diagnostics, note)}
            trajectory = trajectory.model_copy(update=changed)
        seen[trajectory.id] = 1
        yield trajectory


class _Reading:
    """One pass over a document, with what was odd about a line handed to the trajectory it belongs to."""

    def __init__(
        self,
        document: Document,
        importer: Importer,
        mapping: Mapping[str, Any] | None,
        unread: Callable[[Diagnostic], None] | None,
    ) -> None:
        self._unread = unread
        self._document = document
        self._importer = importer
        self._mapping = mapping
        self._odd: list[tuple[int | None, Diagnostic]] = []

    def run(self) -> Iterator[Trajectory]:
        document = self._document
        how = {"passed_over": self._passed_over} if isinstance(self._importer, Format) else {}
        found = self._importer.read(self._records(), path=document.path, mapping=self._mapping, **how)
        before: Trajectory | None = None
        empty: list[Trajectory] = []
        usable = False
        for trajectory in found:
            if self._importer.name != "native":
                source = trajectory.source.model_copy(update={"sha256": document.sha256})
                trajectory = trajectory.model_copy(update={"source": source})
            earlier: list[Diagnostic] = []
            mine: list[Diagnostic] = []
            if self._odd:
                first, last = _span(trajectory.source.locator)
                earlier = self._take(-1 if first is None else first - 1)
                mine = self._take(last, unplaced=True)
            if before is not None:
                yield _with(before, earlier)
                earlier = []
            before = _with(trajectory, [*earlier, *mine])
            if not before.steps and not usable:
                empty.append(before)
                before = None
            else:
                usable = True
                yield from empty
                empty.clear()
        if before is None:
            raise unusable(document.head, document.shown)
        yield _ended(before, [note for _, note in self._odd])

    def _records(self) -> Iterator[tuple[str, Any]]:
        for entry in self._document:
            if isinstance(entry, Fault):
                self._tell(entry.line, Diagnostic(code=entry.code, message=entry.message))
                continue
            for note in entry.notes:
                where = f"line {entry.line}: " if entry.line is not None else ""
                self._odd.append((entry.line, Diagnostic(code=note.code, message=where + note.message)))
            yield entry.locator, entry.value

    def _passed_over(self, locator: str) -> None:
        note = Diagnostic(code="NOT_A_RUN", message=f"{locator} holds nothing of a run and was passed over")
        self._tell(_span(locator)[0], note)

    def _tell(self, line: int | None, note: Diagnostic) -> None:
        self._odd.append((line, note))
        if self._unread is not None:
            self._unread(note)

    def _take(self, last: int | None, *, unplaced: bool = False) -> list[Diagnostic]:
        """Takes the notes up to line `last` (None for all of them), and those that have no line."""
        mine: list[Diagnostic] = []
        kept: list[tuple[int | None, Diagnostic]] = []
        for line, note in self._odd:
            if unplaced if line is None else last is None or line <= last:
                mine.append(note)
            else:
                kept.append((line, note))
        self._odd = kept
        return mine


def _span(locator: str | None) -> tuple[int | None, int | None]:
    found = _LINES.match(locator or "")
    if not found:
        return None, None
    return int(found[1]), int(found[2] or found[1])


def _with(trajectory: Trajectory, notes: list[Diagnostic]) -> Trajectory:
    if not notes:
        return trajectory
    return trajectory.model_copy(update={"diagnostics": (*trajectory.diagnostics, *notes)})


def _ended(trajectory: Trajectory, notes: list[Diagnostic]) -> Trajectory:
    """The last trajectory; incomplete where its own last line is cut off."""
    trajectory = _with(trajectory, notes)
    several_lines = (trajectory.source.locator or "").startswith("lines ")
    if several_lines and any(note.code == "TRUNCATED_TAIL" for note in notes):
        reason = trajectory.outcome.stop_reason if trajectory.outcome else None
        return trajectory.model_copy(update={"outcome": Outcome(status="incomplete", stop_reason=reason)})
    return trajectory
