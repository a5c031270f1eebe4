"""Claude Code sessions: the tree, sub-agents, compaction, copies, and usage counted once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from log_files import codes, kinds, lines, only

from judge.importers import load
from judge.types import ContextEdit, Message, ToolCall, ToolResult


def line(uuid: str, parent: str | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    """One line of a session; `id` and `usage` belong to the message."""
    inner = {key: more.pop(key) for key in ("id", "usage", "model") if key in more}
    base = {"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "s1", "isSidechain": False}
    return {**base, "message": {"role": role, "content": content, **inner}, **more}


def call(name: str, number: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": number, "name": name, "input": arguments}


def answer(number: str, text: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": number, "content": text, **more}


USAGE = {"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 7}


def test_usage_of_a_reply_that_is_split_over_lines_counts_once_and_in_full(tmp_path: Path) -> None:
    run = only(
        lines(
            tmp_path / "s.jsonl",
            line("a", None, "user", "go"),
            line("b", "a", "assistant", [{"type": "text", "text": "ok"}], id="m1", usage={**USAGE, "output_tokens": 1}),
            line("c", "b", "assistant", [call("Read", "t1", path="x")], id="m1", usage=USAGE),
            line("d", "c", "user", [answer("t1", "text")]),
        )
    )
    assert kinds(run) == ["message", "message", "tool_call", "tool_result"]
    counted = [step.usage for step in run.steps if step.usage is not None]
    assert len(counted) == 1
    assert counted[0].input_tokens == 115  # 10 + 5 + 100
    assert counted[0].output_tokens == 7  # of the last line, which saw all of it
    assert {step.turn for step in run.steps[1:3]} == {"m1"}


def test_a_rewound_branch_is_kept_and_marked(tmp_path: Path) -> None:
    run = only(
        lines(
            tmp_path / "s.jsonl",
            line("a", None, "user", "go"),
            line("b", "a", "assistant", "first try"),
            line("c", "a", "user", "no, do it so"),
            line("d", "c", "assistant", "second try"),
        )
    )
    assert kinds(run) == ["message", "message", "context_edit", "message", "message"]
    assert [step.extra.get("branch") for step in run.steps] == [None, 1, 1, None, None]
    edit = run.steps[2]
    assert isinstance(edit, ContextEdit)
    assert (edit.op, edit.provenance) == ("rewind", "synthetic")


def test_results_of_parallel_calls_are_no_branch(tmp_path: Path) -> None:
    run = only(
        lines(
            tmp_path / "s.jsonl",
            line("a", None, "user", "go"),
            line("b", "a", "assistant", [call("A", "t1")], id="m1"),
            line("c", "b", "assistant", [call("B", "t2")], id="m1"),
            line("d", "b", "user", [answer("t1", "one")]),
            line("e", "c", "user", [answer("t2", "two")]),
        )
    )
    assert kinds(run) == ["message", "tool_call", "tool_call", "tool_result", "tool_result"]
    assert [step.call_index for step in run.steps if isinstance(step, ToolResult)] == [2, 3]


def test_lines_out_of_order_are_read_by_their_tree(tmp_path: Path) -> None:
    first, second = line("a", None, "user", "one"), line("b", "a", "assistant", "two")
    run = only(lines(tmp_path / "s.jsonl", second, first))
    assert [step.role for step in run.steps if isinstance(step, Message)] == ["user", "assistant"]


def test_a_sub_agent_belongs_to_the_call_that_started_it(tmp_path: Path) -> None:
    side = {"isSidechain": True}
    run = only(
        lines(
            tmp_path / "s.jsonl",
            line("a", None, "user", "go"),
            line("b", "a", "assistant", [call("Task", "t1", prompt="look around")], model="big"),
            line("x", None, "user", "look around", **side),
            line("y", "x", "assistant", [call("LS", "t1")], model="small", **side),
            line("z", "y", "user", [answer("t1", "files")], **side),
            line("c", "b", "user", [answer("t1", "done")]),
        )
    )
    calls = [step for step in run.steps if isinstance(step, ToolCall)]
    results = [step for step in run.steps if isinstance(step, ToolResult)]
    assert [each.agent for each in calls] == [None, "sidechain-x"]
    assert {step.parent for step in run.steps if step.agent} == {calls[0].index}
    # both use the id t1: each result meets the call of its own agent
    assert {each.call_index for each in results} == {calls[0].index, calls[1].index}
    assert results[0].call_index == calls[1].index
    assert [(agent.name, agent.model) for agent in run.agents] == [("claude-code", "big"), ("sidechain-x", "small")]


def test_a_compaction_is_a_context_edit_with_its_summary(tmp_path: Path) -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "c", "parentUuid": None, "sessionId": "s1"}
    run = only(
        lines(
            tmp_path / "s.jsonl",
            line("a", None, "user", "go"),
            {**boundary, "logicalParentUuid": "a", "compactMetadata": {"trigger": "auto"}},
            line("d", "c", "user", "what happened so far", isCompactSummary=True),
            line("e", "d", "assistant", "on we go"),
        )
    )
    assert kinds(run) == ["message", "context_edit", "message"]
    edit = run.steps[1]
    assert isinstance(edit, ContextEdit)
    assert (edit.op, edit.summary) == ("compaction", "what happened so far")
    assert edit.extra["compactMetadata"] == {"trigger": "auto"}


def test_history_copied_from_another_session_is_marked_and_its_usage_is_not_counted(tmp_path: Path) -> None:
    run = only(
        lines(
            tmp_path / "s.jsonl",
            line("a", None, "user", "go", sessionId="s0"),
            line("b", "a", "assistant", "old", sessionId="s0", id="m1", usage=USAGE),
            line("c", "b", "user", "now", sessionId="s1"),
            line("d", "c", "assistant", "new", sessionId="s1", id="m2", usage=USAGE),
        )
    )
    assert [step.provenance for step in run.steps] == ["copied_context"] * 2 + ["recorded"] * 2
    assert [step.usage is not None for step in run.steps] == [False, False, False, True]
    assert run.id == "s1"


def test_sessions_without_a_common_line_are_runs_of_their_own(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s.jsonl",
        line("a", None, "user", "go", sessionId="s0"),
        line("b", None, "user", "go on", sessionId="s1"),
    )
    assert [run.id for run in load(path)] == ["s0", "s1"]


def test_the_structured_copy_of_a_result_is_no_second_result(tmp_path: Path) -> None:
    run = only(
        lines(
            tmp_path / "s.jsonl",
            line("a", None, "assistant", [call("Bash", "t1", command="ls")]),
            line("b", "a", "user", [answer("t1", "x", is_error=True)], toolUseResult={"stdout": "x"}),
        )
    )
    (result,) = [step for step in run.steps if isinstance(step, ToolResult)]
    assert result.status == "error"
    assert result.extra["toolUseResult"] == {"stdout": "x"}


def test_a_line_that_is_there_twice_word_for_word_is_read_once(tmp_path: Path) -> None:
    same = line("a", None, "user", "go")
    assert kinds(only(lines(tmp_path / "s.jsonl", same, same))) == ["message"]


def test_lines_of_unknown_shape_are_kept(tmp_path: Path) -> None:
    broken = {**line("b", "a", "user", ""), "message": "error"}
    run = only(lines(tmp_path / "s.jsonl", line("a", None, "user", "go"), broken, 42, {"silly": "this"}))
    assert kinds(run) == ["message", "event", "event", "event"]
    assert codes(run) == ["UNREADABLE_MESSAGE", "NOT_A_RECORD", "UNKNOWN_EVENT"]


def test_the_stream_states_its_end_and_its_cost(tmp_path: Path) -> None:
    said = {"role": "assistant", "content": [{"type": "text", "text": "done"}], "id": "m1", "usage": USAGE}
    usage = {"input_tokens": 30, "output_tokens": 4}
    end = {"type": "result", "subtype": "success", "session_id": "s", "is_error": False, "result": "done"}
    run = only(
        lines(
            tmp_path / "s.jsonl",
            {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash"]},
            {"type": "assistant", "session_id": "s", "message": said},
            {**end, "total_cost_usd": 0.25, "usage": usage},
        )
    )
    assert (run.id, run.final) == ("s", "done")
    assert run.outcome is not None
    assert run.outcome.status == "completed"
    assert run.usage is not None
    assert (run.usage.input_tokens, run.usage.cost_usd) == (30, 0.25)


@pytest.mark.shared
def test_a_real_session_links_its_agent_and_shows_its_compaction(shared: Path) -> None:
    folder = shared / "formats" / "10_claude_code_codex"
    compacted = only(folder / "claude_code_compaction_session.jsonl")
    assert sum(step.kind == "context_edit" for step in compacted.steps) == 1
    alone = only(folder / "claude_code_agent-atest01.jsonl")
    assert sum(step.usage is not None for step in alone.steps) == 2  # two replies, msg_agent_001 and 002
    assert sum(step.usage.input_tokens or 0 for step in alone.steps if step.usage) == 200  # 80 + 120
