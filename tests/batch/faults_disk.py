"""Faults of the disk: full, read-only, a corrupted cache, a second writer."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

from batch_items import RUBRIC, JudgeServer, recorded, settings_of, write_items
from faults import Fault

from judge.engine.batch import judge_batch
from judge.errors import UsageError
from judge.providers import CacheWarning
from judge.store.run_folder import RunFolder

ITEMS = 24


def disk_full(work: Path) -> Fault:
    """The disk takes half of the tenth verdict; the run ends, and goes on when there is room."""
    source = write_items(work / "in.jsonl", ITEMS)
    written = 0

    def full_after_nine(file: int, line: bytes) -> int:
        nonlocal written
        written += 1
        if written == 10:
            return os.write(file, line[: len(line) // 2])
        if written > 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.write(file, line)

    with JudgeServer() as server:
        settings = settings_of(work, server.url, concurrency=4)
        with patch("judge.store.run_folder.write_some", full_after_nine):
            first = judge_batch([source], RUBRIC, out=work / "run", settings=settings)
        kept = len(recorded(work / "run"))
        second = judge_batch([source], RUBRIC, out=work / "run", settings=settings, resume=True)
        requests = server.requests
    said = str(first.error)
    return Fault(
        "disk full",
        f"{kept} verdicts kept, then {second.result.judged} judged; {requests} requests for {ITEMS} items",
        isinstance(first.error, UsageError)
        and "No space left" in said
        and kept == 9
        and second.result.pending == 0
        and second.result.summary.scored == ITEMS
        and requests == ITEMS  # replies that could not be written as verdicts were in the cache
        and sorted(recorded(work / "run")) == sorted(set(recorded(work / "run"))),
    )


def read_only_folder(work: Path) -> Fault:
    """A folder that cannot be written is refused before the first call."""
    source = write_items(work / "in.jsonl", ITEMS)
    real = os.open

    def refusing(path: Any, *args: Any, **kwargs: Any) -> int:
        if str(path).endswith("run.lock"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(path, *args, **kwargs)

    said = ""
    with JudgeServer() as server, patch("os.open", refusing):
        try:
            judge_batch([source], RUBRIC, out=work / "run", settings=settings_of(work, server.url))
        except UsageError as error:
            said = str(error)
        requests = server.requests
    return Fault("read-only folder", f"{requests} requests; {said}", requests == 0 and "Read-only file system" in said)


def cache_corrupted(work: Path) -> Fault:
    """A damaged cache is set aside; the run goes on without it, and what the folder holds is not paid again."""
    source = write_items(work / "in.jsonl", ITEMS)
    with JudgeServer() as server:
        settings = settings_of(work, server.url, concurrency=4)
        judge_batch([source], RUBRIC, out=work / "run", settings=settings, limit=ITEMS // 2)
        database = settings.cache_dir / "cache.db"
        database.write_bytes(b"no database at all" * 1000)
        for suffix in ("-wal", "-shm"):
            Path(f"{database}{suffix}").unlink(missing_ok=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outcome = judge_batch(
                [source], RUBRIC, out=work / "run", settings=settings, resume=True, new_input=True, limit=None
            )
        requests = server.requests
    aside = len(list(settings.cache_dir.glob("cache.db.corrupt-*")))
    warned = sum(issubclass(each.category, CacheWarning) for each in caught)
    return Fault(
        "cache file corrupted",
        f"{aside} file set aside, {warned} warning, {requests} requests for {ITEMS} items, "
        f"{outcome.result.summary.scored} scored",
        aside == 1 and warned == 1 and requests == ITEMS and outcome.result.summary.scored == ITEMS,
    )


HOLDER = """
import sys
from pathlib import Path
from judge.store.lock import FolderLock
with FolderLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def two_processes(work: Path) -> Fault:
    """The second process on one folder is refused, by name of the first; after a kill of the first it may go on."""
    source = write_items(work / "in.jsonl", ITEMS)
    said = ""
    with JudgeServer() as server:
        settings = settings_of(work, server.url, concurrency=4)
        judge_batch([source], RUBRIC, out=work / "run", settings=settings, limit=ITEMS // 2)
        before = server.requests
        command = [sys.executable, "-c", HOLDER, str(work / "run")]
        root = str(Path(__file__).resolve().parents[2])
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": root}
        ) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            options: dict[str, Any] = {"settings": settings, "resume": True, "new_input": True}
            try:
                judge_batch([source], RUBRIC, out=work / "run", **options)
            except UsageError as error:
                said = str(error)
            during = server.requests - before
            with RunFolder.read(work / "run") as reader:  # readers are not kept out
                seen = reader.counts().items
            holder.kill()
            holder.wait()
        outcome = judge_batch([source], RUBRIC, out=work / "run", **options)
        after = server.requests - before
    return Fault(
        "two processes on one folder",
        f"second refused, {during} requests by it; after a kill of the first {after} requests for the rest",
        f"process {holder.pid}" in said
        and during == 0
        and seen == ITEMS // 2
        and after == ITEMS - ITEMS // 2
        and outcome.result.pending == 0,
    )


SCENARIOS = (disk_full, read_only_folder, cache_corrupted, two_processes)
