"""Langfuse, LangSmith and MLflow: containers that hold any framework's messages; small inputs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chat_records import Read, asks, calls, codes, results, tool, user
from trace_records import START, langfuse, langsmith, mlflow, mlflow_span, observation

from judge.types import ErrorStep, Trajectory

ANTHROPIC = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}]}
OPENAI = asks(("c1", "f", '{"a": 1}'))
LANGCHAIN = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "schema", "messages", "AIMessage"],
    "kwargs": {"content": "", "tool_calls": [{"id": "c1", "name": "f", "args": {"a": 1}}]},
}
PARTS = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "f", "arguments": {"a": 1}}]}]
GEMINI = {"content": {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "f", "args": {"a": 1}}}]}}
RESPONSES = {
    "object": "response",
    "output": [{"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'}],
}
VERCEL = [{"toolCallId": "c1", "toolName": "f", "input": '{"a": 1}'}]
PAYLOADS: dict[str, Any] = {
    "anthropic": ANTHROPIC,
    "openai": {"choices": [{"message": OPENAI}]},
    "openai, calls as text": {**OPENAI, "tool_calls": [json.dumps(call) for call in OPENAI["tool_calls"]]},
    "langchain": {"generations": [[{"text": "", "message": LANGCHAIN}]]},
    "langchain by provider keys": {
        "role": "assistant",
        "content": "",
        "additional_kwargs": {"tool_calls": OPENAI["tool_calls"]},
    },
    "parts": PARTS,
    "gemini": GEMINI,
    "responses": RESPONSES,
    "vercel": VERCEL,
}


def only_call(run: Trajectory) -> tuple[str | None, str, Any]:
    (made,) = calls(run)
    return made.call_id, made.name, made.arguments


@pytest.mark.parametrize("encoded", [0, 1, 2], ids=["object", "text", "text in text"])
@pytest.mark.parametrize("name", PAYLOADS)
def test_a_container_holds_any_dialect_encoded_or_not(read: Read, name: str, encoded: int) -> None:
    payload = PAYLOADS[name]
    for _ in range(encoded):
        payload = json.dumps(payload)
    (run,) = read(langfuse(observation(1, "GENERATION", input=json.dumps([user("go")]), output=payload)))
    assert only_call(run) == ("c1", "f", {"a": 1})
    assert run.task == "go"
    (run,) = read([langsmith(1, "llm", {"messages": [[user("go")]]}, payload)])
    assert only_call(run) == ("c1", "f", {"a": 1})
    (run,) = read(mlflow(mlflow_span(1, "CHAT_MODEL", {"messages": [user("go")]}, payload)))
    assert only_call(run) == ("c1", "f", {"a": 1})


def test_langfuse_rows_one_to_a_line_are_one_run_in_order_of_time(read: Read) -> None:
    rows = [
        observation(
            3, "GENERATION", input=[user("go"), OPENAI, tool("c1", "r")], output="done", usageDetails={"input": 5}
        ),
        observation(2, "TOOL", name="f", input={"a": 1}, output="r"),
        observation(1, "GENERATION", input=[user("go")], output=OPENAI, usageDetails={"input": 4, "output": 1}),
    ]
    (run,) = read(rows)
    assert [step.kind for step in run.steps] == ["message", "tool_call", "tool_result", "message"]
    assert [step.usage.input_tokens for step in run.steps if step.usage] == [4, 5]
    assert results(run)[0].pairing == "name"


def test_parallel_tools_that_overlap_meet_their_own_calls(read: Read) -> None:
    both = asks(("c1", "f", '{"a": 1}'), ("c2", "f", '{"a": 2}'))
    (run,) = read(
        langfuse(
            observation(1, "GENERATION", input=[user()], output=both),
            observation(2, "TOOL", name="f", input='{"a": 2}', output="two"),
            observation(2, "TOOL", name="f", input='{"a": 1}', output="one", id="x"),
        )
    )
    told = {result.call_id: result.to_json()["content"][0]["text"] for result in results(run)}
    assert told == {"c1": "one", "c2": "two"}


def test_the_level_of_an_observation_is_its_status(read: Read) -> None:
    failed = observation(2, "TOOL", name="f", input={"a": 1}, output=None, level="ERROR", statusMessage="boom")
    (run,) = read(langfuse(observation(1, "GENERATION", input=[user()], output=OPENAI), failed))
    (result,) = results(run)
    assert (result.status, result.error.message if result.error else None) == ("error", "boom")


def test_garbage_in_a_containers_input_is_kept_and_said(read: Read) -> None:
    (run,) = read(langfuse(observation(1, "GENERATION", input={"content": "role"}, output="hi")))
    assert [step.kind for step in run.steps] == ["event", "message"]
    assert "UNREADABLE_MESSAGE" in codes(run)


def test_langsmith_children_nested_or_flat_are_the_same_run(read: Read) -> None:
    first = langsmith(2, "llm", {"messages": [[user("go")]]}, {"generations": [[{"message": LANGCHAIN}]]})
    ran = langsmith(
        3,
        "tool",
        {"input": "{'a': 1}"},
        {"output": {"type": "tool", "content": "r", "tool_call_id": "c1", "status": "error"}},
        name="f",
    )
    root = langsmith(1, "chain", {"messages": [user("go")]}, {"output": "x"}, total_cost="0.25", prompt_tokens=9)
    (flat,) = read([root, first, ran])
    (nested,) = read([{**root, "child_runs": [first, ran]}])
    assert [step.to_json() for step in flat.steps] == [step.to_json() for step in nested.steps]
    assert [step.kind for step in flat.steps] == ["message", "tool_call", "tool_result"]
    (result,) = results(flat)
    assert (result.status, result.pairing) == ("error", "id")  # LangChain's own status
    assert flat.usage is not None
    assert flat.usage.cost_usd == 0.25  # decimal text


def test_a_langsmith_run_that_failed_says_so(read: Read) -> None:
    (run,) = read([langsmith(1, "llm", {"messages": [user()]}, None, error="RateLimit")])
    (step,) = [step for step in run.steps if isinstance(step, ErrorStep)]
    assert step.message == "RateLimit"


def test_mlflow_spans_with_errors_and_numbers_that_json_has_not(read: Read) -> None:
    model = mlflow_span(2, "CHAT_MODEL", {"messages": [user("go")]}, {"choices": [{"message": OPENAI}]})
    ran = mlflow_span(3, "TOOL", {"a": 1}, {"v": 1}, name="f")
    ran["attributes"]["mlflow.spanOutputs"] = '{"v": NaN}'
    thrown = {"name": "exception", "attributes": {"exception.type": "E", "exception.message": "m"}}
    failed = mlflow_span(4, "TOOL", {"a": 2}, None, name="f", events=[thrown], status={"code": "STATUS_CODE_ERROR"})
    (run,) = read(mlflow(mlflow_span(1, "AGENT", {"q": "go"}, "done"), model, ran, failed))
    assert run.source.format == "mlflow"
    assert [(result.status, result.structured) for result in results(run)] == [("ok", {"v": None}), ("error", None)]
    assert len(calls(run)) == 2
    assert run.steps[0].ts == "2026-11-30T00:53:20.000000002Z"  # nanoseconds kept
    assert START % 10**9 == 0


def test_the_error_of_a_chain_is_told_once_where_it_arose(read: Read) -> None:
    root = langsmith(1, "chain", {}, None, error="boom")
    inner = langsmith(2, "chain", {}, None, error="boom")
    (run,) = read([root, inner, langsmith(3, "llm", {"messages": [user()]}, "hi")])
    assert [step.kind for step in run.steps].count("error") == 1
    assert run.outcome is not None
    assert run.outcome.status == "failed"


def test_an_agent_alone_answers_after_its_tools(read: Read) -> None:
    root = mlflow_span(1, "AGENT", "go", "done")
    (run,) = read(mlflow(root, mlflow_span(2, "TOOL", {"a": 1}, "r", name="f")))
    assert [step.kind for step in run.steps] == ["message", "tool_call", "tool_result", "message"]
    assert (run.task, run.final) == ("go", "done")


def test_the_first_of_several_roots_is_not_the_answer(read: Read) -> None:
    first = observation(1, "GENERATION", input=[user("go")], output="let me see")
    second = observation(2, "GENERATION", input=[user("go")], output="21")
    (run,) = read(langfuse(first, second))
    assert run.final == "21"
