"""Bytes of a file or of standard input into decoded records that know their place."""

from __future__ import annotations

import gzip
import hashlib
import io
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import zstandard

from judge.errors import TraceError
from judge.importers.archive import folder_members, read_archive
from judge.importers.decoding import Decoded, Note, NotJson, decode, decode_many
from judge.importers.text import lines_of, refuse_foreign
from judge.protocols import Head

MAX_WHOLE = 512 * 2**20
"""Largest file that is read as one JSON value, in bytes. JSON Lines has no limit."""
MAX_LINE = 256 * 2**20
"""Longest line of a JSON Lines file, in bytes."""
MAX_UNPACKED = 2 * 2**30
"""Most bytes that a packed file may unpack to."""
HEAD = 60
"""Records that detection looks at."""
HEAD_BYTES = 8 * 2**20
"""Size in bytes after which detection looks at no more records."""
WHOLE = "whole file"

_EXPECTED = "Expected one JSON value or JSON Lines in UTF-8 or UTF-16."


class Entry(NamedTuple):
    """A decoded record.

    Attributes:
        line: Of the file, from 1; None where the file is not read by lines.
        size: Bytes that the record took, 0 where that is not known.
    """

    locator: str
    line: int | None
    value: Any
    notes: tuple[Note, ...] = ()
    size: int = 0


class Fault(NamedTuple):
    """A line that could not be read, and was passed over."""

    line: int
    code: str
    message: str


class Shortcut:
    """A quicker way from a line to what a format makes of it, set once the format is known; it may pass lines over."""

    def __init__(self) -> None:
        self.parse: Callable[[bytes], Any] | None = None


class Document:
    """One opened file: what detection sees, then its records, once.

    Attributes:
        shown: The path as given, or "standard input".
        sha256: Of the file's bytes, read for it when it is first asked for; None for standard input.
        head: The first records.
        shortcut: For the lines behind those of the head.
    """

    def __init__(
        self,
        path: Path | None,
        shown: str,
        sha256: str | None,
        head: Head,
        entries: Iterator[Entry | Fault],
        shortcut: Shortcut,
    ) -> None:
        self.path = path
        self.shown = shown
        self._sha256 = sha256
        self.head = head
        self.shortcut = shortcut
        self._entries = entries

    @property
    def sha256(self) -> str | None:
        if self._sha256 is None and self.path is not None:
            try:
                self._sha256 = _sha256(self.path)
            except OSError as error:
                raise TraceError(f"{self.shown} cannot be read: {error}.") from None
        return self._sha256

    def __iter__(self) -> Iterator[Entry | Fault]:
        return self._entries


def open_document(path: str | Path) -> Document:
    """A file's records, or those of standard input for "-".

    JSON Lines is told from whole-file JSON by its first line, whatever the file's name, and is read line by
    line, split at the newline character only, in memory that does not grow with the file.

    Raises:
        TraceError: The file does not exist, is empty, is no JSON, or is of a kind that is not read here.
    """
    if str(path) == "-":
        return _open(None, "standard input", sys.stdin.buffer)
    file = Path(path)
    if file.is_dir():
        return _open_folder(file, str(path))
    try:
        stream: IO[bytes] = file.open("rb")
    except (OSError, ValueError) as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
        raise TraceError(f"{str(path)!r} {reason}.", hint="Expected a trace file, or - for standard input.") from None
    try:
        document = _open(file, str(path), stream)
    except BaseException:
        stream.close()
        raise
    weakref.finalize(document, stream.close)
    return document


def _open_folder(folder: Path, shown: str) -> Document:
    """A run that is a folder: all its events as one list, or a record a file."""
    members, one_run = folder_members(folder)
    if not members:
        raise TraceError(f"{shown!r} is a folder.", hint="Give the trace files in it, one by one or by a pattern.")
    digest = hashlib.sha256()
    for member in members:
        digest.update(member.name.encode("utf-8", "replace") + b"\0" + bytes.fromhex(_sha256(member)))
    entries = _one_entry(members, shown) if one_run else (_file_entry(member, shown) for member in members)
    return _document(folder, shown, digest.hexdigest(), entries)


def _one_entry(members: list[Path], shown: str) -> Iterator[Entry | Fault]:
    read = [_file_entry(member, shown) for member in members]
    yield Entry(WHOLE, None, [entry.value for entry in read], tuple(note for entry in read for note in entry.notes))


def _file_entry(member: Path, shown: str) -> Entry:
    if member.stat().st_size > MAX_LINE:
        raise TraceError(f"{shown}, {member.name}: more than {MAX_LINE // 2**20} MiB.")
    return _entry_of(member.name, member.read_bytes(), shown)


def _entry_of(name: str, data: bytes, shown: str) -> Entry:
    try:
        found = decode(data)
    except NotJson as error:
        raise _not_json(error, f"{shown}, {name}") from None
    return Entry(name, None, found.value, found.notes, len(data))


def _samples(file: IO[bytes], shown: str) -> Iterator[Entry | Fault]:
    """The samples of an Inspect archive, each as a log of its own."""
    for name, data, head in read_archive(file, shown, max_member=MAX_WHOLE, max_total=MAX_UNPACKED):
        about = _entry_of("header", head or b"{}", shown).value
        entry = _entry_of(name, data, shown)
        around = about if isinstance(about, dict) else {}
        log = {"version": around.get("version"), "plan": None, "eval": {}, **around, "samples": [entry.value]}
        yield entry._replace(value=log)


def _open(path: Path | None, shown: str, raw: IO[bytes]) -> Document:
    stream = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, raw))
    start = stream.peek(4096)[:4096]
    if start[:2] == b"\x1f\x8b":
        stream = io.BufferedReader(_Capped(gzip.GzipFile(fileobj=stream), shown))
        try:
            start = stream.peek(4096)[:4096]
        except (OSError, EOFError, gzip.zlib.error) as error:  # type: ignore[attr-defined]
            raise TraceError(f"{shown}: is gzip and does not unpack: {error}.") from None
    if start[:4] == b"\x28\xb5\x2f\xfd":
        packed = zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
        stream = io.BufferedReader(_Capped(packed, shown))
        try:
            start = stream.peek(4096)[:4096]
        except zstandard.ZstdError as error:
            raise TraceError(f"{shown}: is zstd and does not unpack: {error}.") from None
        if not start:
            raise TraceError(f"{shown}: is zstd and unpacks to nothing.", hint=_EXPECTED)
    if start[:4] == b"PK\x03\x04" and path is not None:
        return _document(path, shown, None, _samples(stream, shown))
    refuse_foreign(start, shown)
    lines = _guarded(lines_of(stream, start, shown, longest=MAX_LINE), shown)
    shortcut = Shortcut()
    return _document(path, shown, None, _entries(lines, shown, shortcut), shortcut)


def _document(
    path: Path | None,
    shown: str,
    sha256: str | None,
    entries: Iterator[Entry | Fault],
    shortcut: Shortcut | None = None,
) -> Document:
    first: list[Entry | Fault] = []
    records: list[Any] = []
    size = 0
    for entry in entries:
        first.append(entry)
        if isinstance(entry, Entry):
            records.append(entry.value)
            size += entry.size
            if len(records) >= HEAD or size >= HEAD_BYTES or entry.line is None:
                break
    if not records:
        detail = f" {first[0].message}" if first and isinstance(first[0], Fault) else ""
        raise TraceError(f"{shown}: no line of it is JSON.{detail}", hint=_EXPECTED)
    whole = records[0] if isinstance(first[-1], Entry) and first[-1].line is None else None
    if whole is not None:
        records = whole[:HEAD] if isinstance(whole, list) else [whole]
    head = Head(whole=whole, records=tuple(records), lines=whole is None)
    return Document(path, shown, sha256, head, _chained(first, entries), shortcut or Shortcut())


def _chained(first: list[Entry | Fault], rest: Iterator[Entry | Fault]) -> Iterator[Entry | Fault]:
    while first:
        yield first.pop(0)
    yield from rest


def _entries(lines: Iterator[bytes], shown: str, shortcut: Shortcut) -> Iterator[Entry | Fault]:
    opening: list[bytes] = []
    for line in lines:
        opening.append(line)
        if line.strip():
            break
    if not any(line.strip() for line in opening):
        raise TraceError(f"{shown}: is empty.", hint=_EXPECTED)
    try:
        first = decode(opening[-1])
    except NotJson:
        first = None
    following = next((line for line in lines if line.strip()), None) if first is not None else None
    if first is not None and following is None:
        yield Entry(WHOLE, None, first.value, first.notes)
        return
    if first is None or following is None:
        yield from _whole(opening, lines, shown)
        return
    number = len(opening)
    yield Entry(f"line {number}", number, first.value, first.notes, len(opening[-1]))
    yield from _rest_of_lines(following, number + 1, lines, shortcut)


def _rest_of_lines(
    line: bytes | None, number: int, lines: Iterator[bytes], shortcut: Shortcut
) -> Iterator[Entry | Fault]:
    while line is not None:
        after = next(lines, None)
        if line.strip():
            quick = shortcut.parse(line) if shortcut.parse is not None else None
            yield (
                _line(line, number, last=after is None)
                if quick is None
                else Entry(f"line {number}", number, quick, (), len(line))
            )
        line, number = after, number + 1


def _line(line: bytes, number: int, *, last: bool) -> Entry | Fault:
    try:
        found = decode(line)
    except NotJson as error:
        if last and error.cut_off:
            return Fault(number, "TRUNCATED_TAIL", f"line {number}, the last, is cut off: {error}")
        return Fault(number, "BAD_LINE", f"line {number} is not JSON and was passed over: {error}")
    return Entry(f"line {number}", number, found.value, found.notes, len(line))


def _whole(opening: list[bytes], lines: Iterator[bytes], shown: str) -> Iterator[Entry | Fault]:
    """A file whose first line is no JSON: one value over many lines, several of them, or lines with a bad start."""
    size = sum(map(len, opening))
    for line in lines:
        opening.append(line)
        size += len(line)
        if size > MAX_WHOLE:
            limit = MAX_WHOLE // 2**20
            raise TraceError(f"{shown}: one JSON value of more than {limit} MiB.", hint="Write it as JSON Lines.")
    text = b"".join(opening)
    try:
        found = decode(text)
    except NotJson as error:
        problem = error
    else:
        yield Entry(WHOLE, None, found.value, found.notes)
        return
    values: tuple[Decoded, ...] = ()
    if not problem.too_deep:
        try:
            values = decode_many(text)
        except NotJson:
            values = ()
    if values:
        for at, value in enumerate(values, start=1):
            yield Entry(f"document {at}", at, value.value, value.notes)
        return
    read = [_line(line, at, last=at == len(opening)) for at, line in enumerate(opening, start=1) if line.strip()]
    good = [
        entry for entry in read if isinstance(entry, Entry) and isinstance(entry.value, dict | list) and entry.value
    ]
    if good and 2 * len(good) >= len(read):
        yield from read
        return
    raise _not_json(problem, shown)


def _not_json(problem: NotJson, shown: str) -> TraceError:
    place = f", line {problem.line} column {problem.column}" if problem.line else ""
    if problem.too_deep:
        return TraceError(f"{shown}{place}: {problem}.", hint="No trajectory needs that.")
    what = "ends in the middle of a JSON value" if problem.cut_off else "is not JSON"
    return TraceError(f"{shown}{place}: {what}: {problem}.", hint=_EXPECTED)


def _guarded(lines: Iterator[bytes], shown: str) -> Iterator[bytes]:
    """Failures of reading as errors that name the file."""
    try:
        yield from lines
    except (OSError, EOFError, zstandard.ZstdError, gzip.zlib.error) as error:  # type: ignore[attr-defined]
        raise TraceError(f"{shown}: reading it failed: {error}.") from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Capped(io.RawIOBase):
    """Unpacked bytes, up to `MAX_UNPACKED`."""

    def __init__(self, packed: gzip.GzipFile | zstandard.ZstdDecompressionReader, shown: str) -> None:
        self._packed = packed
        self._shown = shown
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._packed.read(len(buffer))
        buffer[: len(data)] = data
        self._read += len(data)
        if self._read > MAX_UNPACKED:
            raise TraceError(f"{self._shown}: unpacks to more than {MAX_UNPACKED // 2**30} GiB.")
        return len(data)
