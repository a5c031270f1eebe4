"""Runs of coding agents, benchmarks and frameworks: calls meet their results, flags become statuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from log_files import codes, kinds, lines, only, whole

from judge.importers import load
from judge.types import AgentTransfer, Approval, Message, ToolCall, ToolResult, Trajectory


def results(run: Trajectory) -> list[tuple[int | None, str, str]]:
    return [(step.call_index, step.pairing, step.status) for step in run.steps if isinstance(step, ToolResult)]


def test_swe_agent_reads_its_history_and_takes_times_from_its_other_view(tmp_path: Path) -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "open", "arguments": '{"p": 1}'}}]
    history = [
        {"role": "system", "content": "rules", "message_type": "system_prompt", "agent": "main"},
        {"role": "user", "content": "shown before", "is_demo": True, "message_type": "demonstration"},
        {"role": "assistant", "content": "I open it", "tool_calls": calls, "action": "open 1", "thought": "t"},
        {"role": "tool", "content": "text", "tool_call_ids": ["c1"], "message_type": "observation"},
        {"role": "assistant", "content": "and run", "action": "ls", "message_type": "action"},
        {"role": "user", "content": "files", "message_type": "observation"},
    ]
    steps = [{"action": "open 1", "execution_time": 0.25}, {"action": "ls", "execution_time": 0.5}]
    stats = {"tokens_sent": 7, "tokens_received": 2, "instance_cost": 0.1}
    info = {"exit_status": "submitted (exit_cost)", "submission": "diff", "model_stats": stats}
    run = only(whole(tmp_path / "a.traj", {"history": history, "trajectory": steps, "info": info}))
    calls_made = [step for step in run.steps if isinstance(step, ToolCall)]
    assert [(call.name, call.arguments, call.seconds) for call in calls_made] == [
        ("open", {"p": 1}, 0.25),
        ("bash", "ls", 0.5),
    ]
    assert results(run) == [(4, "id", "unknown"), (7, "nested", "unknown")]
    assert run.steps[1].provenance == "copied_context"
    assert run.final == "diff"
    assert run.outcome is not None
    assert run.outcome.status == "limit"
    assert run.usage is not None
    assert run.usage.cost_usd == 0.1


def test_a_traj_without_history_is_read_from_its_steps(tmp_path: Path) -> None:
    step = {"action": "ls", "observation": "files", "thought": "look", "execution_time": 0.5}
    run = only(whole(tmp_path / "a.traj", {"history": [], "trajectory": [step], "info": {}}))
    assert kinds(run) == ["message", "tool_call", "tool_result"]


def test_mini_swe_agent_has_return_codes_and_an_exit(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": [call], "extra": {"timestamp": 1796020766.5}},
        {"role": "tool", "tool_call_id": "c1", "content": "no", "extra": {"returncode": 2}},
        {"role": "exit", "content": "x", "extra": {"exit_status": "Submitted", "submission": "patch"}},
    ]
    info = {"exit_status": "Submitted", "model_stats": {"instance_cost": 0.5}}
    record = {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
    run = only(whole(tmp_path / "a.traj.json", record))
    assert kinds(run) == ["message", "tool_call", "tool_result", "final"]
    assert results(run) == [(2, "id", "error")]
    assert run.final == "patch"
    assert run.steps[1].ts == "2026-11-30T06:39:26.5Z"


def test_mini_swe_agent_in_its_responses_variant(tmp_path: Path) -> None:
    asked = {"type": "function_call", "name": "bash", "arguments": "{}", "call_id": "c1"}
    messages = [
        {"object": "response", "output": [asked]},
        {"type": "function_call_output", "call_id": "c1", "output": "ok", "extra": {"returncode": 0}},
    ]
    record = {"info": {}, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}
    run = only(whole(tmp_path / "a.traj.json", record))
    assert results(run) == [(1, "id", "ok")]


def test_openhands_links_an_observation_by_its_cause_and_counts_a_reply_once(tmp_path: Path) -> None:
    def called(number: str) -> dict[str, Any]:
        function = {"name": "run", "arguments": f'{{"n": {number}}}'}
        calls = [{"id": number, "function": function}]
        reply = {"id": "r1", "choices": [{"message": {"tool_calls": calls}}], "usage": {"prompt_tokens": 9}}
        return {"tool_call_id": number, "function_name": "run", "model_response": reply}

    at = "2025-01-01T00:00:00"
    events = [
        {"id": 0, "timestamp": at, "source": "user", "action": "message", "args": {"content": "go"}},
        {"id": 1, "source": "agent", "action": "run", "args": {"thought": "two"}, "tool_call_metadata": called("1")},
        {"id": 2, "source": "agent", "action": "run", "args": {"thought": ""}, "tool_call_metadata": called("2")},
        {"id": 3, "source": "agent", "observation": "run", "cause": 2, "content": "b", "extras": {"exit_code": 1}},
        {"id": 4, "source": "agent", "observation": "user_rejected", "cause": 1, "content": "a", "extras": {}},
        {"id": 5, "source": "environment", "observation": "agent_state_changed", "content": "", "extras": {}},
        {"id": 6, "source": "agent", "action": "finish", "args": {"message": "done"}},
    ]
    run = only(whole(tmp_path / "a.json", events))
    assert [step.arguments for step in run.steps if isinstance(step, ToolCall)][:2] == [{"n": 1}, {"n": 2}]
    assert results(run) == [(4, "id", "error"), (3, "id", "denied")]
    assert sum(step.usage.input_tokens or 0 for step in run.steps if step.usage) == 9
    assert run.final == "done"
    assert "TIME_ASSUMED_UTC" in codes(run)


def test_a_simulated_user_of_tau2_has_tools_of_its_own(tmp_path: Path) -> None:
    def asked(requestor: str, name: str) -> dict[str, Any]:
        return {"id": "c1", "name": name, "arguments": {}, "requestor": requestor}

    told = [
        {"role": "tool", "id": "c1", "content": "mine", "requestor": "user", "error": False},
        {"role": "tool", "id": "c1", "content": "yours", "requestor": "assistant", "error": True},
    ]
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [asked("assistant", "lookup")]},
        {"role": "user", "content": None, "tool_calls": [asked("user", "phone")]},
        {"role": "tool", "tool_messages": told},
        {"role": "user", "content": "bye", "timestamp": "2026-01-01T00:00:00"},
    ]
    one = {"id": "s", "task_id": "7", "messages": messages, "termination_reason": "user_stop", "trial": 0}
    path = whole(tmp_path / "r.json", {"tasks": [], "info": {}, "simulations": [{**one, "reward_info": {"reward": 1}}]})
    run = only(path)
    assert [(step.name, step.agent) for step in run.steps if isinstance(step, ToolCall)] == [
        ("lookup", None),
        ("phone", "user"),
    ]
    assert results(run) == [(2, "id", "ok"), (1, "id", "error")]
    assert (run.group, run.labels) == ("7", {"reward_info": {"reward": 1}})
    assert run.outcome is not None
    assert run.outcome.status == "completed"


def test_agentdojo_keeps_text_under_content_and_warns_of_labels_that_mean_nothing(tmp_path: Path) -> None:
    call = {"function": "pay", "args": {"to": "x"}, "id": "c1"}
    messages = [
        {"role": "user", "content": [{"type": "text", "content": "pay"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "tool_call": call, "error": "ValueError: x", "content": ""},
    ]
    record = {"suite_name": "bank", "user_task_id": "u1", "injection_task_id": None, "messages": messages}
    run = only(whole(tmp_path / "a.json", {**record, "error": "API down", "utility": False, "security": True}))
    assert run.task == "pay"
    assert results(run) == [(2, "id", "error")]
    assert codes(run) == ["LABEL_UNSAFE", "LABEL_UNSAFE"]
    assert run.labels == {"utility": False, "security": True}


@pytest.mark.parametrize("snake", [False, True])
def test_adk_reads_both_spellings_and_joins_calls_without_ids(tmp_path: Path, snake: bool) -> None:
    call, response = ("function_call", "function_response") if snake else ("functionCall", "functionResponse")
    move = "transfer_to_agent" if snake else "transferToAgent"
    events = [
        {"author": "user", "content": {"role": "user", "parts": [{"text": "roll"}]}, "timestamp": 1796020766.1},
        {
            "author": "a",
            "id": "e1",
            "content": {"parts": [{"text": "hm", "thought": True}, {call: {"name": "roll", "args": {}}}]},
        },
        {
            "author": "a",
            "content": {"role": "user", "parts": [{response: {"name": "roll", "response": {"error": "x"}}}]},
        },
        {"author": "a", "actions": {move: "b"}, "content": {"parts": [{"text": "to b"}]}},
    ]
    run = only(whole(tmp_path / "s.json", {"id": "s", "app_name" if snake else "appName": "x", "events": events}))
    assert kinds(run) == ["message", "reasoning", "tool_call", "tool_result", "message", "agent_transfer"]
    assert results(run) == [(3, "order", "error")]
    moved = run.steps[-1]
    assert isinstance(moved, AgentTransfer)
    assert (moved.from_agent, moved.to_agent) == ("a", "b")


def test_pieces_of_a_streamed_adk_reply_are_not_read_twice(tmp_path: Path) -> None:
    def part(text: str, **more: Any) -> dict[str, Any]:
        return {"author": "a", "invocationId": "i", "content": {"parts": [{"text": text}]}, **more}

    events = [part("he", partial=True), part("llo", partial=True), part("hello")]
    run = only(whole(tmp_path / "s.json", {"id": "s", "appName": "x", "events": events}))
    assert [step.to_json()["content"][0]["text"] for step in run.steps] == ["hello"]


def test_an_evalset_is_a_reference_and_says_so(tmp_path: Path) -> None:
    turn = {
        "user_content": {"parts": [{"text": "roll"}]},
        "intermediate_data": {"tool_uses": [{"name": "roll", "args": {"n": 6}}]},
        "final_response": {"parts": [{"text": "4"}]},
    }
    path = whole(tmp_path / "e.json", {"eval_set_id": "e", "eval_cases": [{"eval_id": "c", "conversation": [turn]}]})
    run = only(path)
    assert {step.provenance for step in run.steps} == {"synthetic"}
    assert "REFERENCE_NOT_A_RUN" in codes(run)
    assert kinds(run) == ["message", "tool_call", "message"]


def test_autogen_results_have_flags_and_summaries_are_no_results(tmp_path: Path) -> None:
    messages = [
        {"source": "user", "type": "TextMessage", "content": "go"},
        {"source": "a", "type": "ToolCallRequestEvent", "content": [{"id": "c", "name": "f", "arguments": "{}"}]},
        {
            "source": "a",
            "type": "ToolCallExecutionEvent",
            "content": [{"call_id": "c", "name": "f", "content": "x", "is_error": True}],
        },
        {"source": "a", "type": "ToolCallSummaryMessage", "content": "x"},
        {"source": "a", "type": "HandoffMessage", "target": "b", "content": "yours"},
    ]
    run = only(whole(tmp_path / "t.json", {"messages": messages, "stop_reason": "done"}))
    assert kinds(run) == ["message", "tool_call", "tool_result", "event", "agent_transfer"]
    assert results(run) == [(2, "id", "error")]


def test_autogen_saved_state_and_ag2_chat(tmp_path: Path) -> None:
    kept = [
        {"type": "UserMessage", "content": "go", "source": "user"},
        {"type": "AssistantMessage", "content": [{"id": "c", "name": "f", "arguments": "{}"}], "thought": "hm"},
        {"type": "FunctionExecutionResultMessage", "content": [{"call_id": "c", "content": "x", "is_error": False}]},
    ]
    state = {"agent_states": {"a": {"agent_state": {"llm_context": {"messages": kept}}}}}
    run = only(whole(tmp_path / "s.json", state))
    assert kinds(run) == ["message", "reasoning", "tool_call", "tool_result"]
    assert results(run) == [(3, "id", "ok")]
    chat = [{"role": "user", "name": "boss", "content": "go"}, {"role": "assistant", "name": "boss", "content": "on"}]
    ran = only(whole(tmp_path / "c.json", {"chat_history": chat, "summary": "done", "cost": {}}))
    assert {step.agent for step in ran.steps} == {"boss"}  # the role is only how the other side sees it


def test_mcp_ids_are_matched_by_type_and_direction(tmp_path: Path) -> None:
    def message(way: str, **fields: Any) -> dict[str, Any]:
        return {"dir": way, "ts": 1764500000000, "msg": {"jsonrpc": "2.0", **fields}}

    def call(way: str, number: Any, name: str) -> dict[str, Any]:
        return message(way, id=number, method="tools/call", params={"name": name, "arguments": {}})

    run = only(
        lines(
            tmp_path / "m.jsonl",
            call("out", 5, "a"),
            call("out", "5", "b"),
            message("in", id=5, method="elicitation/create", params={"message": "sure?"}),
            message("in", id="5", result={"content": [{"type": "text", "text": "b"}], "isError": False}),
            message("out", id=5, result={"action": "decline"}),
            message("in", id=5, error={"code": -1, "message": "no"}),
        )
    )
    assert results(run) == [(2, "id", "ok"), (1, "id", "error")]
    assert [step.state for step in run.steps if isinstance(step, Approval)] == ["requested", "denied"]


def test_openclaw_without_an_end_is_read_from_its_tool_events(tmp_path: Path) -> None:
    same = {"sessionKey": "k", "agentId": "main"}
    start = {"type": "agent.start", "prompt": "go", "seq": 1, "ts": 1772831320907, **same}
    run = only(
        lines(
            tmp_path / "t.jsonl",
            start,
            {**start, "seq": 2},
            {"type": "tool.start", "toolName": "exec", "params": {"c": 1}, "seq": 3, "ts": 1772831320908, **same},
            {"type": "tool.end", "toolName": "exec", "success": False, "durationMs": 439, "seq": 4, "ts": 1, **same},
        )
    )
    assert kinds(run) == ["message", "event", "tool_call", "tool_result"]
    assert results(run) == [(3, "order", "error")]
    assert run.steps[3].seconds == 0.439


def test_an_agent_that_acts_in_text_is_read_as_a_chat_and_warned_of(tmp_path: Path) -> None:
    said = "look\n```bash\nls\n```"
    chat = [{"role": "user", "content": "go"}] + [
        {"role": role, "content": text} for role, text in (("assistant", said), ("user", "files")) for _ in range(1)
    ] * 2
    run = only(whole(tmp_path / "mini.traj.json", chat))
    assert {step.kind for step in run.steps if isinstance(step, Message)} == {"message"}
    assert codes(run) == ["NO_STRUCTURED_CALLS"]


@pytest.mark.shared
def test_every_real_file_has_the_calls_and_the_results_that_an_independent_count_finds(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import raw_counts

    compared = 0
    for pattern, _ in raw_counts.COUNTERS:
        for path in sorted((shared / "formats").glob(pattern)):
            expected = raw_counts.counted(path)
            steps = [step for run in load(path) for step in run.steps]
            got = (sum(step.kind == "tool_call" for step in steps), sum(step.kind == "tool_result" for step in steps))
            print(f"{path.name}: {got[0]} calls, {got[1]} results")
            assert got == expected, path.name
            compared += 1
    assert compared >= 35
