"""Responses items, LangChain, Pydantic AI and Vercel messages: small inputs, one behaviour each."""

from __future__ import annotations

from typing import Any

import pytest
from chat_records import Read, calls, codes, results, user

from judge.importers import detect
from judge.types import Approval, Event, Message, Reasoning


def item(type: str, **more: Any) -> dict[str, Any]:
    return {"type": type, **more}


CALL = item("function_call", id="fc_1", call_id="call_1", name="f", arguments='{"a": 1}')
STORED: dict[str, Any] = {"object": "response", "id": "r", "status": "completed", "output": [CALL]}
OUTPUT = item("function_call_output", call_id="call_1", output="done")


def test_responses_items_join_by_call_id_and_not_by_id(read: Read) -> None:
    (run,) = read([user(), item("reasoning", id="rs", summary=[]), CALL, OUTPUT])
    assert run.source.format == "openai-responses"
    assert [step.kind for step in run.steps] == ["message", "reasoning", "tool_call", "tool_result"]
    (call,), (result,) = calls(run), results(run)
    assert (call.call_id, result.call_index, result.pairing) == ("call_1", 3, "id")
    assert result.status == "unknown"  # an output has no flag


def test_parallel_responses_calls_share_a_turn_and_the_next_call_does_not(read: Read) -> None:
    second = {**CALL, "call_id": "call_2"}
    third = {**CALL, "call_id": "call_3"}
    (run,) = read([CALL, second, OUTPUT, {**OUTPUT, "call_id": "call_2"}, third])
    first, other, later = calls(run)
    assert first.turn == other.turn != later.turn


def test_an_mcp_approval_joins_the_call_that_was_made_of_it(read: Read) -> None:
    asked = item("mcp_approval_request", id="mcpr_2", name="drop", arguments="{}", server_label="db")
    said = item("mcp_approval_response", approval_request_id="mcpr_2", approve=True)
    made = item(
        "mcp_call", id="mcp_1", name="drop", arguments="{}", approval_request_id="mcpr_2", output="ok", error=None
    )
    before = {**made, "id": "mcp_0", "approval_request_id": None}
    (run,) = read([before, asked, said, made])
    approvals = [step for step in run.steps if isinstance(step, Approval)]
    assert [(step.state, step.call_index) for step in approvals] == [("requested", 5), ("approved", 5)]
    (run,) = read([asked, {**said, "approve": False, "reason": "no"}])
    assert [step.state for step in run.steps if isinstance(step, Approval)] == ["requested", "denied"]


def test_an_mcp_error_is_an_error_by_its_own_field(read: Read) -> None:
    failed = item("mcp_call", id="m", name="f", arguments="{}", output=None, error={"type": "http", "message": "502"})
    (run,) = read({"object": "response", "id": "r", "output": [failed]})
    (result,) = results(run)
    assert (result.status, result.pairing) == ("error", "nested")
    assert result.error is not None
    assert (result.error.type, result.error.message) == ("http", "502")


def test_an_item_of_a_new_type_is_kept_whole(read: Read) -> None:
    new = item("hologram_call", id="h", beams=3)
    (run,) = read({"object": "response", "id": "r", "status": "completed", "output": [new, CALL]})
    (event,) = [step for step in run.steps if isinstance(step, Event)]
    assert event.data == new
    assert codes(run).count("UNKNOWN_ITEM") == 1


def test_a_stored_response_names_the_response_before_it(read: Read) -> None:
    stored = {
        "object": "response",
        "id": "r",
        "status": "completed",
        "previous_response_id": "resp_0",
        "output": [CALL],
    }
    (run,) = read(stored)
    assert results(run) == []  # none is made up
    (note,) = [note for note in run.diagnostics if note.code == "RESULTS_ELSEWHERE"]
    assert "previous_response_id 'resp_0'" in note.message


def test_request_and_response_together_are_one_run(read: Read) -> None:
    request = {"model": "m", "input": [user("go"), CALL, OUTPUT], "instructions": "be brief"}
    said = item("message", role="assistant", content=[item("output_text", text="bye")])
    (run,) = read({"request": request, "response": {"object": "response", "id": "r", "output": [said]}})
    assert [step.kind for step in run.steps] == ["message", "message", "tool_call", "tool_result", "message"]
    assert (run.task, run.final) == ("go", "bye")


def test_response_events_add_up_and_a_cut_stream_is_incomplete(read: Read) -> None:
    created = item(
        "response.created", response={"object": "response", "id": "r", "status": "in_progress", "output": []}
    )
    added = item("response.output_item.added", output_index=0, item={**CALL, "arguments": ""})
    pieces = [
        item("response.function_call_arguments.delta", output_index=0, item_id="fc_1", delta=delta)
        for delta in ('{"a"', ": 1}")
    ]
    (run,) = read([created, added, *pieces])
    assert calls(run)[0].arguments == {"a": 1}
    assert run.outcome is not None
    assert run.outcome.status == "incomplete"
    assert "UNFINISHED_STREAM" in codes(run)
    done = item(
        "response.completed", response={"object": "response", "id": "r", "status": "completed", "output": [CALL]}
    )
    (run,) = read([created, added, *pieces, done])
    assert len(calls(run)) == 1
    assert "UNFINISHED_STREAM" not in codes(run)


AI = {"type": "ai", "content": "", "additional_kwargs": {}, "response_metadata": {}, "id": "m1"}


def test_langchain_provider_copies_of_a_call_are_not_second_calls(read: Read) -> None:
    made = {"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    raw = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    block = {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}
    both = {**AI, "tool_calls": [made], "additional_kwargs": {"tool_calls": [raw]}, "content": [block]}
    (run,) = read([{"type": "human", "data": {"content": "hi"}}, both])
    assert run.source.format == "langchain"
    assert [call.call_id for call in calls(run)] == ["c1"]
    (run,) = read([{"type": "human", "data": {"content": "hi"}}, {**AI, "additional_kwargs": {"tool_calls": [raw]}}])
    assert [call.arguments for call in calls(run)] == [{"a": 1}]  # the raw copy where there is no other


def test_an_invalid_langchain_call_keeps_its_text_and_is_not_repaired(read: Read) -> None:
    bad = {"name": "f", "args": '{"a":', "id": "c1", "error": "cut", "type": "invalid_tool_call"}
    (run,) = read([{**AI, "tool_calls": [], "invalid_tool_calls": [bad]}])
    (call,) = calls(run)
    assert (call.arguments, call.arguments_raw, call.arguments_error) == (None, '{"a":', "cut")


def test_a_langgraph_state_that_waits_has_an_open_approval(read: Read) -> None:
    state = {"messages": [{"type": "human", "data": {"content": "hi"}}], "__interrupt__": [{"value": "sure?"}]}
    (run,) = read(state)
    assert [step.kind for step in run.steps] == ["message", "approval"]


def test_a_constructor_that_is_not_implemented_is_kept(read: Read) -> None:
    odd = {"lc": 1, "type": "not_implemented", "id": ["x", "AIMessage"], "repr": "AIMessage(...)"}
    (run,) = read([{"lc": 1, "type": "constructor", "id": ["x", "HumanMessage"], "kwargs": {"content": "hi"}}, odd])
    assert [step.kind for step in run.steps] == ["message", "message"]
    assert run.steps[1].extra["not_implemented"] is True


def pydantic(*parts: dict[str, Any], kind: str = "request", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "parts": list(parts), **more}


def part(part_kind: str, **more: Any) -> dict[str, Any]:
    return {"part_kind": part_kind, **more}


@pytest.mark.parametrize(
    ("outcome", "status"),
    [("success", "ok"), ("failed", "error"), ("denied", "denied"), ("retried", "error"), (None, "unknown")],
)
def test_the_outcome_of_a_pydantic_return_is_its_status(read: Read, outcome: str | None, status: str) -> None:
    asks = pydantic(part("tool-call", tool_name="f", args="{}", tool_call_id="c"), kind="response")
    told = pydantic(part("tool-return", tool_name="f", content="Error: boom", tool_call_id="c", outcome=outcome))
    (run,) = read([pydantic(part("user-prompt", content="hi")), asks, told])
    assert run.source.format == "pydantic-ai"
    assert [result.status for result in results(run)] == [status]  # the text never decides


def test_pydantic_retry_prompts_and_instructions(read: Read) -> None:
    asks = pydantic(part("tool-call", tool_name="f", args={"x": 1}, tool_call_id="c"), kind="response")
    again = pydantic(part("retry-prompt", tool_name="f", content="bad x", tool_call_id="c"))
    (run,) = read([pydantic(part("user-prompt", content="hi"), instructions="be brief"), asks, again])
    assert isinstance(run.steps[0], Message)
    assert run.steps[0].role == "system"
    (result,) = results(run)
    assert (result.status, result.error.type if result.error else None) == ("error", "retried")


def ui(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    asked = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    return [asked, {"id": "a", "role": "assistant", "parts": list(parts)}]


@pytest.mark.parametrize(
    ("state", "status", "approvals"),
    [
        ("input-available", None, []),
        ("approval-requested", None, ["requested"]),
        ("approval-responded", None, ["requested", "approved"]),
        ("output-available", "ok", []),
        ("output-error", "error", []),
        ("output-denied", "denied", ["requested", "denied"]),
    ],
)
def test_the_state_of_a_vercel_tool_part(read: Read, state: str, status: str | None, approvals: list[str]) -> None:
    tool = {"type": "tool-f", "toolCallId": "c", "state": state, "input": {"a": 1}, "output": {"error": "no"}}
    if approvals:
        decided = {"approved": approvals[-1] == "approved"} if len(approvals) > 1 else {}
        tool["approval"] = {"id": "ap", **decided}
    (run,) = read(ui({"type": "step-start"}, tool))
    assert run.source.format == "vercel-ai"
    assert [result.status for result in results(run)] == ([status] if status else [])
    assert [step.state for step in run.steps if isinstance(step, Approval)] == approvals


def test_steps_of_a_vercel_message_are_turns(read: Read) -> None:
    tool = {"type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {}, "output": 1}
    (run,) = read(ui({"type": "step-start"}, tool, {"type": "step-start"}, {**tool, "toolCallId": "d"}))
    first, second = calls(run)
    assert first.turn != second.turn


def test_vercel_model_messages_and_version_4(read: Read) -> None:
    asked = {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {}}]}
    output = {"type": "error-text", "value": "boom"}
    told = {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": output}]}
    (run,) = read([user(), asked, told])
    assert [(result.status, result.call_index) for result in results(run)] == [("error", 2)]
    call = {"toolCallId": "c", "toolName": "f", "state": "result", "args": {"a": 1}, "result": 3}
    (run,) = read([user(), {"id": "a", "role": "assistant", "content": "ok", "toolInvocations": [call]}])
    assert [step.kind for step in run.steps] == ["message", "message", "tool_call", "tool_result"]


def test_gemini_contents_are_read_with_thoughts_and_calls(read: Read) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "hi"}]},
        {
            "role": "model",
            "parts": [{"text": "hm", "thought": True}, {"functionCall": {"name": "f", "args": {"a": 1}}}],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"r": 2}}}]},
    ]
    (run,) = read(contents)
    assert [step.kind for step in run.steps] == ["message", "reasoning", "tool_call", "tool_result"]
    assert isinstance(run.steps[1], Reasoning)
    assert results(run)[0].call_index == 3


def test_a_graph_trajectory_of_agentevals_names_nodes_only(read: Read) -> None:
    graph = {
        "inputs": [{"messages": [user("hi")]}],
        "results": [{"messages": [user("hi"), {"role": "assistant", "content": "bye"}]}],
        "steps": [["__start__", "agent", "sub:tools", "__interrupt__"]],
    }
    (run,) = read(graph)
    assert run.source.format == "agentevals"
    kinds = [step.kind for step in run.steps]
    assert kinds == ["message", "event", "event", "event", "approval", "message"]
    assert run.final == "bye"
    assert "NODES_ONLY" in codes(run)


def test_detection_names_the_mark_it_went_by(read: Read, tmp_path: Any) -> None:
    read([pydantic(part("user-prompt", content="hi"))])
    (best, *_) = detect(tmp_path / "trace.jsonl")
    assert best.format == "pydantic-ai"
    assert "parts" in best.evidence
