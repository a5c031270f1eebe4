"""Speed of judging, as ratios measured side by side in one run. See bench/README.md.

    python bench/judging.py [--quick | --full]

Exit status 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judge.config import Settings
    from judge.types import Request, Trajectory

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CONCURRENCY = 64
LATENCY_S = 0.2
WARM_UP = 64
RUBRIC = "process"
PEER_PER_SECOND = 711.0
"""Judgments a second of the best peer re-run from its cache, measured elsewhere; for comparison, not a target."""
POLICY = " ".join(
    f"Clause {number}: goods of class {number} come back within {10 + number} days, unused and with their receipt."
    for number in range(1, 15)
)
OTHERS = {
    "metrics": "metrics.py",
    "read JSON Lines": "read_jsonl.py",
    "policy": "policy.py",
    "report": "report.py",
    "samples of one prompt": "samples.py",
    "batches": "batch.py",
}


@dataclass(frozen=True)
class Row:
    """One line of the table. `met` is None where there is no target."""

    what: str
    measured: str
    target: str
    met: bool | None


def trajectories(count: int, *, salt: str) -> list[Trajectory]:
    """Runs that differ from each other, each a prompt of about 1,000 tokens under the benchmark's rubric."""
    from loopback_server import QUOTE

    from judge.types import Trajectory

    out = []
    for number in range(count):
        order = f"{salt}-{number:05d}"
        steps: list[dict[str, Any]] = [
            {"index": 1, "kind": "message", "role": "user",
             "content": [{"type": "text", "text": f"{QUOTE}: {order}."}]},
            {"index": 2, "kind": "tool_call", "name": "get_order", "arguments": {"order": order}, "call_id": "a"},
            {"index": 3, "kind": "tool_result", "call_id": "a", "call_index": 2, "pairing": "id", "status": "ok",
             "content": [{"type": "text", "text": f"Order {order}: delivered {number % 60} days ago, paid by card."}]},
            {"index": 4, "kind": "tool_call", "name": "read_policy", "arguments": {"topic": "refunds"}, "call_id": "b"},
            {"index": 5, "kind": "tool_result", "call_id": "b", "call_index": 4, "pairing": "id", "status": "ok",
             "content": [{"type": "text", "text": POLICY}]},
            {"index": 6, "kind": "final", "text": f"Order {order} was delivered {number % 60} days ago."},
        ]  # fmt: skip
        out.append(
            Trajectory.from_json({
                "schema": "judge.trajectory/1", "id": order, "task": f"{QUOTE}: {order}.", "group": order,
                "source": {"format": "native"}, "steps": steps, "final": f"Order {order} was delivered.",
            })
        )  # fmt: skip
    return out


def settings_for(port: int, cache_dir: Path) -> Settings:
    from judge.config import load_settings

    flags = {
        "judge": "openai/bench",
        "rubric": RUBRIC,
        "samples": 1,
        "concurrency": CONCURRENCY,
        "cache_dir": cache_dir,
        "temperature": 0.0,
    }
    environment = {"OPENAI_API_KEY": "sk-bench", "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
    return load_settings(flags, environment=environment, folder=cache_dir)


def requests_for(runs: Sequence[Trajectory]) -> list[Request]:
    """The prompts that the package would send for `runs`, ready made for the bare loop."""
    from judge.prompt import load_rubric, render
    from judge.types import Sampling

    rubric = load_rubric(RUBRIC)
    sampling = Sampling(temperature=0.0)
    return [render(rubric, run, sampling=sampling, count_tokens=lambda text: len(text) // 4).request for run in runs]


def judge_with_package(port: int, count: int, cache_dir: Path, *, warm: bool) -> dict[str, float]:
    from judge.engine.facade import score_many

    settings = settings_for(port, cache_dir)
    runs = trajectories(count, salt="run")
    first = trajectories(WARM_UP, salt="warm" if warm else "cold")
    for _ in score_many(first, settings=settings):
        pass
    wall, cpu = time.perf_counter(), time.process_time()
    verdicts = list(score_many(runs, settings=settings))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    bad = [verdict for verdict in verdicts if verdict.status != "ok"]
    if bad or len(verdicts) != count:
        raise SystemExit(f"{len(bad)} of {len(verdicts)} verdicts failed, first: {bad[0].errors if bad else ''}")
    return {"wall": wall, "cpu": cpu, "calls": float(sum(verdict.calls for verdict in verdicts))}


def judge_with_bare_sdk(port: int, count: int) -> dict[str, float]:
    return asyncio.run(_bare(port, count))


async def _bare(port: int, count: int) -> dict[str, float]:
    from openai import AsyncOpenAI

    prepared = requests_for([*trajectories(WARM_UP, salt="cold"), *trajectories(count, salt="run")])
    tokens = sum(len(r.system) + sum(map(len, r.segments)) for r in prepared) / len(prepared) / 4
    gate = asyncio.Semaphore(CONCURRENCY)
    async with AsyncOpenAI(api_key="sk-bench", base_url=f"http://127.0.0.1:{port}/v1", max_retries=0) as client:

        async def one(request: Request) -> float:
            async with gate:
                done = await client.chat.completions.create(
                    model="bench",
                    messages=[
                        {"role": "system", "content": request.system},
                        {"role": "user", "content": "\n\n".join(request.segments)},
                    ],
                    response_format={
                        "type": "json_schema",
                        "json_schema": {"name": request.reply_name, "strict": True, "schema": request.reply_schema},
                    },
                    temperature=0.0,
                    max_tokens=request.sampling.max_output_tokens,
                )
            return float(json.loads(done.choices[0].message.content or "")["score"])

        await asyncio.gather(*map(one, prepared[:WARM_UP]))
        wall, cpu = time.perf_counter(), time.process_time()
        scores = await asyncio.gather(*map(one, prepared[WARM_UP:]))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"wall": wall, "cpu": cpu, "calls": float(len(scores)), "tokens": tokens}


@contextmanager
def server(*options: str) -> Iterator[int]:
    """Port of a loopback server in a process of its own; `options` are of its command line."""
    command = [sys.executable, str(HERE / "loopback_server.py"), "--latency", str(LATENCY_S), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(timeout=60)


def child(mode: str, port: int, count: int, cache_dir: Path) -> dict[str, float]:
    """One measurement in a new process."""
    command = [sys.executable, __file__, "--child", mode, "--port", str(port), "--count", str(count)]
    command += ["--cache-dir", str(cache_dir)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(HERE)])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cache_dir)
    if done.returncode:
        raise SystemExit(f"the measurement {mode!r} failed:\n{done.stdout}{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.strip().split("\n")[-1])
    return found


def judging_rows(count: int, rounds: int) -> list[Row]:
    ideal = count / CONCURRENCY * LATENCY_S
    bare, ours, warm = [], [], []
    with server() as port, tempfile.TemporaryDirectory() as scratch:
        for number in range(rounds):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            bare.append(child("bare", port, count, folder))
            ours.append(child("package", port, count, folder))
            warm.append(child("warm", port, count, folder))
    best_bare, best_ours, best_warm = (min(r, key=lambda m: m["cpu"]) for r in (bare, ours, warm))
    wall = min(m["wall"] for m in ours) / ideal
    ratio = best_ours["cpu"] / best_bare["cpu"]
    speed = count / min(m["wall"] for m in warm)
    each = best_bare["cpu"] / count * 1000
    sent = int(best_warm["calls"])
    return [
        Row("tokens of a prompt (characters ÷ 4)", f"{best_bare['tokens']:.0f}", "about 1,000", None),
        Row(f"wall ÷ ideal, {count:,} judgments, {CONCURRENCY} at once", f"{wall:.2f}", "≤ 1.25", wall <= 1.25),
        Row("  bare SDK, wall ÷ ideal", f"{min(m['wall'] for m in bare) / ideal:.2f}", "", None),
        Row("CPU of a judgment ÷ bare SDK", f"{ratio:.2f}", "≤ 1.30", ratio <= 1.30),
        Row("  bare SDK, CPU of a call", f"{each:.2f} ms", "", None),
        Row("warm re-run from the cache", f"{speed:,.0f}/s", "≥ 3,000/s", speed >= 3000),
        Row("  ÷ best peer (711/s, measured elsewhere)", f"{speed / PEER_PER_SECOND:.1f}", "", None),
        Row("  calls sent in the warm re-run", f"{sent}", "0", sent == 0),
    ]


def cpu_of(*command: str, rounds: int) -> float:
    """Least CPU seconds, user and system, of a new process over `rounds` runs."""
    best = float("inf")
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return best


def start_rows(rounds: int) -> list[Row]:
    nothing = cpu_of(sys.executable, "-c", "pass", rounds=rounds)
    rows = []
    for what, command in {
        "import judge": [sys.executable, "-c", "import judge"],
        "judge --help": [sys.executable, "-m", "judge.cli.main", "--help"],
    }.items():
        seconds = cpu_of(*command, rounds=rounds)
        rows.append(Row(f"CPU of `{what}`", f"{seconds:.2f} s", "≤ 0.35 s", seconds <= 0.35))
        rows.append(Row("  ÷ `python -c pass`", f"{seconds / nothing:.1f}", "", None))
    return rows


def other_rows(quick: bool, full: bool) -> list[Row]:
    """The other benchmarks in this folder: each prints its own lines and ends with 1 where it missed a target.

    Args:
        full: Batches of a million results.
    """
    rows = []
    for what, name in OTHERS.items():
        flags = ["--quick"] if quick else ["--full"] if full and name == "batch.py" else []
        command = [sys.executable, str(HERE / name), *flags]
        print(f"\n-- {name}", flush=True)
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        code = subprocess.run(command, cwd=ROOT, env=environment).returncode
        rows.append(Row(what, "see above", f"{name} ends with 0", code == 0))
    return rows


def table(rows: Sequence[Row]) -> str:
    head = Row("what", "measured", "target", None)
    wide = [max(len(getattr(row, name)) for row in [head, *rows]) for name in ("what", "measured", "target")]
    met = {True: "yes", False: "NO", None: ""}
    lines = []
    for row in [head, *rows]:
        last = "met" if row is head else met[row.met]
        lines.append(f"{row.what:<{wide[0]}}  {row.measured:>{wide[1]}}  {row.target:<{wide[2]}}  {last}".rstrip())
    return "\n".join([lines[0], "-" * (sum(wide) + 9), *lines[1:]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="fewer judgments and one round")
    size.add_argument("--full", action="store_true", help="batches of a million results")
    parser.add_argument("--child", choices=["bare", "package", "warm"], help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--cache-dir", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        if given.child == "bare":
            found = judge_with_bare_sdk(given.port, given.count)
        else:
            found = judge_with_package(given.port, given.count, given.cache_dir, warm=given.child == "warm")
        print(json.dumps(found))
        return 0
    rows = start_rows(rounds=2 if given.quick else 7)
    rows += judging_rows(count=512 if given.quick else 2000, rounds=1 if given.quick else 3)
    rows += other_rows(given.quick, given.full)
    print("\n" + table(rows))
    missed = [row.what.strip() for row in rows if row.met is False]
    print(f"\n{len(missed)} of {sum(row.met is not None for row in rows)} targets missed", *missed, sep="\n  ")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
