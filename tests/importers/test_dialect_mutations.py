"""Mutated small traces of every tracer and SDK: what comes out is a trajectory or an error of ours."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_dialect_containers import PAYLOADS
from test_dialect_messages import AI, CALL, OUTPUT, STORED, part, pydantic, ui
from test_dialect_spans import GENERATIONS, conversation
from trace_records import langfuse, langsmith, mlflow, mlflow_span, observation, otlp, sdk

from judge.errors import JudgeError
from judge.importers import load

TOOL = {"type": "tool-f", "toolCallId": "c", "state": "output-error", "input": {}, "approval": {"id": "p"}}
SEEDS: list[list[Any]] = [
    [STORED],
    [[CALL, OUTPUT]],
    [{"type": "response.created", "response": STORED}, {"type": "response.output_item.done", "item": CALL}],
    [[{"type": "human", "data": {"content": "hi"}}, {**AI, "tool_calls": [{"name": "f", "args": {}, "id": "c"}]}]],
    [
        [
            pydantic(
                part("tool-call", tool_name="f", args="{}", tool_call_id="c"),
                kind="response",
                usage={"input_tokens": 1},
            )
        ]
    ],
    [ui(TOOL)],
    [{"type": "start", "messageId": "m"}, {"type": "tool-input-available", "toolCallId": "c", "toolName": "f"}],
    *([otlp(made)] for made in GENERATIONS.values()),
    [otlp(*conversation())],
    [sdk(made) for made in conversation()],
    *([langfuse(observation(1, "GENERATION", input=[made], output=made))] for made in PAYLOADS.values()),
    [langsmith(1, "chain", {}, {}, child_runs=[langsmith(2, "tool", {"input": "x"}, {"output": "r"})])],
    [mlflow(mlflow_span(1, "TOOL", {"a": 1}, "r"))],
    [{"inputs": [], "results": ["r"], "steps": [["a", "b:c"]]}],
]
VALUES = st.sampled_from(
    [
        None,
        0,
        -1,
        10**25,
        True,
        "",
        "x",
        '{"a":',
        '["x"]',
        '"\\"y\\""',
        [],
        {},
        [None],
        [{}],
        {"a": 1},
        {"type": []},
        "\ud800",
    ]
)
TRIED = {"inputs": 0, "read": 0}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything in a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@pytest.fixture(scope="module")
def attempt(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[Any]], None]:
    """Reads records as a file; what was read can be written; only our own errors are passed over."""
    path = tmp_path_factory.mktemp("mutated") / "trace.jsonl"

    def attempt(records: list[Any]) -> None:
        path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
        TRIED["inputs"] += 1
        with contextlib.suppress(JudgeError):
            for run in load(path):
                json.dumps(run.to_json(), allow_nan=False, ensure_ascii=False).encode()
                TRIED["read"] += 1

    return attempt


@pytest.mark.parametrize("at", range(len(SEEDS)))
def test_every_seed_reads_as_it_is(attempt: Callable[[list[Any]], None], at: int) -> None:
    before = TRIED["read"]
    attempt(SEEDS[at])
    assert TRIED["read"] > before


@settings(max_examples=1000, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_only_errors_of_ours_come_out(attempt: Callable[[list[Any]], None], data: st.DataObject) -> None:
    records: Any = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 3))):
        found = [place for place in places(records) if place]
        if isinstance(records, list) and found:
            records = replaced(records, data.draw(st.sampled_from(found)), data.draw(VALUES))
    attempt(records)


def test_enough_mutations_still_read() -> None:
    print(f"{TRIED['inputs']} inputs tried, {TRIED['read']} trajectories read")
    assert TRIED["read"] > 500
