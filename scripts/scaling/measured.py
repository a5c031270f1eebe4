"""Figures of one trajectory, measured: its prompt, its verdict on disk, the processor time around its call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import Any

from scaling.arithmetic import Item

ROOT = Path(__file__).resolve().parents[2]
LATENCY_S = 0.02
CONCURRENCY = 64
TOKENIZER = "cl100k_base"


@dataclass(frozen=True)
class Prompts:
    """The prompts of real trajectories.

    Attributes:
        common: Tokens that stand at the beginning of every prompt: fixed rules and rubric.
        trace_bytes: Mean size of a trajectory in the input.
    """

    mix: tuple[Item, ...]
    common: int
    trace_bytes: float


def counter() -> tuple[str, Callable[[str], int]]:
    """A tokenizer's name and its function: the one that litellm ships a file for, else the package's estimate."""
    from judge.providers.tokens import estimate_tokens

    found = find_spec("litellm")
    kept = [
        Path(folder) / "litellm_core_utils" / "tokenizers"
        for folder in getattr(found, "submodule_search_locations", ())
    ]
    if not any(folder.is_dir() for folder in kept) or not find_spec("tiktoken"):
        return "estimated at 2.5 bytes each, 20 to 60 % too many", estimate_tokens
    os.environ["TIKTOKEN_CACHE_DIR"] = str(kept[0])
    import tiktoken

    encoding = tiktoken.get_encoding(TOKENIZER)
    return f"of {TOKENIZER}", lambda text: len(encoding.encode(text, disallowed_special=()))


def prompts(paths: Sequence[Path], rubric: str, judge: str, *, samples: float, reply: float) -> Prompts:
    """Renders every trajectory of the files for a judge, as a batch would, and asks how its samples would be asked."""
    from judge.config import load_settings
    from judge.engine.judging import Judging
    from judge.engine.setup import make_setup
    from judge.importers import load
    from judge.prompt import load_rubric
    from judge.providers import connect
    from judge.types.verdict import Verdict

    _, count = counter()
    settings = load_settings({"judge": judge, "cache": False}, environment={}, folder=ROOT)
    connection = connect(judge, settings)
    judging = Judging(make_setup(load_rubric(rubric), connection, settings, policy="None."), connection)
    mix: list[Item] = []
    traces: list[int] = []
    common = 0
    for trajectory in (trajectory for path in paths for trajectory in load(path)):
        case = judging.begin(trajectory, None)
        if isinstance(case, Verdict):
            raise SystemExit(f"{trajectory.id!r} does not fit {judge}.")
        request = case.prompt.request
        texts = [request.system, *request.segments]
        common = count("\n".join(texts[:2]))
        traces.append(len(json.dumps(trajectory.to_json(), ensure_ascii=False).encode()))
        mix.append(
            Item(
                prompt=count("\n".join(texts)),
                shared=count("\n".join(texts[:-1])),
                reply=reply,
                samples=samples,
                request_bytes=len(json.dumps(connection.payload(request), ensure_ascii=False).encode()),
                how=connection.sharing(request, case.prompt.tokens) if samples > 1 else "apart",
            )
        )
    return Prompts(tuple(mix), common, fmean(traces))


@contextmanager
def loopback_server() -> Iterator[int]:
    """Port of a server in a process of its own, so that its work is not counted."""
    command = [sys.executable, str(ROOT / "bench" / "loopback_server.py"), "--latency", str(LATENCY_S)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(timeout=10)


def write_input(paths: Sequence[Path], target: Path, count: int) -> None:
    """`count` trajectories with ids of their own: those of the files, over and over."""
    from judge.importers import load

    real = [trajectory.to_json() for path in paths for trajectory in load(path)]
    with target.open("w", encoding="utf-8") as file:
        for number in range(count):
            file.write(json.dumps({**real[number % len(real)], "id": f"run-{number:07d}"}, ensure_ascii=False) + "\n")


def judged(paths: Sequence[Path], count: int, work: Path, *, mode: str, reply: str, port: int) -> dict[str, float]:
    """A batch of `count` in this process: mode "called" asks a server, "ray" and "local" a script, by that engine."""
    from judge.config import load_settings
    from judge.engine.batch import judge_batch
    from judge.prompt import load_rubric

    source = work / "in.jsonl"
    write_input(paths, source, count)
    rubric = load_rubric("process")
    free = tuple(criterion.model_copy(update={"evidence": "none"}) for criterion in rubric.criteria)
    script = work / "script.json"
    script.write_text(json.dumps({"default": {"score": 4, "reason": reply}}), encoding="utf-8")
    flags: dict[str, Any] = {"judge": f"fake/{script}", "cache": False, "samples": 1, "concurrency": CONCURRENCY}
    if mode == "called":
        flags |= {"judge": "openai/bench", "base_url": f"http://127.0.0.1:{port}/v1"}
    settings = load_settings(flags, environment={}, folder=work)
    options: dict[str, Any] = {"out": work / "run", "settings": settings}
    engine = "ray" if mode == "ray" else "local"
    wall, cpu = time.perf_counter(), time.process_time()
    result = judge_batch([source], rubric.model_copy(update={"criteria": free}), **options, engine=engine).result
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if result.summary.scored != count:
        raise SystemExit(f"{result.summary.scored} of {count} were scored: {result.summary.errors}")
    resume = time.perf_counter()
    judge_batch([source], rubric.model_copy(update={"criteria": free}), **options, resume=True)
    resume = time.perf_counter() - resume
    sizes = {name: (work / "run" / name).stat().st_size for name in ("results.jsonl", "index.sqlite")}
    return {
        "wall_s": wall,
        "cpu_s": cpu,
        "resume_s": resume,
        "results_bytes": sizes["results.jsonl"] / count,
        "index_bytes": sizes["index.sqlite"] / count,
        "peak_mib": peak_mib(),
    }


def peak_mib() -> float:
    """Most memory that this process has held, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("the peak of memory is not told here")


def child(paths: Sequence[Path], count: int, *, mode: str, reply: str, port: int = 0) -> dict[str, float]:
    """As `judged`, in a new process, so that its time and memory are its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        orders = {"paths": [str(path) for path in paths], "count": count, "work": work, "mode": mode, "reply": reply}
        done = subprocess.run(
            [sys.executable, "-m", "scaling.measured"],
            input=json.dumps({**orders, "port": port}),
            capture_output=True,
            text=True,
            cwd=ROOT / "scripts",
            env={**os.environ, "PYTHONPATH": str(ROOT), "JUDGE_CACHE_DIR": str(Path(work) / "cache")},
        )
        if done.returncode:
            raise SystemExit(f"the measurement {mode!r} failed:\n{done.stdout}{done.stderr}")
        found: dict[str, float] = json.loads(done.stdout.strip().split("\n")[-1])
        return found


def cache_bytes(reply: str, *, count: int = 2000) -> float:
    """Bytes on disk of one kept reply."""
    from judge.providers.cache import TextCache
    from judge.types.request import Reply
    from judge.types.trajectory import Usage

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        cache = TextCache(Path(work))
        kept = Reply(text=reply, model="some-model", finish_reason="stop", usage=Usage(input_tokens=1, output_tokens=1))
        for number in range(count):
            cache.put(f"{number:064x}", kept.model_dump_json(exclude_none=True))
        cache.close()
        return sum(path.stat().st_size for path in Path(work).rglob("*") if path.is_file()) / count


def main() -> None:
    given = json.loads(sys.stdin.read())
    paths, work = [Path(path) for path in given.pop("paths")], Path(given.pop("work"))
    print(json.dumps(judged(paths, given.pop("count"), work, **given)))


if __name__ == "__main__":
    main()
