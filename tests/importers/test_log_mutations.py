"""Real files, damaged at random: trajectories come out, or an error of ours, and nothing else."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judge.errors import JudgeError
from judge.importers import load, to_atif

SEED = 20261130
ROUNDS = 6
"""Damaged copies of each file and way; every file of the folders below is damaged in each way."""
LARGEST = 120_000
FOLDERS = ("08*", "09*", "10*", "11*", "13*", "15*", "18*", "19*", "20*")
ODD: tuple[Any, ...] = (None, True, -1, 1.5, "", "x", [], {}, [None], {"a": []}, 10**30, "\ud83d", [[]], {"type": 3})

Draw = random.Random


def flipped(data: bytes, draw: Draw) -> bytes:
    """Some bytes changed."""
    out = bytearray(data)
    for _ in range(draw.randint(1, 8)):
        out[draw.randrange(len(out))] = draw.randrange(256)
    return bytes(out)


def cut(data: bytes, draw: Draw) -> bytes:
    """The file cut off, or a piece of it missing."""
    start = draw.randrange(len(data))
    return data[:start] if draw.random() < 0.5 else data[:start] + data[start + draw.randint(1, 400) :]


def swapped(data: bytes, draw: Draw) -> bytes:
    """Values and keys in the JSON replaced by odd ones, the syntax left whole."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return flipped(data, draw)
    try:
        values = [json.loads(text)]
    except json.JSONDecodeError:
        values = [json.loads(line) for line in text.split("\n") if line.strip()]
    for _ in range(draw.randint(1, 5)):
        values[draw.randrange(len(values))] = _replaced(values[draw.randrange(len(values))], draw)
    return "\n".join(json.dumps(value) for value in values).encode()


def _replaced(value: Any, draw: Draw) -> Any:
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice(list(value))
        if draw.random() < 0.15:
            return {name: item for name, item in value.items() if name != key}
        return {**value, key: _replaced(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.9:
        at = draw.randrange(len(value))
        return [*value[:at], _replaced(value[at], draw), *value[at + 1 :]]
    return draw.choice(ODD)


@pytest.mark.shared
@pytest.mark.parametrize("way", [flipped, cut, swapped])
def test_damaged_real_files_give_runs_or_an_error_of_ours(
    shared: Path, tmp_path: Path, way: Callable[[bytes, Draw], bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    draw = random.Random(SEED)
    tried = read = refused = 0
    for folder in FOLDERS:
        for path in sorted((shared / "formats").glob(f"{folder}/**/*.*")):
            if path.suffix == ".md" or not path.is_file() or path.stat().st_size > LARGEST:
                continue
            whole = path.read_bytes()
            for _ in range(ROUNDS):
                target = tmp_path / path.name
                target.write_bytes(way(whole, draw))
                tried += 1
                try:
                    for run in load(target):
                        run.to_json()
                        json.dumps(to_atif(run).value)
                    read += 1
                except JudgeError:
                    refused += 1
    with capsys.disabled():
        print(f"\n{way.__name__}: {tried} damaged files, {read} read, {refused} refused")
    assert tried > 200
    assert read + refused == tried
