"""What was spent on one day by every run that shares a folder: a file of signed amounts, read before each call."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from judge.errors import UsageError
from judge.store.lock import locked


class DayLedger:
    """A cap for each day (UTC), held by all processes that use the same folder.

    A reservation is a positive amount, its settlement the difference to what was paid. A process that dies
    leaves its open reservations behind: they count as spent until the day is over.
    """

    def __init__(self, folder: Path, cap: float, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        """`cap`: US dollars a day."""
        self._folder = folder
        self._cap = Fraction(repr(float(cap)))
        self._now = now
        self._read: tuple[Path, int, Fraction] = (Path(), 0, Fraction(0))
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"The ledger of the day's spend in {str(folder)!r} cannot be written: {error.strerror or error}.",
                hint="Set JUDGE_CACHE_DIR to a folder that can be written, or leave out max_usd_per_day.",
            ) from None

    def path(self) -> Path:
        """The file of today."""
        return self._folder / f"spend-{self._now().astimezone(UTC):%Y-%m-%d}.txt"

    def spent(self) -> float:
        """US dollars spent and reserved today by every run."""
        if not self.path().is_file():
            return 0.0
        file = os.open(self.path(), os.O_RDONLY)
        try:
            return float(self._total(file, self.path()))
        finally:
            os.close(file)

    def admit(self, amount: float) -> bool:
        """Reserves `amount` if it fits under today's cap; says whether it did. Atomic between processes."""
        wanted = Fraction(repr(float(amount)))
        path = self.path()
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            with locked(file):
                if self._total(file, path) + wanted > self._cap:
                    return False
                os.write(file, f"{float(amount)!r}\n".encode())
                return True
        finally:
            os.close(file)

    def settle(self, amount: float, cost: float) -> None:
        """Notes what a reserved call cost; 0 for one that cost nothing."""
        file = os.open(self.path(), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            with locked(file):
                os.write(file, f"{-float(amount)!r}\n{float(cost)!r}\n".encode())
        finally:
            os.close(file)

    def full(self) -> str:
        """Today's spend in words."""
        return f"${self.spent():.4f} of today's ${float(self._cap):.4f} is spent or reserved"

    def _total(self, file: int, path: Path) -> Fraction:
        """Sum of today's amounts; only what others and we added since the last call is read."""
        known, offset, total = self._read if self._read[0] == path else (path, 0, Fraction(0))
        os.lseek(file, offset, os.SEEK_SET)
        text = b"".join(iter(lambda: os.read(file, 1 << 20), b""))
        whole = text[: text.rfind(b"\n") + 1]
        for line in whole.split(b"\n"):
            try:
                total += Fraction(line.decode())
            except (ValueError, UnicodeDecodeError):
                continue  # a line that a crash left unfinished is no amount
        self._read = (known, offset + len(whole), total)
        return total
