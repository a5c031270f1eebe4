"""What a run has handed to a provider's batch API: written down before it is done, so that a kill loses no batch.

::

    DIR/batches/ledger.jsonl          what was meant, done and found, in order; append-only, on disk before it counts
    DIR/batches/00001.requests.jsonl  the requests of a batch, until the provider has said that it has them
    DIR/batches/00001.outcomes.jsonl  what came back, whole

A request has a name that follows from its content (the same in every session), and in each batch a custom id made of
the run, the batch and that name. A request that is open, or has an outcome, is never handed in again without a cause.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from judge.errors import UsageError
from judge.store.lock import FolderLock
from judge.store.run_folder import cannot_write

FOLDER = "batches"
LEDGER = "ledger.jsonl"
VERSION = 1


@dataclass(slots=True)
class Chunk:
    """One batch, from the intent to hand it in until its outcomes are here.

    Attributes:
        number: From 1.
        at: When it was meant, in seconds since the epoch; `sent_at`: when it was last about to be handed in.
        names: Of its requests.
        usd: Most that it can cost in US dollars, or None where no price is known.
        refused: Parameters that its requests were made without.
        file, batch: Ids at the provider; None until told.
        ended: The provider's last word; None while it is under way.
        paid: What it cost in US dollars; None where not all of it is known.
        canceled: Whether its end was asked for.
    """

    number: int
    at: float
    sent_at: float
    names: tuple[str, ...]
    usd: float | None
    refused: frozenset[str]
    file: str | None = None
    batch: str | None = None
    ended: str | None = None
    paid: float | None = None
    canceled: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where an outcome lies.

    Attributes:
        counts: Whether it counts as a try of its request: not where it was only refused, or never begun.
    """

    chunk: int
    offset: int
    length: int
    counts: bool


@dataclass(slots=True)
class _Known:
    open: int | None = None
    places: list[Place] = field(default_factory=list)


class BatchLedger:
    """The ledger of one run, open for writing by whoever holds the run's folder. Use as a context manager.

    All names of requests that still matter are in memory, at some 400 bytes each.

    Attributes:
        run: Eight hexadecimal digits that no other run has.
        chunks: Every batch that was meant and not given up, by number.
    """

    def __init__(self, run_folder: Path) -> None:
        self.folder = run_folder / FOLDER
        self.run = ""
        self.chunks: dict[int, Chunk] = {}
        self._last = 0
        self._known: dict[str, _Known] = {}
        try:
            self.folder.mkdir(exist_ok=True)
            self._file = os.open(self.folder / LEDGER, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
        except OSError as error:
            raise cannot_write(self.folder / LEDGER, error) from None
        try:
            self._read()
            if not self.run:
                self._append({"version": VERSION, "run": secrets.token_hex(4)})
        except BaseException:
            os.close(self._file)
            raise

    # -- what is known -----------------------------------------------------------------------------------------

    def mark(self, number: int) -> str:
        """What every custom id of a batch begins with."""
        return f"{self.run}-{number:05d}-"

    def requests_path(self, number: int) -> Path:
        """The file of a batch's requests."""
        return self.folder / f"{number:05d}.requests.jsonl"

    def outcomes_path(self, number: int) -> Path:
        """The file of a batch's outcomes."""
        return self.folder / f"{number:05d}.outcomes.jsonl"

    def next_number(self) -> int:
        """Of the next batch."""
        return self._last + 1

    def under_way(self) -> list[Chunk]:
        """Batches whose outcomes are not here."""
        return [chunk for chunk in self.chunks.values() if chunk.ended is None]

    def unused(self) -> int:
        """How many requests are under way, or have an outcome that no verdict has used."""
        return len(self._known)

    def is_open(self, name: str) -> bool:
        """Whether a request is in a batch that is under way."""
        known = self._known.get(name)
        return known is not None and known.open is not None

    def is_known(self, name: str) -> bool:
        """Whether a request was handed in before, and no verdict has used it up."""
        return name in self._known

    def places(self, name: str) -> Sequence[Place]:
        """Where the outcomes of a request lie, oldest first."""
        known = self._known.get(name)
        return () if known is None else tuple(known.places)

    def outcome(self, place: Place) -> dict[str, Any]:
        """An outcome as it was kept."""
        with self.outcomes_path(place.chunk).open("rb") as file:
            file.seek(place.offset)
            value: dict[str, Any] = orjson.loads(file.read(place.length))
        return value

    # -- what happens ------------------------------------------------------------------------------------------

    def mean(self, names: Sequence[str], *, at: float, usd: float | None, refused: frozenset[str]) -> Chunk:
        """Takes down that the next batch, whose requests are in their file, is about to be handed in."""
        number = self.next_number()
        self._append(
            {
                "chunk": number,
                "at": at,
                "requests": len(names),
                "usd": usd,
                "refused": sorted(refused),
                "mark": self.mark(number),
                "names": list(names),
            }
        )
        return self.chunks[number]

    def again(self, chunk: Chunk, *, at: float) -> None:
        """A batch that the provider does not have is about to be handed in once more."""
        self._append({"chunk": chunk.number, "again": at})

    def uploaded(self, chunk: Chunk, file: str) -> None:
        """The provider has the file of requests."""
        self._append({"chunk": chunk.number, "file": file})

    def submitted(self, chunk: Chunk, batch: str) -> None:
        """The provider has the batch: its requests need not be kept here."""
        self._append({"chunk": chunk.number, "batch": batch})
        self.requests_path(chunk.number).unlink(missing_ok=True)

    def given_up(self, chunk: Chunk, why: str) -> None:
        """The provider did not take the batch: its requests are as if they had never been handed in."""
        self._append({"chunk": chunk.number, "given_up": why})
        self.requests_path(chunk.number).unlink(missing_ok=True)

    def canceled(self, chunk: Chunk) -> None:
        """The provider was asked to end the batch."""
        self._append({"chunk": chunk.number, "canceled": True})

    def ended(self, chunk: Chunk, status: str, *, paid: float | None, kinds: Counter[str]) -> None:
        """The outcomes are in their file. `kinds`: how many there are of each, for who reads the ledger."""
        self._append({"chunk": chunk.number, "ended": status, "paid": paid, "outcomes": dict(sorted(kinds.items()))})

    def used_up(self, names: Iterable[str]) -> None:
        """A verdict was made of these requests and is written down: to ask them again is a new beginning."""
        known = [name for name in names if name in self._known]
        if known:
            self._append({"used_up": known}, to_disk=False)

    def all_used_up(self) -> None:
        """Every trajectory has its verdict: what is left is of no use to any."""
        self.used_up(list(self._known))

    # -- the file ----------------------------------------------------------------------------------------------

    def _read(self) -> None:
        size = 0
        with (self.folder / LEDGER).open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                try:
                    entry = orjson.loads(line)
                except orjson.JSONDecodeError:
                    raise UsageError(
                        f"{str(self.folder / LEDGER)!r} was changed after it was written.",
                        hint="Batches at the provider cannot be told any more; take up this folder with another "
                        "engine, or begin a new one.",
                    ) from None
                size += len(line)
                self._apply(entry)
        os.ftruncate(self._file, size)  # a torn last line said nothing yet: what it would have said was not done
        os.lseek(self._file, size, os.SEEK_SET)

    def _append(self, entry: dict[str, Any], *, to_disk: bool = True) -> None:
        line = orjson.dumps(entry) + b"\n"
        begin = os.lseek(self._file, 0, os.SEEK_CUR)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
            if to_disk:
                os.fsync(self._file)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, begin)
                os.lseek(self._file, begin, os.SEEK_SET)
            raise cannot_write(self.folder / LEDGER, error) from None
        self._apply(entry)

    def _apply(self, entry: dict[str, Any]) -> None:
        if "run" in entry:
            self.run = entry["run"]
        elif "used_up" in entry:
            for name in entry["used_up"]:
                self._known.pop(name, None)
        elif "names" in entry:
            self._last = entry["chunk"]
            self.chunks[self._last] = Chunk(
                number=self._last,
                at=entry["at"],
                sent_at=entry["at"],
                names=tuple(entry["names"]),
                usd=entry["usd"],
                refused=frozenset(entry["refused"]),
            )
            for name in entry["names"]:
                self._known.setdefault(name, _Known()).open = self._last
        else:
            self._apply_to(self.chunks[entry["chunk"]], entry)

    def _apply_to(self, chunk: Chunk, entry: dict[str, Any]) -> None:
        if "again" in entry:
            chunk.sent_at = entry["again"]
        elif "file" in entry:
            chunk.file = entry["file"]
        elif "batch" in entry:
            chunk.batch = entry["batch"]
        elif "canceled" in entry:
            chunk.canceled = True
        elif "given_up" in entry:
            del self.chunks[chunk.number]
            for name in chunk.names:
                known = self._known.get(name)
                if known is not None:
                    known.open = None
                    if not known.places:
                        del self._known[name]
        elif "ended" in entry:
            chunk.ended, chunk.paid = entry["ended"], entry["paid"]
            for name, place in self._outcomes(chunk):
                known = self._known.get(name)
                if known is not None:
                    known.open = None
                    known.places.append(place)
            chunk.names = ()

    def _outcomes(self, chunk: Chunk) -> Iterator[tuple[str, Place]]:
        offset = 0
        mark = self.mark(chunk.number)
        try:
            with self.outcomes_path(chunk.number).open("rb") as file:
                for line in file:
                    value = orjson.loads(line)
                    name = str(value["custom_id"]).removeprefix(mark)
                    refused = value["kind"] == "errored" and value.get("status") in {400, 422}
                    counts = not refused and value["kind"] != "turned_down"
                    yield name, Place(chunk.number, offset, len(line), counts)
                    offset += len(line)
        except OSError as error:
            raise UsageError(
                f"{str(self.outcomes_path(chunk.number))!r} is gone: {error.strerror or error}.",
                hint="It holds replies that were paid for; put it back, or begin a new run.",
            ) from None

    def close(self) -> None:
        """Lets the file go."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_nothing_at_provider(run_folder: Path) -> None:
    """Refuses to judge a run in another way while batches of it are at a provider: they would be paid for twice.

    Raises:
        UsageError: With what there is, and what to do.
    """
    if not (run_folder / FOLDER / LEDGER).is_file():
        return
    with BatchLedger(run_folder) as ledger:
        if ledger.unused():
            raise UsageError(
                f"{ledger.unused():,} requests of the run in {str(run_folder)!r} were handed to the provider in "
                "batches, and no verdict has used them yet.",
                hint=f"`judge batch attach {run_folder}` finishes them; to end them and pay for others, run "
                f"`judge batch cancel {run_folder}` and then attach.",
            )


def handed_in(run_folder: Path) -> tuple[int, int]:
    """Batches of a run that a provider has or may have, and the requests in them.

    The ledger is only read, so that this can be asked while another process writes it; what is torn is not said yet.
    """
    requests: dict[int, int] = {}
    try:
        lines = (run_folder / FOLDER / LEDGER).read_bytes().splitlines()
    except OSError:
        return 0, 0
    for line in lines:
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:
            break
        if "names" in entry:
            requests[entry["chunk"]] = len(entry["names"])
        elif "ended" in entry or "given_up" in entry:
            requests.pop(entry["chunk"], None)
    return len(requests), sum(requests.values())


@contextlib.contextmanager
def held_ledger(run_folder: Path) -> Iterator[BatchLedger]:
    """The ledger of a run that nobody else works on.

    Raises:
        UsageError: The run has none, or its folder is in use.
    """
    if not (run_folder / FOLDER / LEDGER).is_file():
        raise UsageError(
            f"The run in {str(run_folder)!r} has handed in no batches.",
            hint="`judge batch IN --out DIR --engine provider-batch` does; other runs go on with --resume.",
        )
    with FolderLock(run_folder), BatchLedger(run_folder) as ledger:
        yield ledger
