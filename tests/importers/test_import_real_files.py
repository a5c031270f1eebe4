"""Real trace files: what is imported equals an independent count on their raw JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.importers import load
from judge.types import ToolCall, ToolResult, Trajectory

pytestmark = pytest.mark.shared

OPENAI = [
    "data/tau_bench_airline/gpt-4o-airline.json",
    "data/agentprocessbench/trajectories/hotpotqa.jsonl",
    "data/livemcpbench/trajectories_with_human_label.jsonl",
    "formats/12_tau/tau_bench_gpt4o_airline_first2.json",
    "formats/01_openai_chat/chat_completion_model_dump.json",
    "formats/01_openai_chat/openhands_litellm_log.json",
]
ANTHROPIC = [
    "anthropic-claude-opus-5-reasoning-high.1.json",
    "anthropic-mcp.1.json",
    "anthropic-programmatic-tool-calling.1.json",
    "anthropic-tool-no-args.json",
    "anthropic-web-fetch-tool.error.json",
]
ATIF = [
    "openhands_hello-world.trajectory.json",
    "openhands_hello-world.trajectory.no_function_calling.json",
    "terminus_2_hello-world-context-summarization-linear-history.trajectory.cont-1.json",
    "terminus_2_hello-world-context-summarization-linear-history.trajectory.json",
]


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object at any depth, by a walk that knows no format."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from objects(item)


def raw(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line] if path.suffix == ".jsonl" else json.loads(text)


def counted(runs: list[Trajectory]) -> tuple[int, int]:
    kinds = Counter(step.kind for run in runs for step in run.steps)
    return kinds["tool_call"], kinds["tool_result"]


@pytest.mark.parametrize("name", OPENAI)
def test_openai_files_keep_every_call_and_every_result(shared: Path, name: str) -> None:
    found = list(objects(raw(shared / name)))
    asked = sum(len(item["tool_calls"]) for item in found if isinstance(item.get("tool_calls"), list))
    told = sum(item.get("role") == "tool" for item in found)
    assert counted(list(load(shared / name))) == (asked, told)


@pytest.mark.parametrize("name", ANTHROPIC)
def test_anthropic_files_keep_every_call_and_every_result(shared: Path, name: str) -> None:
    path = shared / "formats" / "03_anthropic" / name
    types = Counter(str(block.get("type")) for block in raw(path)["content"])
    asked = sum(number for kind, number in types.items() if kind.endswith("tool_use"))
    told = sum(number for kind, number in types.items() if kind.endswith("tool_result"))
    runs = list(load(path))
    assert counted(runs) == (asked, told)
    assert all(isinstance(run.steps[0].usage, object) for run in runs)
    assert runs[0].steps[0].usage is not None


@pytest.mark.parametrize("name", ATIF)
def test_atif_files_keep_every_call_and_every_result(shared: Path, name: str) -> None:
    path = shared / "formats" / "11_atif" / name
    steps = raw(path)["steps"]
    asked = sum(len(step.get("tool_calls") or []) for step in steps)
    told = sum(len((step.get("observation") or {}).get("results") or []) for step in steps)
    (run,) = load(path)
    assert counted([run]) == (asked, told)
    assert run.usage is not None


def test_tau_bench_has_its_runs_their_ids_and_their_rewards(shared: Path) -> None:
    path = shared / "data" / "tau_bench_airline" / "gpt-4o-airline.json"
    records, runs = raw(path), list(load(path))
    assert len(runs) == len({run.id for run in runs}) == 200
    assert [run.group for run in runs] == [str(record["task_id"]) for record in records]
    assert [run.labels["reward"] for run in runs] == [record["reward"] for record in records]
    assert [run.meta["trial"] for run in runs] == [record["trial"] for record in records]
    for record, run in zip(records, runs, strict=True):
        script = record["info"]["task"]["instruction"]
        asked = next(message["content"] for message in record["traj"] if message["role"] == "user")
        assert run.task == asked  # not the script of the simulated user
        assert all(script not in json.dumps(step.to_json()) for step in run.steps)


def test_tau_bench_repeats_call_ids_and_each_result_still_meets_its_call(shared: Path) -> None:
    path = shared / "data" / "tau_bench_airline" / "gpt-4o-airline.json"
    records, runs = raw(path), list(load(path))
    repeats = [note for run in runs for note in run.diagnostics if note.code == "DUPLICATE_CALL_ID"]
    assert sum(any(note.code == "DUPLICATE_CALL_ID" for note in run.diagnostics) for run in runs) == 49
    assert len(repeats) == 73
    assert sum("another call" in note.message for note in repeats) == 71
    for record, run in zip(records, runs, strict=True):
        # In the raw file a tool message stands right behind the assistant message that asked: pair by position.
        expected = [
            (before["tool_calls"][0]["function"]["arguments"], message["content"])
            for before, message in zip(record["traj"], record["traj"][1:], strict=False)
            if message["role"] == "tool"
        ]
        calls = {step.index: step for step in run.steps if isinstance(step, ToolCall)}
        results = [step for step in run.steps if isinstance(step, ToolResult)]
        got = [
            (calls[result.call_index or 0].arguments_raw, result.to_json()["content"][0]["text"]) for result in results
        ]
        assert got == expected


def test_human_labels_stay_out_of_what_a_judge_sees(shared: Path) -> None:
    (row, *_) = load(shared / "data" / "agentprocessbench" / "trajectories" / "hotpotqa.jsonl", limit=1)
    assert set(row.labels) == {"ground_truth", "step_labels", "final_label"}
    assert row.task is not None
    assert row.task.startswith("Which Australian city")
    assert (row.id, row.group) == ("hotpotqa-0-sample0", "0")
    (row, *_) = load(shared / "data" / "livemcpbench" / "trajectories_with_human_label.jsonl", limit=1)
    assert row.labels["task_success"] == "failure"
    assert "answers" in row.labels
    assert "Annotator Metadata" in row.labels
    assert (row.id, row.group) == ("0e3287cb-c0ff-4d2a-8c3d-d8833014a7b0",) * 2


def test_a_hand_written_log_is_read_with_its_retry_its_approval_and_its_error(shared: Path) -> None:
    (run,) = load(shared / "formats" / "20_custom_jsonl" / "handwritten_events.jsonl")
    assert [step.kind for step in run.steps] == [
        "message",
        "tool_call",
        "retry",
        "tool_result",
        "approval",
        "tool_call",
        "tool_result",
        "final",
    ]
    assert (run.id, run.task, run.final) == ("r1", "refund order 7", "Could not refund: card closed")
    assert run.steps[4].to_json()["call_index"] == 6  # approved before it was made
    assert run.steps[6].to_json()["error"] == {"message": "card closed"}


def test_telemetry_that_ends_in_a_chat_is_read_from_the_chat_and_its_calls_are_there_once(shared: Path) -> None:
    path = shared / "formats" / "20_custom_jsonl" / "openclaw_crux1-sample-telemetry.jsonl"
    asked = sum(item.get("type") == "toolCall" for item in objects(raw(path)))
    told = sum(item.get("role") == "toolResult" for item in objects(raw(path)))
    runs = list(load(path))
    assert {run.source.format for run in runs} == {"openclaw"}
    assert counted(runs) == (asked, told)


def test_a_streamed_anthropic_reply_adds_up(shared: Path) -> None:
    (run,) = load(shared / "formats" / "03_anthropic" / "anthropic-tool-no-args.chunks.txt")
    assert [step.kind for step in run.steps] == ["message", "tool_call"]
    assert run.steps[1].to_json()["name"] == "updateIssueList"


def test_nested_programmatic_calls_belong_to_the_call_that_makes_them(shared: Path) -> None:
    (run,) = load(shared / "formats" / "03_anthropic" / "anthropic-programmatic-tool-calling.1.json")
    calls = [step for step in run.steps if isinstance(step, ToolCall)]
    assert [call.parent for call in calls] == [None, *[calls[0].index] * 4]


def test_a_server_tool_error_is_an_error_by_its_own_object(shared: Path) -> None:
    (run,) = load(shared / "formats" / "03_anthropic" / "anthropic-web-fetch-tool.error.json")
    (result,) = [step for step in run.steps if isinstance(step, ToolResult)]
    assert result.status == "error"
    assert result.error is not None
    assert result.error.type == "unavailable"


def test_tool_messages_in_parts_and_null_content_are_kept(case: Any, tmp_path: Path) -> None:
    """G-D29, the import side."""
    path = tmp_path / "g.json"
    path.write_text(json.dumps(case("G-D29")["input"]), encoding="utf-8")
    (run,) = load(path)
    assert [step.kind for step in run.steps] == ["message", "tool_call", "tool_result", "message"]
    result = run.steps[2].to_json()
    assert [part["text"] for part in result["content"]] == ["1 row", "total=42.50"]
    assert (result["call_index"], run.final) == (2, "It is 42.50.")


def test_json_text_of_arguments_is_parsed_once_at_import(case: Any, tmp_path: Path) -> None:
    """G-D30, the import side: the text and the object give equal arguments."""
    text, value = case("G-D30")["input"]["pairs"][2]
    path = tmp_path / "g.json"
    path.write_text(json.dumps([{"tool": "f", "arguments": text}, {"tool": "f", "arguments": value}]), encoding="utf-8")
    (run,) = load(path)
    first, second = (step for step in run.steps if isinstance(step, ToolCall))
    assert first.arguments == second.arguments == value
    assert (first.arguments_raw, second.arguments_raw) == (text, None)
