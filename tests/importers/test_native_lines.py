"""Native JSON Lines: the quick way and the slow way give the same runs, however long the file is."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

from judge.importers import load
from judge.importers.source import HEAD
from judge.types import Trajectory


def native(name: str, **step: Any) -> dict[str, Any]:
    return {
        "schema": "judge.trajectory/1",
        "id": name,
        "source": {"format": "native"},
        "steps": [
            {"index": 1, "kind": "tool_call", "name": "search", "arguments": {"q": "a", "n": 1.0}, **step},
            {"index": 2, "kind": "final", "text": "done"},
        ],
    }


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_every_line_behind_the_head_is_read_and_equals_the_slow_reading(tmp_path: Path) -> None:
    values = [native(f"r{k}", extra={"k": k, "big": 10**19 + k, "nothing": None}) for k in range(3 * HEAD)]
    found = list(load(write(tmp_path / "runs.jsonl", [json.dumps(value) for value in values])))
    assert found == [Trajectory.from_json(value) for value in values]


def test_lines_that_need_replacing_are_replaced_behind_the_head_as_well(tmp_path: Path) -> None:
    plain = [json.dumps(native(f"r{k}")) for k in range(HEAD + 5)]
    odd = json.dumps(native("odd")).replace('"n": 1.0', '"n": NaN')
    torn = json.dumps(native("torn")).replace('"done"', '"\\ud83d cut"')
    found = {run.id: run for run in load(write(tmp_path / "runs.jsonl", [*plain, odd, torn, plain[0][:40], plain[1]]))}
    assert found["odd"].steps[0].arguments == {"q": "a", "n": None}  # type: ignore[union-attr]
    assert found["torn"].final is None
    assert found["torn"].steps[1].text == "\ufffd cut"  # type: ignore[union-attr]
    codes = [note.code for run in found.values() for note in run.diagnostics]
    assert "BAD_LINE" in codes
    assert "NON_FINITE" in codes
    assert len(found) == HEAD + 5 + 2 + 1  # the repeated id stands as r1#2
    assert "r1#2" in found


def test_without_unique_ids_ten_times_as_many_runs_take_no_more_memory(tmp_path: Path) -> None:
    peaks = {}
    for unique in (False, True):
        for count in (500, 500, 5000):  # the first pass fills what is made once for a process
            lines = [json.dumps(native(f"{k:0200d}")) for k in range(count)]
            path = write(tmp_path / f"{count}.jsonl", lines)
            tracemalloc.start()
            assert sum(1 for _ in load(path, unique=unique)) == count
            peaks[unique, count] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    assert peaks[False, 5000] < 1.2 * peaks[False, 500]
    assert peaks[True, 5000] > 1.2 * peaks[True, 500]  # so the measure does see ids that are held
