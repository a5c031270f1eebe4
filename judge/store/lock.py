"""One writer for a folder: a lock that the operating system gives up when its holder dies."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from judge.errors import UsageError

LOCK = "run.lock"
_LOCKED_BYTE = 1 << 20
"""Where the lock lies on Windows, beyond the text: a locked byte cannot be read there."""


class FolderLock:
    """Holds a folder for one process, from `__init__` to `close`. A holder that was killed leaves nothing behind.

    Raises:
        UsageError: Another process holds the folder, or the folder cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str = LOCK,
        what: str = "run folder",
        elsewhere: str = "Choose another folder with --out.",
        busy: str = "Wait for it or stop it; two writers would pay for everything twice.",
    ) -> None:
        """
        Args:
            name: Of the file that is locked.
            what: The folder in words. elsewhere, busy: What to do when it cannot be written, or is held.
        """
        path = folder / name
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise UsageError(
                f"The {what} {str(folder)!r} cannot be written: {error.strerror or error}.",
                hint=elsewhere,
            ) from None
        try:
            _take(self._file)
        except OSError:
            holder = _holder(self._file)
            os.close(self._file)
            raise UsageError(
                f"The {what} {str(folder)!r} is in use by {holder}.",
                hint=busy,
            ) from None
        note = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, json.dumps(note).encode())

    def close(self) -> None:
        """Lets the folder go."""
        if self._file >= 0:
            os.close(self._file)  # which releases the lock
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def locked(file: int) -> Iterator[None]:
    """Holds an open file for this process for the time of the block, waiting until it is free."""
    _take(file, wait=True)
    try:
        yield
    finally:
        _release(file)


def _take(file: int, *, wait: bool = False) -> None:
    """Locks an open file; without `wait` raises OSError where another process holds it."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _release(file: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_UN)


def _holder(file: int) -> str:
    os.lseek(file, 0, os.SEEK_SET)
    try:
        note = json.loads(os.read(file, 4096))
        return f"process {note['pid']} on {note['host']} since {note['since']}"
    except (ValueError, KeyError, TypeError, OSError):
        return "another process"
