"""Reading a large JSON Lines file of trajectories: speed beside json.loads, and memory at two sizes.

    python bench/read_jsonl.py [--mb 200] [--small-mb 20]

Speeds are megabytes per second over the same file in the same run; what counts is their ratio. Each
measurement of memory is a process of its own that reads the whole file and reports its highest resident size.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MIB = 2**20

_CHILD = """
import resource, sys
from judge.importers import load
steps = sum(len(run.steps) for run in load(sys.argv[1]))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(steps, peak if sys.platform == "darwin" else peak * 1024)
"""


def write_runs(path: Path, size: int) -> int:
    """Writes chat trajectories of about 20 kB until the file has `size` bytes; returns how many."""
    draw = random.Random(7)
    words = [draw.randbytes(draw.randint(2, 5)).hex() for _ in range(2000)]

    def text(length: int) -> str:
        return " ".join(draw.choices(words, k=length))

    written = 0
    with path.open("wb") as file:
        while file.tell() < size:
            messages: list[dict[str, object]] = [{"role": "user", "content": text(60)}]
            for call in range(8):
                arguments = json.dumps({"query": text(6), "limit": call})
                function = {"name": draw.choice(("search", "fetch", "book")), "arguments": arguments}
                asked = {"id": f"call_{call}", "type": "function", "function": function}
                messages.append({"role": "assistant", "content": None, "tool_calls": [asked]})
                messages.append({"role": "tool", "tool_call_id": f"call_{call}", "content": text(250)})
            messages.append({"role": "assistant", "content": text(80)})
            file.write(json.dumps({"id": f"run-{written}", "messages": messages, "reward": 1.0}).encode() + b"\n")
            written += 1
    return written


def seconds_of_json(path: Path) -> float:
    """CPU seconds of the standard library's parser over the lines of a file."""
    start = time.process_time()
    with path.open("rb") as file:
        for line in file:
            json.loads(line)
    return time.process_time() - start


def seconds_of_load(path: Path) -> float:
    """CPU seconds of `judge.load` over a file."""
    from judge.importers import load

    start = time.process_time()
    for _ in load(path):
        pass
    return time.process_time() - start


def peak_of_load(path: Path) -> int:
    """Highest resident size in bytes of a process that reads a file with `judge.load`."""
    out = subprocess.run([sys.executable, "-c", _CHILD, str(path)], check=True, capture_output=True, text=True).stdout
    return int(out.split()[1])


def main() -> None:
    """Prints the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=200, help="size of the large file in MiB")
    parser.add_argument("--small-mb", type=int, default=0, help="size of the small file; a tenth of the large one")
    parser.add_argument("--quick", action="store_true", help="20 MiB in place of --mb")
    options = parser.parse_args()
    options.mb = 20 if options.quick else options.mb
    small_mb = options.small_mb or max(options.mb // 10, 1)
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large.jsonl", Path(folder) / "small.jsonl"
        runs = write_runs(large, options.mb * MIB)
        write_runs(small, small_mb * MIB)
        print(f"read_jsonl: {runs} trajectories, {options.mb} MiB of OpenAI chat, then the same in native form")
        report("openai-chat", large, small)
        for path in (large, small):
            as_native(path)
        report("native", large, small)


def report(form: str, large: Path, small: Path) -> None:
    """Speeds beside json.loads over the large file, and peak memory at both sizes."""
    size = large.stat().st_size / MIB
    plain, ours = seconds_of_json(large), seconds_of_load(large)
    peak_small, peak_large = peak_of_load(small), peak_of_load(large)
    print(f"  {form}: json.loads {size / plain:.1f} MiB/s of CPU, judge.load {size / ours:.1f} MiB/s")
    print(f"    speed ÷ json.loads {plain / ours:.2f}")
    print(
        f"    peak memory {peak_small / MIB:.1f} MiB at {small.stat().st_size / MIB:.0f} MiB, "
        f"{peak_large / MIB:.1f} MiB at {size:.0f} MiB   ratio {peak_large / peak_small:.2f}"
    )


def as_native(path: Path) -> None:
    """Rewrites a file of trajectories in native form, in its place."""
    from judge.importers import load, write_jsonl

    other = path.with_name(f"native-{path.name}")
    write_jsonl(load(path), other)
    other.replace(path)


if __name__ == "__main__":
    main()
