"""Batches in forked children of one process that has everything imported, so that a kill costs no start-up.

Reads one JSON order a line: {"resume": bool, "kill_at": lines or null, "then_s": seconds}. The child is killed by
SIGKILL once the results have grown by `kill_at` lines, `then_s` later. Answers each order with the child's end.

    python forked.py INPUT FOLDER URL WORK CONCURRENCY
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import aiohttp  # noqa: E402, F401  # loaded before the fork, as is all that a call needs
import openai  # noqa: E402
from batch_items import RUBRIC, settings_of  # noqa: E402

from judge.engine.batch import judge_batch  # noqa: E402

assert openai.DefaultAioHttpClient
assert openai.AsyncOpenAI(api_key="none").chat.completions


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def child(source: Path, folder: Path, url: str, work: Path, concurrency: int, resume: bool) -> None:
    settings = settings_of(work, url, concurrency=concurrency)
    outcome = judge_batch([source], RUBRIC, out=folder, settings=settings, resume=resume)
    os._exit(0 if outcome.error is None and outcome.result.pending == 0 else 1)


def main() -> None:
    source, folder, url, work, concurrency = sys.argv[1:]
    results = Path(folder) / "results.jsonl"
    print("ready", flush=True)
    for text in sys.stdin:
        order = json.loads(text)
        before = lines(results)
        pid = os.fork()
        if pid == 0:
            child(Path(source), Path(folder), url, Path(work), int(concurrency), order["resume"])
        ended = 0
        if order["kill_at"] is not None:
            while ended == 0 and lines(results) - before < order["kill_at"]:
                time.sleep(0.001)
                ended, status = os.waitpid(pid, os.WNOHANG)
            if ended == 0:
                time.sleep(order["then_s"])
                os.kill(pid, signal.SIGKILL)
        if ended == 0:
            ended, status = os.waitpid(pid, 0)
        print(json.dumps({"killed": os.WIFSIGNALED(status), "status": status}), flush=True)


if __name__ == "__main__":
    main()
