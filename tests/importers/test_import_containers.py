"""Where runs are found in a file: containers, ids, labels, final answers; mapping files; export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.errors import TraceError, UsageError
from judge.importers import convert_files, detect, load, read_mapping, summary, write_jsonl
from judge.importers.pairing import Answered, Asked, pair
from judge.types import Message, Source, Text, ToolCall, ToolResult, Trajectory

STEPS = [
    {"type": "tool_call", "tool": "search_docs", "input": "reset password", "result_ids": ["d1", "d7"]},
    {"type": "final", "text": "Use the reset link."},
]
CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
EVENTS = [
    {"type": "user", "content": "hi"},
    {"type": "tool_call", "call_id": "c1", "name": "f", "args": {}},
    {"type": "tool_result", "call_id": "c1", "output": "x"},
    {"type": "final", "output": "done"},
]
CALLS = [{"tool": "f", "arguments": {"a": 1}, "result": "x"}, {"tool": "g", "arguments": {}}]


def save(path: Path, value: Any, *, lines: bool = False) -> Path:
    text = "\n".join(map(json.dumps, value)) + "\n" if lines else json.dumps(value, indent=1)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("items", "format", "kinds"),
    [
        (STEPS, "steps", ["tool_call", "tool_result", "final"]),
        (CHAT, "openai-chat", ["message", "message"]),
        (EVENTS, "events", ["message", "tool_call", "tool_result", "final"]),
        (CALLS, "calls", ["tool_call", "tool_result", "tool_call"]),
    ],
)
def test_the_same_steps_are_read_from_every_container(
    tmp_path: Path, items: list[dict[str, Any]], format: str, kinds: list[str]
) -> None:
    keys = ("steps", "trajectory", "events", "messages", "traj", "calls")
    files = [save(tmp_path / f"{key}.json", {"id": "one", key: items}) for key in keys]
    files.append(save(tmp_path / "list.json", [{"id": "one", "steps": items}]))
    files.append(save(tmp_path / "line.jsonl", [{"id": "one", "steps": items}], lines=True))
    for path in files:
        (run,) = load(path)
        assert (run.id, run.source.format, [step.kind for step in run.steps]) == ("one", format, kinds), path.name
    for path in (save(tmp_path / "bare.json", items), save(tmp_path / "bare.jsonl", items, lines=True)):
        (run,) = load(path)
        assert (run.id, run.source.format, [step.kind for step in run.steps]) == ("bare-1", format, kinds), path.name
        assert detect(path)[0].format == format
    path = save(tmp_path / "many.jsonl", [items, items], lines=True)
    assert [run.id for run in load(path)] == ["many-1", "many-2"]


def test_a_step_list_keeps_plain_input_and_the_structured_result(tmp_path: Path) -> None:
    (run,) = load(save(tmp_path / "a.json", {"id": "a", "steps": STEPS}))
    call, result = run.steps[:2]
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (call.name, call.arguments, call.arguments_raw) == ("search_docs", "reset password", "reset password")
    assert (result.structured, result.pairing, result.call_index) == (["d1", "d7"], "nested", 1)
    assert result.extra == {"key": "result_ids"}
    assert run.final == "Use the reset link."


def test_an_object_as_input_and_an_empty_result_list(tmp_path: Path) -> None:
    steps = [{"type": "tool_call", "tool": "f", "input": {"q": "x"}, "result_ids": []}, STEPS[1]]
    (run,) = load(save(tmp_path / "a.json", {"id": "a", "steps": steps}))
    assert run.steps[0].to_json()["arguments"] == {"q": "x"}
    assert run.steps[1].to_json()["structured"] == []


def test_labels_meta_group_and_task_come_from_the_record(tmp_path: Path) -> None:
    record = {
        "run_id": "r7",
        "task_id": "t1",
        "question": "How?",
        "reward": 1.0,
        "labels": {"quality": 4},
        "ground_truth": "so",
        "info": {"script": "secret"},
        "steps": STEPS,
    }
    (run,) = load(save(tmp_path / "a.json", record))
    assert (run.id, run.group, run.task) == ("r7", "t1", "How?")
    assert run.labels == {"reward": 1.0, "quality": 4, "ground_truth": "so"}
    assert run.meta["info"] == {"script": "secret"}


@pytest.mark.parametrize(
    ("record", "name"),
    [
        ({"task_id": "t1", "trial": 2}, "t1-trial2"),
        ({"task_id": 5, "trial": 0}, "a-5-trial0"),
        ({"query_index": 3, "sample_index": 1}, "a-3-sample1"),
        ({"record_id": "x:0"}, "x:0"),
        ({}, "a-1"),
    ],
)
def test_ids_come_from_the_record_or_from_the_place_in_the_file(
    tmp_path: Path, record: dict[str, Any], name: str
) -> None:
    (run,) = load(save(tmp_path / "a.json", [{**record, "messages": CHAT}]))
    assert run.id == name


def test_the_final_answer_of_a_chat_is_its_last_word(tmp_path: Path) -> None:
    thanks = {"role": "user", "content": "thanks"}
    ask = {
        "role": "assistant",
        "content": "wait",
        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
    }
    runs = list(load(save(tmp_path / "a.json", [[*CHAT, thanks], [*CHAT, ask]])))
    assert [run.final for run in runs] == ["hello", None]
    assert all(step.kind != "final" for run in runs for step in run.steps)


def test_an_event_log_without_a_final_event_has_no_final_answer(tmp_path: Path) -> None:
    (run,) = load(save(tmp_path / "a.jsonl", [*EVENTS[:-1], {"type": "assistant", "content": "so"}], lines=True))
    assert run.final is None


def test_a_log_of_several_runs_is_told_apart_by_run_id(tmp_path: Path) -> None:
    lines = [{**event, "run_id": name} for event in EVENTS for name in ("r1", "r2")]
    runs = list(load(save(tmp_path / "a.jsonl", lines, lines=True)))
    assert [(run.id, len(run.steps)) for run in runs] == [("r1", 4), ("r2", 4)]


def test_other_events_are_kept_in_order_as_what_they_are(tmp_path: Path) -> None:
    lines = [
        {"type": "run_start", "run_id": "r1", "task": "refund"},
        {"type": "approval", "decision": "denied", "name": "refund", "by": "ops", "reason": "limit"},
        {"type": "replan_requested", "why": "denied"},
        {"type": "checkpoint", "n": 1},
        {"type": "resume"},
        {"type": "error", "error": {"type": "Crash", "message": "boom"}},
        {"type": "stop", "reason": "budget"},
    ]
    (run,) = load(save(tmp_path / "a.jsonl", lines, lines=True))
    assert [(step.kind, step.to_json().get("name")) for step in run.steps] == [
        ("approval", None),
        ("event", "replan_requested"),
        ("event", "checkpoint"),
        ("event", "resume"),
        ("error", None),
        ("event", "stop"),
    ]
    assert run.steps[0].to_json()["state"] == "denied"
    assert (run.id, run.task) == ("r1", "refund")
    assert run.outcome is not None
    assert run.outcome.stop_reason == "budget"


def test_anthropic_requests_have_their_system_prompt_and_mixed_user_messages_split(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "r"}]},
                {"type": "text", "text": "and hurry"},
            ],
        },
    ]
    (run,) = load(save(tmp_path / "a.json", {"system": "be good", "messages": messages, "tools": [{"name": "f"}]}))
    assert run.source.format == "anthropic"
    assert [step.kind for step in run.steps] == ["message", "message", "tool_call", "tool_result", "message"]
    assert run.steps[0].to_json()["role"] == "system"
    assert [tool.name for tool in run.tools] == ["f"]


def test_a_request_with_its_response_is_one_run(tmp_path: Path) -> None:
    response = {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}}
    (run,) = load(save(tmp_path / "a.json", {"request": {"messages": CHAT[:1], "model": "m"}, "response": response}))
    assert [step.kind for step in run.steps] == ["message", "message"]
    assert (run.final, run.meta["model"]) == ("hello", "m")
    assert run.steps[1].usage is not None
    assert run.steps[1].usage.input_tokens == 3
    assert run.outcome is not None
    assert run.outcome.status == "completed"


def test_sharegpt_conversations_are_chat(tmp_path: Path) -> None:
    turns = [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]
    (run,) = load(save(tmp_path / "a.json", {"id": "s", "conversations": turns}))
    assert (run.task, run.final) == ("hi", "hello")


def test_reasoning_and_custom_tools_of_a_chat(tmp_path: Path) -> None:
    ask = {
        "role": "assistant",
        "content": None,
        "reasoning_content": "think",
        "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls {"}}],
    }
    (run,) = load(save(tmp_path / "a.json", {"messages": [CHAT[0], ask]}))
    reasoning, call = run.steps[1:]
    assert reasoning.kind == "reasoning"
    assert isinstance(call, ToolCall)
    assert (call.arguments, call.arguments_raw, call.arguments_error) == ("ls {", "ls {", None)


def test_a_mapping_names_what_a_log_calls_its_things(tmp_path: Path) -> None:
    log = [
        {"op": "begin", "fn": "refund", "ref": 1, "payload": {"in": {"id": 7}}},
        {"op": "end", "ref": 1, "payload": {"out": "ok"}},
        {"op": "answered", "body": "Done."},
    ]
    mapping = {
        "types": {"begin": "tool_call", "end": "tool_result", "answered": "final"},
        "fields": {
            "type": "op",
            "tool": "fn",
            "call_id": "ref",
            "arguments": "payload.in",
            "result": ["payload.out"],
            "text": "body",
        },
        "run": {"id": "case", "steps": "log", "labels": "verdict", "task": "ask"},
    }
    record = {"case": "k1", "ask": "Refund 7", "verdict": "good", "log": log}
    path = save(tmp_path / "a.json", record)
    with pytest.raises(TraceError):
        load(path)
    (run,) = load(path, mapping=mapping)
    assert (run.id, run.task, run.labels, run.final) == ("k1", "Refund 7", {"verdict": "good"}, "Done.")
    assert [step.kind for step in run.steps] == ["tool_call", "tool_result", "final"]
    assert run.steps[0].to_json()["arguments"] == {"id": 7}
    assert run.steps[1].to_json()["call_index"] == 1
    (bare,) = load(save(tmp_path / "b.jsonl", log, lines=True), mapping=mapping)
    assert bare.steps == run.steps


@pytest.mark.parametrize(
    ("mapping", "says"),
    [
        ({"type": {}}, "types"),
        ({"types": {"begin": "tool_cal"}}, "Did you mean 'tool_call'"),
        ({"types": {True: "approval"}}, "quote"),
        ({"fields": {"tools": "fn"}}, "Did you mean 'tool'"),
        ({"fields": {"tool": 3}}, "expected text"),
        ({"run": {"identity": "x"}}, "identity"),
        ({"types": ["begin"]}, "expected names"),
    ],
)
def test_a_wrong_mapping_says_what_is_wrong(mapping: dict[str, Any], says: str) -> None:
    with pytest.raises(TraceError, match=says):
        read_mapping(mapping)


def test_the_mapping_of_the_documentation_is_read(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    page = (Path(__file__).resolve().parents[2] / "docs" / "mapping.md").read_text(encoding="utf-8")
    mapping = yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])
    lines = page.split("```json\n")[1].split("```")[0]
    path = tmp_path / "log.jsonl"
    path.write_text(lines, encoding="utf-8")
    (run,) = load(path, mapping=mapping)
    assert [step.kind for step in run.steps] == ["message", "tool_call", "tool_result", "approval", "final"]
    assert run.id == "case-12"


def test_native_records_come_back_equal(tmp_path: Path) -> None:
    files = [save(tmp_path / "a.json", {"id": "a", "steps": STEPS}), save(tmp_path / "b.jsonl", EVENTS, lines=True)]
    before = [run for path in files for run in load(path)]
    assert write_jsonl(before, tmp_path / "out.jsonl") == 2
    assert list(load(tmp_path / "out.jsonl")) == before
    assert detect(tmp_path / "out.jsonl")[0].format == "native"


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    text=st.text(st.characters(exclude_categories=["Cs"])),
    value=st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(exclude_categories=["Cs"])),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
        max_leaves=8,
    ),
)
def test_any_native_record_comes_back_equal(tmp_path_factory: pytest.TempPathFactory, text: str, value: Any) -> None:
    run = Trajectory(
        id="a",
        source=Source(format="x"),
        steps=(
            Message(index=1, role="user", content=(Text(text=text),)),
            ToolCall(index=2, name="f", arguments=value),
        ),
    )
    path = tmp_path_factory.mktemp("native") / "a.jsonl"
    write_jsonl([run], path)
    assert list(load(path)) == [run]


def test_an_export_that_fails_leaves_the_old_file_and_no_part(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("old", encoding="utf-8")
    (run,) = load(save(tmp_path / "a.json", {"id": "a", "steps": STEPS}))

    def broken() -> Any:
        yield run
        raise TraceError("stopped")

    with pytest.raises(TraceError):
        write_jsonl(broken(), path)
    assert path.read_text(encoding="utf-8") == "old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.json", "out.jsonl"]
    with pytest.raises(UsageError, match="cannot be written"):
        write_jsonl([run], tmp_path / "none" / "out.jsonl")


def test_a_conversion_says_what_was_in_each_file(tmp_path: Path) -> None:
    files = [
        save(tmp_path / "a.json", {"id": "a", "steps": STEPS}),
        save(tmp_path / "b.jsonl", [*EVENTS, {"type": "odd"}, {"type": "odd"}], lines=True),
    ]
    out = tmp_path / "out.jsonl"
    first, second = convert_files(files, out=out, detail=True)
    assert first.to_json()["steps"] == {"final": 1, "tool_call": 1, "tool_result": 1}
    assert (second.format, second.trajectories, second.warnings) == ("events", 1, 0)
    assert [(note.code, note.count) for note in second.diagnostics] == [("UNKNOWN_EVENT", 2)]
    assert "UNKNOWN_EVENT" in second.text(explain=True)
    assert [claim.format for claim in second.candidates] == ["events"]
    (native,) = convert_files([out])
    assert (native.format, native.trajectories) == ("native", 2)
    assert summary(out, load(out), "native") == native
    (limited,) = convert_files([*files], limit=1)
    assert limited.trajectories == 1


def asked(step: int, call_id: str | None, *, agent: str | None = None, batch: int = 1, name: str = "f") -> Asked:
    return Asked(step, agent, None, batch, call_id, name)


def test_pairing_by_hand() -> None:
    calls = [asked(1, "c"), asked(3, "c", batch=2), asked(6, "d", batch=3)]
    results = [
        Answered(2, None, "c", None),  # nearest earlier unanswered: 1
        Answered(4, None, "c", None),  # 3
        Answered(5, None, "d", None),  # stands before its call: 6
        Answered(7, None, "c", None),  # a second result: the nearest earlier one, 3
        Answered(8, None, "x", None),  # no such id
    ]
    links = pair(calls, results)
    assert {step: (link.call_index, link.late, link.extra) for step, link in links.items()} == {
        2: (1, False, False),
        4: (3, False, False),
        5: (6, True, False),
        7: (3, False, True),
    }


def test_a_result_that_names_no_agent_belongs_to_the_only_one_that_asked() -> None:
    calls = [asked(1, "c", agent="A"), asked(2, "d", agent="B")]
    links = pair(calls, [Answered(3, None, "c", None), Answered(4, "tools", "d", None)])
    assert [links[3].call_index, links[4].call_index] == [1, 2]


def test_a_bare_list_of_openai_tool_calls_is_read(tmp_path: Path) -> None:
    entries = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]
    (run,) = load(save(tmp_path / "a.json", {"id": "a", "tool_calls": entries}))
    (call,) = run.steps
    assert isinstance(call, ToolCall)
    assert (call.call_id, call.name, call.arguments) == ("c1", "f", {"a": 1})


def test_agents_that_took_part_are_listed(tmp_path: Path) -> None:
    lines = [{**event, "agent": name} for event, name in zip(EVENTS, ("a", "b", "b", "a"), strict=True)]
    (run,) = load(save(tmp_path / "a.jsonl", lines, lines=True))
    assert [agent.name for agent in run.agents] == ["a", "b"]


@pytest.mark.parametrize("key", ["trajectories", "runs", "data"])
def test_an_object_that_only_wraps_a_list_of_runs_is_opened(tmp_path: Path, key: str) -> None:
    wrapped = {"model": "m", key: [{"id": name, "messages": CHAT} for name in "ab"]}
    runs = list(load(save(tmp_path / "a.json", wrapped)))
    assert [(run.id, run.source.locator) for run in runs] == [("a", f"{key}[0]"), ("b", f"{key}[1]")]
    assert runs[0].meta == {"around": {"model": "m"}}


def test_the_nearest_unanswered_call_of_an_id_is_not_the_oldest() -> None:
    calls = [asked(1, "c"), asked(2, "c"), asked(3, "c")]
    links = pair(calls, [Answered(4, None, "c", None), Answered(5, None, "c", None)])
    assert [links[4].call_index, links[5].call_index] == [3, 2]
