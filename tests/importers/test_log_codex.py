"""Codex rollouts and exec streams: one source for each fact, cumulative usage, statuses from exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from log_files import codes, kinds, lines, only

from judge.types import Approval, ContextEdit, Message, ToolCall, ToolResult

T0, T1, T2 = "2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z"


def item(kind: str, ts: str = T2, **fields: Any) -> dict[str, Any]:
    return {"timestamp": ts, "type": "response_item", "payload": {"type": kind, **fields}}


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"timestamp": T2, "type": "event_msg", "payload": {"type": kind, **fields}}


def meta(ts: str = T1, **fields: Any) -> dict[str, Any]:
    return {"timestamp": ts, "type": "session_meta", "payload": {"id": "s1", **fields}}


def said(role: str, text: str, ts: str = T2) -> dict[str, Any]:
    return item("message", ts, role=role, content=[{"type": "input_text", "text": text}])


def tokens(sent: int, made: int) -> dict[str, Any]:
    total = {"input_tokens": sent, "cached_input_tokens": 5, "output_tokens": made, "reasoning_output_tokens": 1}
    return event("token_count", info={"total_token_usage": {**total, "total_tokens": sent + made}})


def test_the_last_token_count_is_the_whole_and_copies_for_the_screen_are_no_messages(tmp_path: Path) -> None:
    run = only(
        lines(
            tmp_path / "r.jsonl",
            meta(),
            said("user", "go"),
            event("user_message", message="go"),
            tokens(10, 2),
            said("assistant", "done"),
            event("agent_message", message="done"),
            tokens(30, 5),
        )
    )
    assert [step.role for step in run.steps if isinstance(step, Message)] == ["user", "assistant"]
    assert run.usage is not None
    assert (run.usage.input_tokens, run.usage.output_tokens, run.usage.cache_read_input_tokens) == (30, 5, 5)
    assert codes(run) == ["REPEATED_EVENTS"] * 2
    assert run.id == "s1"


def test_the_exit_code_inside_the_text_of_a_result_is_its_status(tmp_path: Path) -> None:
    def output(code: int) -> str:
        return json.dumps({"output": f"code {code}", "metadata": {"exit_code": code, "duration_seconds": 0.5}})

    run = only(
        lines(
            tmp_path / "r.jsonl",
            item("function_call", name="shell", arguments='{"command":["ls"]}', call_id="c1"),
            item("function_call", name="shell", arguments='{"command":["no"]}', call_id="c2"),
            item("function_call", name="shell", arguments="{bad", call_id="c3"),
            item("function_call_output", call_id="c2", output=output(1)),
            item("function_call_output", call_id="c1", output=output(0)),
            item("function_call_output", call_id="c3", output="plain text: error"),
        )
    )
    results = [step for step in run.steps if isinstance(step, ToolResult)]
    assert [(each.call_index, each.status) for each in results] == [(2, "error"), (1, "ok"), (3, "unknown")]
    assert results[0].seconds == 0.5
    assert results[0].to_json()["content"] == [{"type": "text", "text": "code 1"}]
    broken = run.steps[2]
    assert isinstance(broken, ToolCall)
    assert (broken.arguments, broken.arguments_raw) == (None, "{bad")


def test_history_that_a_fork_copies_is_marked(tmp_path: Path) -> None:
    run = only(
        lines(
            tmp_path / "r.jsonl",
            meta(T1, forked_from_id="s0"),
            {**meta(T0), "payload": {"id": "s0"}},
            said("user", "old", T0),
            said("user", "new", T2),
        )
    )
    talk = [step for step in run.steps if isinstance(step, Message)]
    assert [step.provenance for step in talk] == ["copied_context", "recorded"]
    assert run.id == "s1"


def test_an_abort_an_approval_and_a_compaction_are_steps(tmp_path: Path) -> None:
    run = only(
        lines(
            tmp_path / "r.jsonl",
            item("function_call", name="shell", arguments="{}", call_id="c1"),
            event("exec_approval_request", call_id="c1", reason="writes", command=["rm"]),
            {"timestamp": T2, "type": "compacted", "payload": {"message": "so far"}},
            event("turn_aborted", reason="interrupted"),
        )
    )
    assert kinds(run) == ["tool_call", "approval", "context_edit", "error"]
    approval, edit = run.steps[1], run.steps[2]
    assert isinstance(approval, Approval)
    assert (approval.state, approval.call_index, approval.reason) == ("requested", 1, "writes")
    assert isinstance(edit, ContextEdit)
    assert edit.summary == "so far"
    assert run.outcome is not None
    assert (run.outcome.status, run.outcome.stop_reason) == ("aborted", "interrupted")


def test_rollouts_without_an_envelope_and_items_of_a_new_kind_are_read(tmp_path: Path) -> None:
    bare = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}
    run = only(lines(tmp_path / "r.jsonl", meta(), bare, item("quantum_call", x=1)))
    assert kinds(run) == ["message", "event"]
    assert codes(run) == ["UNKNOWN_EVENT"]


def test_an_item_of_the_exec_stream_is_one_step_however_often_it_is_told(tmp_path: Path) -> None:
    def told(kind: str, **fields: Any) -> dict[str, Any]:
        return {
            "type": f"item.{kind}",
            "item": {"id": "item_0", "type": "command_execution", "command": "ls", **fields},
        }

    done = {"aggregated_output": "x", "exit_code": 2, "status": "failed"}
    usage = {"input_tokens": 9, "cached_input_tokens": 3, "output_tokens": 4}
    run = only(
        lines(
            tmp_path / "e.jsonl",
            {"type": "thread.started", "thread_id": "t"},
            {"type": "turn.started"},
            told("started", status="in_progress"),
            told("completed", **done),
            {"type": "turn.completed", "usage": usage},
            {"type": "turn.started"},
            told("started", status="in_progress"),
        )
    )
    calls = [step for step in run.steps if isinstance(step, ToolCall)]
    results = [step for step in run.steps if isinstance(step, ToolResult)]
    assert [each.call_id for each in calls] == ["turn-1/item_0", "turn-2/item_0"]  # ids begin anew in each turn
    assert [(each.call_index, each.status) for each in results] == [(calls[0].index, "error")]
    assert sum(step.usage.input_tokens or 0 for step in run.steps if step.usage) == 9
    assert codes(run) == ["MISSING_RESULT"]


@pytest.mark.shared
def test_real_streams_state_their_usage_once(shared: Path) -> None:
    run = only(shared / "formats" / "10_claude_code_codex" / "codex_exec_stream-output-4.jsonl")
    (usage,) = [step.usage for step in run.steps if step.usage is not None]
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_input_tokens) == (6087, 204, 5120)


@pytest.mark.shared
def test_the_real_rollout_adds_up_to_what_it_states(shared: Path) -> None:
    path = shared / "formats" / "10_claude_code_codex" / "codex_rollout-2025-09-25.jsonl"
    if not path.is_file():
        pytest.skip("the rollout is named in SOURCE.md, and its file is not there")
    usage = only(path).usage
    assert usage is not None
    assert (usage.input_tokens or 0) + (usage.output_tokens or 0) == 543_488
