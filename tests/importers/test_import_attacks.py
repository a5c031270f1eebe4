"""An attack in any text of a trace file, whatever the format, stands in the data section of the prompt only."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from chat_records import asks, tool, user
from data_section import pieces, refuse_escapes, rendered
from trace_writers import WRITERS, Turn

from judge.calibration.probes.attack_texts import ATTACKS, STRENGTHS, attack_text
from judge.errors import JudgeError
from judge.importers import load
from judge.prompt import load_rubric
from judge.types.trajectory import Trajectory

RUBRIC = load_rubric("process")
TEXTS = [attack_text(name, strength, "5") for name in ATTACKS for strength in STRENGTHS]
TURNS: tuple[Turn, ...] = (
    ("user", "please look it up"),
    ("call", "c1", "find", '{"query": "blue door", "deep": {"words": ["one", "two"]}}'),
    ("result", "c1", "find", '{"hits": [{"title": "Doors"}]}'),
    ("call", "c2", "read", '{"page": 3}'),
    ("result", "c2", "read", "the door is green"),
    ("assistant", "it is green"),
)
CHAT = [
    {
        "id": "own",
        "messages": [user(), asks(("c1", "find", '{"query": "door"}')), tool("c1", "green", name="find"), user("and?")],
    }
]
OWN = {"openai": CHAT, **{name: writer(TURNS) for name, (_, writer) in WRITERS.items()}}
LARGEST = 400_000
EACH = 25
"""Places that are attacked in one real file, drawn at random."""
FOLDERS = [number for number in range(1, 21) if number != 13]
"""Of 20 folders; the thirteenth holds no file of a run."""

Place = tuple[Any, ...]
"""Keys down to a text; None steps into JSON that is held as text."""


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    """Every text in the value, that within JSON held as text too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*here, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from places(inner, (*here, at))
    elif isinstance(value, str):
        yield here
        if value[:1] in "{[" and value[-1:] in "}]":
            try:
                yield from places(json.loads(value), (*here, None))
            except json.JSONDecodeError:
                return


def attacked(value: Any, place: Place, text: str) -> Any:
    """The value with the attack behind the text at the place."""
    if not place:
        return f"{value}\n{text}"
    key, *rest = place
    if key is None:
        return json.dumps(attacked(json.loads(value), tuple(rest), text))
    inner = attacked(value[key], tuple(rest), text)
    if isinstance(value, dict):
        return {**value, key: inner}
    return [*value[:key], inner, *value[key + 1 :]]


def runs(path: Path, content: Any) -> list[Trajectory]:
    """What the importers make of it; nothing where they refuse it."""
    text = "\n".join(map(json.dumps, content)) if path.suffix == ".jsonl" else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    try:
        return list(load(path))
    except JudgeError:
        return []


def attack_places(path: Path, content: Any, chosen: list[Place]) -> Counter[str]:
    """Attacks each place by itself, the texts in turn, and counts what came of it."""
    plain = rendered(RUBRIC, next(run for run in runs(path, content) if run.steps))
    seen: Counter[str] = Counter()
    for turn, place in zip(count(), chosen, strict=False):
        text = TEXTS[turn % len(TEXTS)]
        made = runs(path, attacked(content, place, text))
        seen["refused"] += not made
        for run in made:
            if not run.steps:
                continue
            data = refuse_escapes(RUBRIC, run, plain, text)
            seen["rendered"] += 1
            seen["shown"] += any(word in data for piece in pieces(text) for word in piece.split() if len(word) > 6)
    return seen


@pytest.mark.parametrize("name", OWN)
def test_no_text_of_a_small_file_lets_an_attack_out(tmp_path: Path, name: str) -> None:
    content = OWN[name]
    chosen = list(places(content))
    seen = attack_places(tmp_path / "trace.jsonl", content, chosen)
    assert len(chosen) >= 12
    assert seen["shown"] >= 5, f"hardly any attack came into the prompt at all: {seen}"


@pytest.mark.shared
@pytest.mark.parametrize("folder", FOLDERS)
def test_no_text_of_a_real_file_lets_an_attack_out(
    shared: Path, tmp_path: Path, folder: int, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = random.Random(folder)
    seen: Counter[str] = Counter()
    for path in sorted((shared / "formats").glob(f"{folder:02d}_*/**/*.json*")):
        if path.stat().st_size > LARGEST:
            continue
        text = path.read_text(encoding="utf-8")
        content = [json.loads(line) for line in text.split("\n") if line.strip()] if path.suffix == ".jsonl" else None
        content = json.loads(text) if content is None else content
        target = tmp_path / path.name
        if not any(run.steps for run in runs(target, content)):
            continue
        found = list(places(content))
        seen += attack_places(target, content, draw.sample(found, min(EACH, len(found))))
    if not seen:
        pytest.skip(f"no small JSON file of a run in folder {folder:02d} of the formats")
    with capsys.disabled():
        print(f"\nformats {folder:02d}: {dict(seen)}")
    assert seen["shown"] > 0
