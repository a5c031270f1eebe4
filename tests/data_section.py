"""Text of a run stands in the data section of a rendered prompt and nowhere else: the check of every attack test."""

from __future__ import annotations

import json

import pytest

from judge.prompt import Prompt, render
from judge.types.rubric import Rubric
from judge.types.trajectory import Trajectory


def rendered(rubric: Rubric, run: Trajectory) -> Prompt:
    return render(rubric, run, count_tokens=lambda text: len(text) // 4)


def pieces(text: str) -> list[str]:
    """The lines of an attack that no prompt of ours holds by itself."""
    return [line.strip() for line in text.splitlines() if len(line.strip()) > 12]


def refuse_escapes(rubric: Rubric, run: Trajectory, clean: Prompt, text: str) -> str:
    """Checks one prompt against that of a harmless run; gives its data section."""
    prompt = rendered(rubric, run)
    request, plain = prompt.request, clean.request
    assert request.system == plain.system
    assert request.reply_schema == plain.reply_schema
    before, data, after = request.segments
    assert (before, after) == (plain.segments[0], plain.segments[2])
    for piece in pieces(text):
        for ours in (request.system, before, after, json.dumps(request.reply_schema)):
            assert piece not in ours
    lines = data.rstrip("\n").split("\n")
    assert lines[-1] == prompt.mark
    assert data.count(prompt.mark) == 1
    opening = [line for line in lines if line.startswith(("BEGIN DATA", "END DATA"))]
    assert len(opening) == 2
    for line in lines[1:-1]:
        for piece in pieces(text):
            if line.lstrip(" -").startswith(piece):
                pytest.fail(f"an attack begins a line of ours: {line!r}")
        if line.startswith("[S"):
            number = int(line[2 : line.index("]")])
            assert 1 <= number <= len(run.steps), f"a step that the run has not: {line!r}"
    headed = [int(line[2 : line.index("]")]) for line in lines if line.startswith("[S")]
    assert headed == sorted(set(headed)), "a step opens twice, or out of order"
    return data
