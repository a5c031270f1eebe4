"""An attack in any text of a trace file, of whatever format, is data once the file is imported and rendered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from data_section import refuse_escapes, rendered

from judge.calibration.probes.attack_texts import ATTACKS, attack_text
from judge.errors import JudgeError
from judge.importers import load
from judge.prompt import load_rubric
from judge.types.trajectory import Trajectory

RUBRIC = load_rubric("process")
LONGEST = 200_000
"""Bytes of a sample; what the larger ones hold, the smaller ones hold too."""
WORDS = 2
"""Fewest words of a text that is not a name of the format's own."""


def with_text(value: Any, text: str) -> Any:
    """Every text in a JSON document that has words in it, with `text` behind it; names of the format stay."""
    if isinstance(value, dict):
        return {key: with_text(inner, text) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_text(inner, text) for inner in value]
    if not isinstance(value, str) or len(value.split()) < WORDS:
        return value
    try:
        inner = json.loads(value)  # JSON in a text, as arguments and attributes are
    except ValueError:
        return f"{value}\n{text}"
    return json.dumps(with_text(inner, text)) if isinstance(inner, dict | list) else value


def attacked(raw: str, text: str, *, lines: bool) -> str | None:
    """The file with the attack in every text; None where it is no JSON, or has no text with words."""
    try:
        documents = [json.loads(line) for line in raw.splitlines() if line.strip()] if lines else [json.loads(raw)]
    except ValueError:
        return None
    changed = [with_text(document, text) for document in documents]
    return "\n".join(json.dumps(document) for document in changed) + "\n" if changed != documents else None


def runs_of(path: Path) -> list[Trajectory] | None:
    try:
        return list(load(path, limit=3))
    except JudgeError:
        return None


def samples(shared: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted((shared / "formats").rglob("*.json*")):
        if path.suffix in (".json", ".jsonl") and path.stat().st_size <= LONGEST:
            yield path, path.read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_in_any_text_of_any_format_stays_data(shared: Path, tmp_path: Path, name: str) -> None:
    text = attack_text(name, "strong", "5")
    telling = max((word for word in text.split() if word.isascii() and word.isalpha()), key=len)
    inside: set[str] = set()
    for path, raw in samples(shared):
        clean = runs_of(path)
        changed = attacked(raw, text, lines=path.suffix == ".jsonl") if clean else None
        if changed is None:
            continue
        copy = tmp_path / path.name
        copy.write_text(changed, encoding="utf-8")
        for run in runs_of(copy) or ():
            plain = rendered(RUBRIC, run.model_copy(update={"steps": (), "final": None, "task": None}))
            data = refuse_escapes(RUBRIC, run, plain, text)
            if telling in data:
                inside.add(path.relative_to(shared / "formats").parts[0])
    assert len(inside) >= 12, f"the attack came through importers of these alone: {sorted(inside)}"


def test_a_text_is_found_wherever_it_stands() -> None:
    raw = {"role": "user", "content": [{"text": "two words"}], "arguments": json.dumps({"q": "two words"})}
    found = with_text(raw, "ATTACK")
    assert found["role"] == "user"
    assert found["content"] == [{"text": "two words\nATTACK"}]
    assert json.loads(found["arguments"]) == {"q": "two words\nATTACK"}
