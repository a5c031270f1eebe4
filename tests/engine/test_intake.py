"""A decoded value is read as the same value in a file is: same format, same refusal, recognised in one pass."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from judge.engine.intake import as_trajectories, as_trajectory
from judge.errors import AmbiguousFormat, TraceError, UsageError
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


class Table:
    """Like a DataFrame: iterating gives the names of its columns."""

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        return [{"messages": CHAT}]

    def __iter__(self) -> Any:
        return iter(["messages"])


@pytest.mark.parametrize("value", [None, 3, b"[]", {1}, Table()])
def test_what_can_be_no_trajectory_is_named(value: Any) -> None:
    with pytest.raises(TraceError, match=f"A trajectory was needed, and a {type(value).__name__} was given"):
        as_trajectory(value)


def test_a_table_is_told_from_the_names_of_its_columns() -> None:
    with pytest.raises(UsageError, match=r"A Table was given\. Give its rows: table\.to_dict"):
        as_trajectories(Table())
    (row,) = as_trajectories(Table().to_dict("records"))
    assert len(row.steps) == 2
    with pytest.raises(UsageError, match="found a NoneType"):
        as_trajectories(None)  # type: ignore[arg-type]
