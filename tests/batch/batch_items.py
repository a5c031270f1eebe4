"""What the tests of batches share: small trajectories, a rubric, settings, and a judge server that knows each item."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loopback import LoopbackServer, Received, Scripted, chat

from judge.config import Settings, load_settings
from judge.types import Criterion, Rubric

CRITERION = Criterion(id="quality", question="How good?", scale={"min": 1, "max": 5, "step": 1}, evidence="none")  # type: ignore[arg-type]
RUBRIC = Rubric(id="own", version="1", title="Own", intent="To test.", criteria=(CRITERION,))
GOOD = json.dumps({"reason": "fine", "score": 4})
PATIENCE_S = 180.0
"""Longer than any step of a test takes on a slow machine; where all is well nobody waits for it."""
ITEM = re.compile(r"item-\d+")


def name_of(number: int) -> str:
    return f"item-{number:04d}"


def trajectory(name: str, said: str | None = None) -> dict[str, Any]:
    return {
        "schema": "judge.trajectory/1",
        "id": name,
        "source": {"format": "native"},
        "steps": [{"index": 1, "kind": "final", "text": said or f"the answer of {name}"}],
    }


def write_items(path: Path, count: int, *, said: dict[str, str] | None = None, names: list[str] | None = None) -> Path:
    """A file of trajectories; `said` changes the answer of some."""
    chosen = names if names is not None else [name_of(number) for number in range(count)]
    lines = [json.dumps(trajectory(name, (said or {}).get(name))) for name in chosen]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def settings_of(folder: Path, url: str, **flags: Any) -> Settings:
    """Settings for a judge behind a loopback server; prices are given, so that caps can be set."""
    values: dict[str, Any] = {
        "judge": "openai/m1",
        "providers": {"openai": {"base_url": f"{url}/v1", **flags.pop("provider", {})}},
        "models": {"openai/m1": {"input_usd_per_million": 1000.0, "output_usd_per_million": 1000.0}},
        "cache_dir": folder / "cache",
        "samples": 1,
        "max_output_tokens": 100,
        **flags,
    }
    return load_settings(values, environment={}, folder=folder)


def provider_settings(folder: Path, url: str, provider: str, *, batch_api: dict[str, Any], **flags: Any) -> Settings:
    """Settings for a judge whose provider's batch API is a loopback server, which needs no patience."""
    judge = f"{provider}/m1"
    prices = {"input_usd_per_million": 1000.0, "output_usd_per_million": 1000.0}
    given: dict[str, Any] = {
        "judge": judge,
        "providers": {provider: {"base_url": f"{url}/v1"}},
        "models": {judge: prices},
        "batch_api": {
            "first_poll_s": 0.001,
            "longest_poll_s": 0.01,
            "settle_s": 0.0,
            "price_share": 0.5,
            **batch_api,
        },
        "http_retries": 1,
        **flags,
    }
    return settings_of(folder, url, **given)


class JudgeServer:
    """A judge that counts the requests for each item. `answer` sees the item and how often it was asked before."""

    def __init__(self, answer: Callable[[str, int], Scripted] | None = None, *, delay: float = 0.0) -> None:
        self.calls: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._answer = answer or (lambda item, before: chat(GOOD, delay=delay))
        self.server = LoopbackServer(self._serve)

    def _serve(self, received: Received) -> Scripted:
        found = ITEM.search(received.body["messages"][1]["content"])
        item = found[0] if found else "none"
        with self._lock:
            before = self.calls[item]
            self.calls[item] += 1
        return self._answer(item, before)

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def requests(self) -> int:
        with self._lock:
            return sum(self.calls.values())

    def __enter__(self) -> JudgeServer:
        self.server.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.__exit__(*error)


def recorded(folder: Path) -> list[str]:
    """Ids on the complete lines of a run's results, in the order of writing."""
    path = folder / "results.jsonl"
    if not path.is_file():
        return []
    return [json.loads(line)["trajectory_id"] for line in path.read_bytes().split(b"\n")[:-1] if line.strip()]


def until(holds: Callable[[], bool]) -> None:
    """Waits for a condition."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.01)


def heard_on_stderr(process: subprocess.Popen[str], text: str) -> str:
    """What a process says on stderr up to the line that holds `text`."""
    assert process.stderr is not None
    said = ""
    while text not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    return said
