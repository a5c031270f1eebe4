"""Speed and memory of batches, as ratios measured side by side in one run. See bench/README.md.

    python bench/batch.py [--quick | --full]

Exit status 1 when a target is missed. `--quick` takes fewer judgments and results, `--full` a million results (some ten
minutes, 4 GB of disk); the rows say how many.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judging import (
    CONCURRENCY,
    LATENCY_S,
    RUBRIC,
    WARM_UP,
    Row,
    server,
    settings_for,
    table,
    trajectories,
)
from judging import (
    child as bare_child,
)

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def write_runs(path: Path, count: int, *, salt: str) -> Path:
    """Trajectories of about 1,000 prompt tokens each."""
    with path.open("w", encoding="utf-8") as file:
        for run in trajectories(count, salt=salt):
            file.write(json.dumps(run.to_json()) + "\n")
    return path


def judged(port: int, count: int, work: Path, *, folder: str) -> dict[str, float]:
    """One batch of `count` behind the loopback server; with a warm cache no call is made."""
    from judge.engine.batch import judge_batch

    settings = settings_for(port, work)
    first = write_runs(work / "warm-up.jsonl", WARM_UP, salt=f"first-{folder}")
    judge_batch([first], settings=settings, out=work / f"{folder}-warm-up")
    source = work / "in.jsonl"
    if not source.is_file():
        write_runs(source, count, salt="run")
    wall, cpu = time.perf_counter(), time.process_time()
    result = judge_batch([source], settings=settings, out=work / folder).result
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if result.summary.scored != count:
        raise SystemExit(f"{result.summary.scored} of {count} scored: {result.summary.errors}")
    return {"wall": wall, "cpu": cpu, "calls": float(result.summary.calls)}


def small_runs(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield {
            "schema": "judge.trajectory/1",
            "id": f"run-{number:07d}",
            "source": {"format": "native"},
            "steps": [{"index": 1, "kind": "final", "text": f"The answer of run {number}."}],
        }


def scripted(count: int, work: Path, *, resume: bool) -> dict[str, float]:
    """A batch of `count` by a judge that answers at once, or the resume of it when it is finished."""
    from judge.config import load_settings
    from judge.engine.batch import judge_batch

    source = work / f"in-{count}.jsonl"
    if not source.is_file():
        with source.open("w", encoding="utf-8") as file:
            for run in small_runs(count):
                file.write(json.dumps(run) + "\n")
    flags = {"judge": "fake/always-4", "rubric": RUBRIC, "samples": 1, "cache_dir": work / "cache"}
    settings = load_settings(flags, environment={}, folder=work)
    begun = time.perf_counter()
    result = judge_batch([source], settings=settings, out=work / f"run-{count}", resume=resume).result
    seconds = time.perf_counter() - begun
    if result.pending or result.summary.scored != count or (resume and result.judged):
        raise SystemExit(f"{result.pending} of {count} left, {result.judged} judged")
    return {"seconds": seconds, "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def hashed(count: int, work: Path) -> dict[str, float]:
    """The floor of a resume: every line of the input read and hashed."""
    begun = time.perf_counter()
    with (work / f"in-{count}.jsonl").open("rb") as file:
        lines = sum(1 for line in file if hashlib.sha256(line).digest())
    seconds = time.perf_counter() - begun
    if lines != count:
        raise SystemExit(f"{lines} lines of {count}")
    return {"seconds": seconds}


def child(mode: str, count: int, work: Path, port: int = 0) -> dict[str, float]:
    """One measurement in a new process."""
    command = [sys.executable, __file__, "--child", mode, "--count", str(count), "--work", str(work)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(HERE)])}
    done = subprocess.run([*command, "--port", str(port)], capture_output=True, text=True, env=environment, cwd=work)
    if done.returncode:
        raise SystemExit(f"the measurement {mode!r} failed:\n{done.stdout}{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.strip().split("\n")[-1])
    return found


def judging_rows(count: int, rounds: int) -> list[Row]:
    ideal = count / CONCURRENCY * LATENCY_S
    bare, ours, warm = [], [], []
    with server() as port:
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                work = Path(folder)
                bare.append(bare_child("bare", port, count, work))
                ours.append(child("batch", count, work, port))
                warm.append(child("warm", count, work, port))
    wall = min(m["wall"] for m in ours) / ideal
    ratio = min(m["cpu"] for m in ours) / min(m["cpu"] for m in bare)
    speed = count / min(m["wall"] for m in warm)
    sent = int(max(m["calls"] for m in warm))
    return [
        Row(f"wall ÷ ideal, {count:,} judgments, {CONCURRENCY} at once", f"{wall:.2f}", "≤ 1.15", wall <= 1.15),
        Row("  bare SDK, wall ÷ ideal", f"{min(m['wall'] for m in bare) / ideal:.2f}", "", None),
        Row("CPU of a judgment ÷ bare SDK", f"{ratio:.2f}", "≤ 1.00", ratio <= 1.0),
        Row("  bare SDK, CPU of a call", f"{min(m['cpu'] for m in bare) / count * 1000:.2f} ms", "", None),
        Row("warm re-run into a new folder", f"{speed:,.0f}/s", "≥ 5,000/s", speed >= 5000),
        Row("  calls sent in the warm re-run", f"{sent}", "0", sent == 0),
    ]


def scale_rows(small: int, large: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        least, most = child("fill", small, work), child("fill", large, work)
        again = min((child("resume", large, work) for _ in range(3)), key=lambda m: m["seconds"])
        floor = min(hashed(large, work)["seconds"] for _ in range(3))
    grown = most["peak_mib"] / least["peak_mib"]
    ratio = again["seconds"] / floor
    told = large >= 100_000  # below that, starting costs more than what grows
    limit = "≤ 20 s" if large >= 1_000_000 else ""
    return [
        Row(f"peak memory, {large:,} results ÷ {small:,}", f"{grown:.2f}", "≤ 1.25", grown <= 1.25),
        Row("  peak memory of the larger", f"{most['peak_mib']:.0f} MiB", "", None),
        Row(
            f"resume of a finished run of {large:,} ÷ hashing its input",
            f"{ratio:.1f}",
            "≤ 10" if told else "",
            ratio <= 10 if told else None,
        ),
        Row("  seconds of it", f"{again['seconds']:.2f} s", limit, again["seconds"] <= 20 if limit else None),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="fewer judgments and results, one round")
    size.add_argument("--full", action="store_true", help="a million results in place of 100,000")
    parser.add_argument("--child", choices=["batch", "warm", "fill", "resume"], help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child in ("batch", "warm"):
        print(json.dumps(judged(given.port, given.count, given.work, folder=given.child)))
        return 0
    if given.child:
        print(json.dumps(scripted(given.count, given.work, resume=given.child == "resume")))
        return 0
    rows = judging_rows(512 if given.quick else 5000, 1 if given.quick else 3)
    large = 10_000 if given.quick else 1_000_000 if given.full else 100_000
    rows += scale_rows(2_000 if given.quick else 10_000, large)
    print(table(rows))
    missed = [row.what.strip() for row in rows if row.met is False]
    print(f"\n{len(missed)} of {sum(row.met is not None for row in rows)} targets missed", *missed, sep="\n  ")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
