"""A decoded value is read as the same value in a file is: same format, same refusal, recognised in one pass."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from judge.engine.intake import as_trajectory
from judge.errors import AmbiguousFormat
from judge.importers import detect, load
from judge.importers.dialects import classify

CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]
EVENTS = {"id": "a", "events": [{"type": "llm_call", "output": "x"}, {"type": "tool_call", "name": "f", "args": {}}]}


@pytest.mark.parametrize("value", [CHAT, {"messages": CHAT}, EVENTS], ids=["list", "chat", "events"])
def test_a_value_is_read_as_a_file_of_it(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    (filed,) = load(path)
    given = as_trajectory(value)
    assert given.source.format == filed.source.format == detect(path)[0].format
    assert [step.to_json() for step in given.steps] == [step.to_json() for step in filed.steps]


def test_a_value_that_fits_two_formats_is_refused() -> None:
    both = EVENTS | {"messages": [*CHAT[:1], {"role": "assistant", "content": None, "tool_calls": []}]}
    with pytest.raises(AmbiguousFormat, match=r"events.*openai-chat"):
        as_trajectory(both)


def test_the_formats_are_recognised_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []
    module = importlib.import_module("judge.importers.detect")  # the function of that name hides it

    def counted(*given: Any) -> Any:
        passes.append(1)
        return classify.tally(*given)

    monkeypatch.setattr(module, "tally", counted)
    assert as_trajectory(CHAT).source.format == "openai-chat"
    assert len(passes) == 1
