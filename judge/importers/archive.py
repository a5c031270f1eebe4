"""Members of an Inspect archive, and of the folders that some tools write instead of a file."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import zstandard

from judge.errors import TraceError

ZSTD = 93
"""Compression method that Inspect writes, and that the standard library reads from Python 3.14 on."""
MAX_MEMBERS = 100_000
MAX_RATIO = 1000
"""Highest ratio of unpacked to packed bytes of a member of more than `RATIO_FROM` bytes."""
RATIO_FROM = 16 * 2**20
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    zstandard.ZstdError,
    struct.error,
    NotImplementedError,
    RuntimeError,
    OSError,
    EOFError,
    ValueError,
)
_LOCAL_HEADER = 30
_BLOCK = 2**20


def read_archive(
    file: IO[bytes], shown: str, *, max_member: int, max_total: int
) -> Iterator[tuple[str, bytes, bytes | None]]:
    """(name, bytes, header) of each sample of an Inspect archive; the header is that of the whole log.

    Raises:
        TraceError: No Inspect log; a name that leads out of the archive; more bytes than the limits allow.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check(members, shown, max_member, max_total)
            names = {member.filename: member for member in members}
            header = names.get("header.json") or names.get("_journal/start.json")
            if header is None:
                raise TraceError(
                    f"{shown}: is a zip archive without an Inspect log in it.",
                    hint="Expected header.json or _journal/start.json; unpack other archives first.",
                )
            head = _unpacked(archive, file, header, shown)
            samples = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
            for name in sorted(samples, key=lambda name: names[name].header_offset):
                yield name, _unpacked(archive, file, names[name], shown), head
            if not samples:
                raise TraceError(f"{shown}: the zip archive holds no sample.", hint="Did the run break off?")
    except _DAMAGE as error:
        raise TraceError(f"{shown}: the zip archive cannot be read: {error}.") from None


def _check(members: list[zipfile.ZipInfo], shown: str, max_member: int, max_total: int) -> None:
    if len(members) > MAX_MEMBERS:
        raise TraceError(f"{shown}: {len(members)} members, at most {MAX_MEMBERS} are read.")
    for member in members:
        parts = member.filename.replace("\\", "/").split("/")
        if ".." in parts or member.filename.startswith(("/", "\\")) or ":" in parts[0]:
            raise TraceError(f"{shown}: the name {member.filename!r} leads out of the archive.")
        if member.file_size > max_member or (
            member.file_size > RATIO_FROM and (member.file_size > MAX_RATIO * max(member.compress_size, 1))
        ):
            size = f"{member.compress_size} bytes that unpack to {member.file_size}"
            raise TraceError(f"{shown}: {member.filename!r} is {size}: not read.")
    total = sum(member.file_size for member in members)
    if total > max_total:
        raise TraceError(f"{shown}: unpacks to {total} bytes, at most {max_total} are read.")


def _unpacked(archive: zipfile.ZipFile, file: IO[bytes], member: zipfile.ZipInfo, shown: str) -> bytes:
    """A member's bytes; one that unpacks to more than it says is refused."""
    if member.compress_type == ZSTD:
        data = _zstd_member(file, member, shown)
    else:
        with archive.open(member) as stream:
            data = stream.read(member.file_size + 1)
    if len(data) != member.file_size:
        raise TraceError(f"{shown}: {member.filename!r} does not have the size that the archive says.")
    return data


def _zstd_member(file: IO[bytes], member: zipfile.ZipInfo, shown: str) -> bytes:
    file.seek(member.header_offset)
    local = file.read(_LOCAL_HEADER)
    if len(local) < _LOCAL_HEADER or local[:4] != b"PK\x03\x04" or member.flag_bits & 1:
        raise TraceError(f"{shown}: {member.filename!r} is encrypted or has no header.")
    file.seek(int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little"), 1)
    packed = file.read(member.compress_size)
    out = bytearray()
    with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
        while len(out) <= member.file_size and (block := stream.read(_BLOCK)):
            out += block
    return bytes(out)


def folder_members(folder: Path) -> tuple[list[Path], bool]:
    """The files of a run that is a folder, in order, and whether they are the events of one run.

    An OpenHands conversation keeps one event a file (`event-00000-ID.json`, here or in `events`); tau2 keeps
    one simulation a file in `simulations`. Anything else gives nothing.
    """
    for place in (folder, folder / "events"):
        events = sorted(place.glob("event-*.json"), key=lambda path: path.name)
        if events:
            return events, True
    return sorted((folder / "simulations").glob("*.json")), False
