"""Which trajectories of a run are done, and where their verdicts lie: a small SQLite file beside the results.

The results file is the truth and the index is derived from it: what a killed writer left out of the index is
read from the tail of the results, and a lost or damaged index is built again.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from judge.types.record import Record

INDEX = "index.sqlite"
VERSION = "1"
BATCH = 512
"""Rows written together; a kill loses none, since they are read again from the results."""
_DOLLARS = ("known_usd", "untold_usd")
_COUNTED = ("unpriced", "uncounted", "calls", "bad_lines", "replaced")
_NOTHING: dict[str, float] = dict.fromkeys(_DOLLARS, 0.0) | dict.fromkeys(_COUNTED, 0)
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS item(
        id TEXT PRIMARY KEY, position INTEGER, content BLOB,
        status TEXT, judged BLOB, offset INTEGER, length INTEGER) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS item_position ON item(position);
    CREATE TABLE IF NOT EXISTS fact(name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""
_PENDING = "position IS NOT NULL AND (status IS NULL OR status = 'error' OR judged IS NOT content)"
_KEPT = "position IS NOT NULL AND offset IS NOT NULL AND judged IS content"
"""Trajectories of the input with a verdict on the content that they have there."""


class Line(NamedTuple):
    """Where one verdict lies in the results file, in bytes."""

    id: str
    status: str
    content: bytes
    offset: int
    length: int


class Counts(Record):
    """How far a run is.

    Attributes:
        items: Trajectories of the input; `pending` of them have no verdict on their present content but an error
            or none at all.
        by_status: Verdicts on the present content by status, one for each trajectory.
        removed: Trajectories with a verdict that are no longer in the input.
        bad_lines: Lines of the results file that are no verdict of this run.
        replaced: Verdicts that a newer one took the place of.
        unread_lines: Lines of the input that are no JSON, or nothing of a trajectory: they are no items.
        input_known: Whether the input was taken down; else `items` and `pending` are 0 for want of it, and `removed`
            holds every trajectory with a verdict. A session takes it down first, again where the index was lost.
    """

    items: int
    pending: int
    by_status: dict[str, int]
    removed: int
    bad_lines: int
    replaced: int
    unread_lines: int = 0
    input_known: bool = True

    @property
    def unjudged(self) -> int:
        """Trajectories of the input without any verdict, not even an error."""
        return max(self.items - sum(self.by_status.values()), 0)


class Spend(Record):
    """What all verdicts ever written to a run cost, the replaced ones included.

    Attributes:
        known_usd: Of the verdicts whose cost is known.
        unpriced: Verdicts with calls of unknown cost; with any, `known_usd` is a lower bound.
        untold_usd: The most that these may have cost, as far as that is known.
        uncounted: Those of them of which it is not, and which `untold_usd` leaves out.
    """

    known_usd: float = 0.0
    unpriced: int = 0
    calls: int = 0
    untold_usd: float = 0.0
    uncounted: int = 0


class Index:
    """The index of one run folder. Not safe for two writers: the folder's lock keeps them apart."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._lines: list[Line] = []
        self._settled: list[Line] = []
        self._new: dict[str, tuple[str, bytes]] = {}
        self._tally = _NOTHING.copy()
        if read_only:
            self._sql = _copy(path)
        else:
            try:
                self._sql = _open(path)
            except sqlite3.DatabaseError:
                for suffix in ("", "-wal", "-shm"):
                    Path(f"{path}{suffix}").unlink(missing_ok=True)
                self._sql = _open(path)
        for name in self._tally:
            kept = self.fact(name)
            if kept is not None:
                self._tally[name] = float(kept) if name in _DOLLARS else int(kept)
        if self.fact("uncounted") is None:  # an index from before it was counted
            self._tally["uncounted"] = self._tally["unpriced"]

    def fact(self, name: str) -> str | None:
        """One remembered fact about the run."""
        row = self._sql.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def unread(self, lines: int) -> None:
        """Remembers how many lines of the input could not be read."""
        with self._sql:
            self._set("unread_lines", lines)

    def _set(self, name: str, value: object) -> None:
        self._sql.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (name, str(value)))

    # -- the input ---------------------------------------------------------------------------------------------

    def scan(self, items: Iterable[tuple[str, bytes | None]], *, print_of_input: str) -> list[tuple[str, int, int]]:
        """Takes down the input: ids in order, with the content of each; None for what its first verdict is given on.

        Returns:
            Ids that stand twice, each with the positions (from 1) of the first and of the repeat. The scan
            counts as done only when there are none.
        """
        twice: list[tuple[str, int, int]] = []
        with self._sql:
            self._sql.execute("DELETE FROM fact WHERE name = 'input'")
            self._sql.execute("UPDATE item SET position = NULL, content = NULL")
            batch: list[tuple[str, int, bytes | None]] = []
            for position, (name, content) in enumerate(items, start=1):
                batch.append((name, position, content))
                if len(batch) >= BATCH:
                    twice += self._add(batch)
                    batch = []
            twice += self._add(batch)
            self._sql.execute("DELETE FROM item WHERE position IS NULL AND offset IS NULL")
            if not twice:
                self._set("input", print_of_input)
        return twice

    def _add(self, batch: list[tuple[str, int, bytes | None]]) -> list[tuple[str, int, int]]:
        before = self._sql.total_changes
        self._sql.executemany(
            "INSERT INTO item(id, position, content) VALUES (?, ?, ?) ON CONFLICT(id) DO UPDATE "
            "SET position = excluded.position, content = excluded.content WHERE item.position IS NULL",
            batch,
        )
        if self._sql.total_changes - before == len(batch):
            return []
        twice = []
        for name, position, _ in batch:
            first = self._sql.execute("SELECT position FROM item WHERE id = ?", (name,)).fetchone()[0]
            if first != position:
                twice.append((name, int(first), position))
        return twice

    # -- the results -------------------------------------------------------------------------------------------

    def add(self, line: Line, *, calls: int, cost_usd: float | None, at_most_usd: float | None = None) -> None:
        """Takes down one verdict line."""
        self._tally["calls"] += calls
        if calls and cost_usd is None:
            self._tally["unpriced"] += 1
            self._tally["uncounted"] += at_most_usd is None
            self._tally["untold_usd"] += at_most_usd or 0.0
        self._tally["known_usd"] += cost_usd or 0.0
        self._lines.append(line)
        if len(self._lines) >= BATCH:
            self.commit(line.offset + line.length)

    def _settle(self) -> None:
        """Looks up what the new lines replace. A later one wins, an error never over a verdict on the same content."""
        if not self._lines:
            return
        names = [line.id for line in self._lines if line.id not in self._new]
        asked = f"SELECT id, status, judged FROM item WHERE id IN ({','.join('?' * len(names))}) AND status IS NOT NULL"
        known = {name: (status, judged) for name, status, judged in self._sql.execute(asked, names)} | self._new
        for line in self._lines:
            before = known.get(line.id)
            if before is not None:
                self._tally["replaced"] += 1
                if line.status == "error" and before[0] != "error" and before[1] == line.content:
                    continue
            known[line.id] = self._new[line.id] = (line.status, line.content)
            self._settled.append(line)
        self._lines.clear()

    def bad_line(self) -> None:
        """Counts a line that is no verdict of this run."""
        self._tally["bad_lines"] += 1

    def commit(self, results_bytes: int) -> None:
        """Writes what was added; the results are indexed up to `results_bytes`."""
        self._settle()
        with self._sql:
            self._sql.executemany(
                "INSERT INTO item(id, status, judged, offset, length) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT(id) DO UPDATE SET status = excluded.status, judged = excluded.judged, "
                "offset = excluded.offset, length = excluded.length, content = coalesce(content, excluded.judged)",
                self._settled,
            )
            self._set("results_bytes", results_bytes)
            for name, value in self._tally.items():
                self._set(name, repr(value))
        self._settled.clear()
        self._new.clear()

    def catch_up(self, results: Path, prints: dict[str, str]) -> int:
        """Reads the verdicts that are in `results` and not yet here; returns the length of the file in bytes.

        Args:
            prints: The run's "rubric" and "judge" fingerprints; a verdict of others is a bad line.
        """
        done = int(self.fact("results_bytes") or 0)
        size = results.stat().st_size if results.is_file() else 0
        if size < done:  # somebody shortened the file: nothing here can be relied on
            self._forget()
            done = 0
        if size == done:
            return size
        offset = done
        with results.open("rb") as file:
            file.seek(done)
            for raw in file:
                if not raw.endswith(b"\n"):
                    break  # torn by a kill; closed off by the next writer
                self._read(raw, offset, prints)
                offset += len(raw)
        self.commit(offset)
        return offset

    def _read(self, raw: bytes, offset: int, prints: dict[str, str]) -> None:
        if not raw.strip():
            return
        try:
            value = orjson.loads(raw)
            found = value["fingerprints"]
            if any(found.get(name) != expected for name, expected in prints.items()):
                raise ValueError("of another run")
            line = Line(str(value["trajectory_id"]), str(value["status"]), short(found["trajectory"]), offset, len(raw))
            calls, cost, most = int(value["calls"]), value["cost_usd"], value.get("at_most_usd")
        except (ValueError, KeyError, TypeError, AttributeError):
            self.bad_line()
            return
        self.add(line, calls=calls, cost_usd=cost, at_most_usd=most)

    def _forget(self) -> None:
        self._tally = _NOTHING.copy()
        with self._sql:
            self._sql.execute("UPDATE item SET status = NULL, judged = NULL, offset = NULL, length = NULL")
            self._set("results_bytes", 0)

    # -- questions ---------------------------------------------------------------------------------------------

    def pending_of(self, names: Sequence[str]) -> set[str]:
        """Those of some trajectories of the input that still need a verdict."""
        asked = f"SELECT id FROM item WHERE id IN ({','.join('?' * len(names))}) AND {_PENDING}"
        return {str(row[0]) for row in self._sql.execute(asked, names)}

    def judged(self, name: str) -> bytes | None:
        """The content that a trajectory's verdict was given on; None where there is none, or an error alone."""
        self._settle()
        found = self._new.get(name)
        if found is None:
            found = self._sql.execute("SELECT status, judged FROM item WHERE id = ?", (name,)).fetchone()
        return None if found is None or found[0] in (None, "error") else bytes(found[1])

    def pending(self) -> int:
        """Trajectories of the input that still need a verdict."""
        return self._count(_PENDING)

    def counts(self) -> Counts:
        """How far the run is."""
        statuses = self._sql.execute(f"SELECT status, count(*) FROM item WHERE {_KEPT} GROUP BY status ORDER BY status")
        return Counts(
            items=self._count("position IS NOT NULL"),
            pending=self.pending(),
            by_status={str(status): int(count) for status, count in statuses},
            removed=self._count("position IS NULL AND offset IS NOT NULL"),
            bad_lines=int(self._tally["bad_lines"]),
            replaced=int(self._tally["replaced"]),
            unread_lines=int(self.fact("unread_lines") or 0),
            input_known=self.fact("input") is not None,
        )

    def spend(self) -> Spend:
        """What the verdicts cost."""
        tally = self._tally
        return Spend(
            known_usd=float(tally["known_usd"]),
            unpriced=int(tally["unpriced"]),
            calls=int(tally["calls"]),
            untold_usd=float(tally["untold_usd"]),
            uncounted=int(tally["uncounted"]),
        )

    def places(self) -> Iterator[tuple[int, int]]:
        """(offset, length) of the verdict of each trajectory that has one, in the order of the input.

        Where the order was lost with the index, in the order of writing.
        """
        known = self.fact("input") is not None
        where, order = (_KEPT, "position") if known else ("offset IS NOT NULL", "offset")
        yield from self._sql.execute(f"SELECT offset, length FROM item WHERE {where} ORDER BY {order}")

    def page(self, after: int, limit: int, *, whole: bool) -> list[tuple[int, int, int]]:
        """Position, offset and length of verdicts on input after the position `after`, in the order of the input.

        Unless `whole`, it ends before the first item that has no verdict yet: whoever goes on after the last position
        given misses none that comes later.
        """
        missing = f"SELECT min(position) FROM item WHERE position IS NOT NULL AND NOT ({_KEPT})"
        end = None if whole else self._sql.execute(missing).fetchone()[0]
        asked = f"SELECT position, offset, length FROM item WHERE {_KEPT} AND position > ? AND position < ?"
        rows = self._sql.execute(f"{asked} ORDER BY position LIMIT ?", (after, end or 2**62, limit))
        return [(int(row[0]), int(row[1]), int(row[2])) for row in rows]

    def _count(self, where: str) -> int:
        return int(self._sql.execute(f"SELECT count(*) FROM item WHERE {where}").fetchone()[0])

    def close(self) -> None:
        """Closes the file."""
        with contextlib.suppress(sqlite3.Error):
            self._sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._sql.close()


def short(fingerprint: str) -> bytes:
    """The first half of a sha256, which is enough to tell two contents of one id apart."""
    return bytes.fromhex(fingerprint[:32])


def _open(path: Path) -> sqlite3.Connection:
    sql = sqlite3.connect(path, isolation_level="IMMEDIATE", check_same_thread=False)
    try:
        sql.execute("PRAGMA journal_mode = WAL")
        sql.execute("PRAGMA synchronous = NORMAL")
        sql.executescript(_SCHEMA)
        found: Any = sql.execute("SELECT value FROM fact WHERE name = 'version'").fetchone()
        if found is not None and found[0] != VERSION:
            raise sqlite3.DatabaseError(f"version {found[0]}")
        (check,) = sql.execute("PRAGMA quick_check(1)").fetchone()
        if check != "ok":
            raise sqlite3.DatabaseError(check)
        with sql:
            sql.execute("INSERT OR REPLACE INTO fact VALUES ('version', ?)", (VERSION,))
    except BaseException:
        sql.close()
        raise
    return sql


def _copy(path: Path) -> sqlite3.Connection:
    """The index in memory, so that a reader may bring it up to date beside a writer or in a folder it cannot write."""
    memory = sqlite3.connect(":memory:", isolation_level="IMMEDIATE", check_same_thread=False)
    for mode in ("mode=ro", "immutable=1"):
        with contextlib.suppress(sqlite3.DatabaseError):
            file = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)
            try:
                file.backup(memory)
                break
            finally:
                file.close()
    memory.executescript(_SCHEMA)
    return memory
