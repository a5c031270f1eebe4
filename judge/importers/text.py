"""Bytes to lines of UTF-8, whatever the encoding; and files that are no text at all."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import IO

from judge.errors import TraceError

_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a zip archive (an Inspect .eval is read from a file, not from a stream)"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"\x28\xb5\x2f\xfd", "zstd inside a packed file"),
    (b"\x1f\x8b", "gzip inside gzip"),
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"\x80\x04", "a pickle"),
    (b"\x80\x05", "a pickle"),
)
_BOMS: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_MARKUP = (b"<!doctype", b"<html", b"<?xml", b"<head", b"<body")


def refuse_foreign(start: bytes, shown: str) -> None:
    """Raises where the first bytes of a file are not those of a text of JSON.

    Raises:
        TraceError: The file is empty, binary, or a web page; the message says what it looks like.
    """
    if not start:
        raise TraceError(f"{shown}: is empty.", hint="Expected one JSON value or JSON Lines.")
    if encoding_of(start) != "utf-8":
        return
    name = next((name for magic, name in _FOREIGN if start.startswith(magic)), None)
    if name is None and start.removeprefix(b"\xef\xbb\xbf").lstrip()[:9].lower().startswith(_MARKUP):
        raise TraceError(
            f"{shown}, line 1: is an HTML or XML page, not a trace.",
            hint="An error page saved under the name of a trace? Expected JSON or JSON Lines.",
        )
    if name is None and (b"\x00" in start or _control_share(start) > 0.1):
        name = "a binary file"
    if name is not None:
        raise TraceError(f"{shown}: is {name}, which is not read here.", hint="Expected JSON or JSON Lines.")


def _control_share(start: bytes) -> float:
    return sum(byte < 9 or 13 < byte < 32 for byte in start) / len(start)


def encoding_of(start: bytes) -> str:
    """The encoding that a byte order mark names; UTF-8 without one."""
    return next((name for mark, name in _BOMS if start.startswith(mark)), "utf-8")


def lines_of(stream: IO[bytes], start: bytes, shown: str, *, longest: int) -> Iterator[bytes]:
    """Lines as UTF-8 without a byte order mark, split at the newline character only.

    Of a stream of server-sent events only the data is kept.

    Raises:
        TraceError: A line is longer than `longest` bytes.
    """
    encoding = encoding_of(start)
    events = start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"data:", b"event:"))
    if encoding == "utf-8":
        lines = iter(lambda: stream.readline(longest + 1), b"")
    else:
        lines = _recoded(stream, encoding, longest)
    for number, line in enumerate(lines, start=1):
        if len(line) > longest:
            raise TraceError(f"{shown}, line {number}: longer than {longest // 2**20} MiB.")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        yield _data(line) if events else line


def _recoded(stream: IO[bytes], encoding: str, longest: int) -> Iterator[bytes]:
    """Lines of a text in another encoding, as UTF-8; a line that grows beyond `longest` comes in part."""
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    held = ""
    while True:
        block = stream.read(2**16)
        held += decoder.decode(block, final=not block)
        *complete, held = held.split("\n")
        for line in complete:
            yield (line + "\n").encode("utf-8", "replace")
        if not block or len(held) > longest:
            break
    if held:
        yield held.encode("utf-8", "replace")


def _data(line: bytes) -> bytes:
    if not line.startswith(b"data:"):
        return b"" if line.strip() else line
    data = line[5:].strip()
    return b"" if data == b"[DONE]" else data
