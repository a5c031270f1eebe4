"""Spans of OpenTelemetry and OpenInference: four generations, ids, order, history and usage; small inputs."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
from chat_records import Read, calls, codes, results
from trace_records import call, chat, otlp, otlp_attributes, response, run_tool, sdk, span, text

from judge.importers.dialects.spans import decoded, hex_id, nanoseconds
from judge.types import ErrorStep, Message, Trajectory

ASKED = text("user", "weather?")
MADE = call("c1", "weather", {"city": "Paris"})
TOLD = response("c1", "21")


def event(name: str, **attributes: Any) -> dict[str, Any]:
    return {"name": name, "timeUnixNano": "1", "attributes": otlp_attributes(attributes)}


CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
GENERATIONS: dict[str, dict[str, Any]] = {
    "messages as attributes": span(1, chat([ASKED], [MADE])),
    "messages in the details event": span(
        1,
        {"gen_ai.operation.name": "chat"},
        events=[
            event(
                "gen_ai.client.inference.operation.details",
                **{"gen_ai.input.messages": [ASKED], "gen_ai.output.messages": [MADE]},
            )
        ],
    ),
    "an event for each message": span(
        1,
        {"gen_ai.operation.name": "chat", "gen_ai.system": "openai"},
        events=[
            event("gen_ai.user.message", content="weather?"),
            event("gen_ai.choice", message=json.dumps({"role": "assistant", "tool_calls": [CALL]}), index=0),
        ],
    ),
    "content events": span(
        1,
        {"gen_ai.operation.name": "chat"},
        events=[
            event("gen_ai.content.prompt", **{"gen_ai.prompt": json.dumps([{"role": "user", "content": "weather?"}])}),
            event(
                "gen_ai.content.completion",
                **{"gen_ai.completion": json.dumps([{"role": "assistant", "content": None, "tool_calls": [CALL]}])},
            ),
        ],
    ),
    "indexed keys": span(
        1,
        {
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": "weather?",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.tool_calls.0.id": "c1",
            "gen_ai.completion.0.tool_calls.0.name": "weather",
            "gen_ai.completion.0.tool_calls.0.arguments": '{"city": "Paris"}',
        },
    ),
    "Vercel attributes": span(
        1,
        {
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.prompt.messages": json.dumps([{"role": "user", "content": [{"type": "text", "text": "weather?"}]}]),
            "ai.response.toolCalls": json.dumps(
                [{"toolCallId": "c1", "toolName": "weather", "input": '{"city": "Paris"}'}]
            ),
        },
    ),
    "OpenInference": span(
        1,
        {
            "openinference.span.kind": "LLM",
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "weather?",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"city": "Paris"}',
        },
    ),
    "generic input and output": span(
        1,
        {
            "traceloop.span.kind": "llm",
            "traceloop.entity.input": json.dumps({"messages": [{"role": "user", "content": "weather?"}]}),
            "traceloop.entity.output": json.dumps({"choices": [{"message": {"tool_calls": [CALL]}}]}),
        },
    ),
}


@pytest.mark.parametrize("name", GENERATIONS)
def test_every_generation_tells_the_same_question_and_call(read: Read, name: str) -> None:
    (run,) = read(otlp(GENERATIONS[name]))
    assert [step.kind for step in run.steps] == ["message", "tool_call"]
    assert run.task == "weather?"
    (made,) = calls(run)
    assert (made.call_id, made.name, made.arguments) == ("c1", "weather", {"city": "Paris"})


def test_generations_side_by_side_in_one_span_are_merged_and_not_added(read: Read) -> None:
    attributes: list[Any] = []
    events: list[Any] = []
    for made in GENERATIONS.values():
        attributes += made["attributes"]
        events += made.get("events", [])
    (run,) = read(otlp({**span(1, {}), "attributes": attributes, "events": events}))
    assert [step.kind for step in run.steps] == ["message", "tool_call"]


def test_log_records_in_a_file_of_their_own_line_join_their_span(read: Read) -> None:
    entries = [
        {"spanId": f"{1:016x}", "eventName": "gen_ai.user.message", "body": {"stringValue": '{"content": "weather?"}'}},
        {
            "spanId": f"{1:016x}",
            "attributes": otlp_attributes({"event.name": "gen_ai.choice"}),
            "body": {"kvlistValue": {"values": otlp_attributes({"message": {"content": "21", "role": "assistant"}})}},
        },
    ]
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": entries}]}]}
    (run,) = read([otlp(span(1, {"gen_ai.operation.name": "chat"})), logs])
    assert [step.kind for step in run.steps] == ["message", "message"]
    assert (run.task, run.final) == ("weather?", "21")


@pytest.mark.parametrize(
    ("given", "size", "expected"),
    [
        ("EEE19B7EC3C1B174", 8, "eee19b7ec3c1b174"),
        ("0xe5398d0617b4756a", 8, "e5398d0617b4756a"),
        (base64.b64encode(bytes.fromhex("e5398d0617b4756a")).decode(), 8, "e5398d0617b4756a"),
        ("", 8, None),
        ("0" * 16, 8, None),
        (None, 8, None),
        ("not an id", 8, "not an id"),
    ],
)
def test_ids_of_spans_in_every_spelling(given: Any, size: int, expected: str | None) -> None:
    assert hex_id(given, size) == expected


def test_nanoseconds_never_pass_through_a_float() -> None:
    assert nanoseconds("2026-11-30T06:39:20.667428471Z") == 1796020760667428471
    assert nanoseconds("2026-11-30T08:39:20.667428471+02:00") == 1796020760667428471
    assert nanoseconds("soon") is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        (json.dumps('{"a": 1}'), {"a": 1}),
        (json.dumps("plain"), "plain"),
        ("plain", "plain"),
        ("{broken", "{broken"),
        (json.dumps("12"), "12"),
        (7, 7),
    ],
)
def test_attributes_are_decoded_once_or_twice_and_text_stays(given: Any, expected: Any) -> None:
    assert decoded(given) == expected


def conversation() -> list[dict[str, Any]]:
    """An agent's span, two model calls around a tool: the second call repeats all that was said."""
    return [
        span(
            1,
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "a",
                "gen_ai.aggregated_usage.input_tokens": 20,
            },
        ),
        span(2, chat([ASKED], [MADE]), parent=1),
        span(3, run_tool("weather", "c1", '{"city": "Paris"}', "21"), parent=1),
        span(4, chat([ASKED, MADE, TOLD], [text("assistant", "21 degrees")]), parent=1),
    ]


KINDS = ["message", "tool_call", "tool_result", "message"]


def kinds(run: Trajectory) -> list[str]:
    return [step.kind for step in run.steps]


@pytest.mark.parametrize("seed", range(5))
def test_spans_in_any_order_give_the_history_once(read: Read, seed: int) -> None:
    spans = conversation()
    random.Random(seed).shuffle(spans)
    (run,) = read(otlp(*spans))
    assert kinds(run) == KINDS
    assert {step.agent for step in run.steps} == {"a"}
    assert results(run)[0].pairing == "id"
    assert run.final == "21 degrees"


def test_sdk_spans_one_to_a_line_and_otlp_lines_are_one_run(read: Read) -> None:
    spans = conversation()
    (run,) = read([otlp(made) for made in spans])
    assert kinds(run) == KINDS
    (run,) = read([sdk(made) for made in spans])
    assert kinds(run) == KINDS


def test_usage_of_an_agents_span_is_never_added_to_that_of_its_calls(read: Read) -> None:
    (run,) = read(otlp(*conversation()))
    assert sum(step.usage.input_tokens or 0 for step in run.steps if step.usage) == 20
    assert run.usage is None
    (run,) = read(otlp(conversation()[0]))  # alone, the aggregate is all there is
    assert run.usage is not None
    assert run.usage.input_tokens == 20


def test_a_model_call_inside_a_model_call_is_the_one_that_counts(read: Read) -> None:
    (run,) = read(otlp(span(1, chat([ASKED], [MADE])), span(2, chat([ASKED], [MADE]), parent=1)))
    assert kinds(run) == ["message", "tool_call"]
    assert calls(run)[0].turn == f"{2:016x}"


def test_a_user_who_says_the_same_twice_said_it_twice(read: Read) -> None:
    yes, ok = text("user", "yes"), text("assistant", "ok")
    (run,) = read(otlp(span(1, chat([yes], [ok])), span(2, chat([yes, ok, yes], [ok]))))
    assert kinds(run) == ["message"] * 4


def test_an_agent_that_repeats_a_call_without_ids_called_twice(read: Read) -> None:
    made, told = call(None, "weather", {"city": "Paris"}), response(None, "21", "weather")
    (run,) = read(otlp(span(1, chat([ASKED], [made])), span(2, chat([ASKED, made, told], [made]))))
    assert kinds(run) == ["message", "tool_call", "tool_result", "tool_call"]


def test_another_agents_conversation_is_not_taken_for_a_repetition(read: Read) -> None:
    other = chat([text("system", "judge it"), text("user", "Rate: 21")], [text("assistant", "good")])
    (run,) = read(otlp(*conversation(), span(5, {**other, "gen_ai.agent.name": "critic"})))
    assert kinds(run) == [*KINDS, "message", "message", "message"]
    assert [step.agent for step in run.steps][-3:] == ["critic"] * 3


def test_tools_without_ids_join_by_name_and_arguments(read: Read) -> None:
    made = {"role": "assistant", "parts": [*call("c1", "f", {"n": 1})["parts"], *call("c2", "f", {"n": 2})["parts"]]}
    second = span(2, run_tool("f", None, '{"n": 2}', "two"), parent=None)
    first = span(3, run_tool("f", None, '{"n":1}', "one"), parent=None)
    (run,) = read(otlp(span(1, chat([ASKED], [made])), second, first))
    assert [(result.call_id, result.pairing) for result in results(run)] == [("c2", "name"), ("c1", "name")]
    assert codes(run).count("JOINED_BY_NAME") == 2


def test_a_tool_that_no_model_call_asked_for_is_a_call_of_its_own(read: Read) -> None:
    (run,) = read(otlp(span(1, run_tool("f", "c9", '{"n": 1}', None)), span(2, run_tool("f", None, {"n": 1}, "r"))))
    assert kinds(run) == ["tool_call", "tool_call", "tool_result"]
    assert calls(run)[0].call_id == "c9"


def test_errors_come_from_the_status_and_not_from_text(read: Read) -> None:
    failed = span(
        3,
        run_tool("weather", "c1", "{}", "all fine"),
        status={"code": "STATUS_CODE_ERROR", "message": "no city"},
        events=[event("exception", **{"exception.type": "ValueError"})],
    )
    (run,) = read(otlp(span(2, chat([ASKED], [MADE])), failed))
    (result,) = results(run)
    assert (result.status, result.error.type if result.error else None) == ("error", "ValueError")
    shouting = span(3, run_tool("weather", "c1", "{}", "Error: boom"))
    (run,) = read(otlp(span(2, chat([ASKED], [MADE])), shouting))
    assert results(run)[0].status == "unknown"


def test_a_model_call_that_failed_is_an_error_step(read: Read) -> None:
    attributes = {"gen_ai.operation.name": "chat", "error.type": "429", "gen_ai.input.messages": json.dumps([ASKED])}
    (run,) = read(otlp(span(1, attributes, status={"code": 2, "message": "slow down"})))
    (step,) = [step for step in run.steps if isinstance(step, ErrorStep)]
    assert (step.type, step.message) == ("429", "slow down")


def test_arguments_that_a_tracer_wrapped_as_invalid_are_the_text(read: Read) -> None:
    (run,) = read(otlp(span(1, run_tool("f", "c1", '{"INVALID_JSON": "{\\"a\\""}', "bad"))))
    (made,) = calls(run)
    assert (made.arguments, made.arguments_raw) == (None, '{"a"')


def test_indices_are_numbers_and_not_text(read: Read) -> None:
    keys: dict[str, Any] = {"openinference.span.kind": "LLM"}
    for n in (10, 2, 0, 9, 1, 11, 8, 3, 5, 4, 7, 6):
        keys[f"llm.input_messages.{n}.message.role"] = "user"
        keys[f"llm.input_messages.{n}.message.content"] = f"m{n}"
    (run,) = read(otlp(span(1, keys)))
    said = [step.to_json()["content"][0]["text"] for step in run.steps if isinstance(step, Message)]
    assert said == [f"m{n}" for n in range(12)]


def test_attributes_that_an_export_nests_are_the_same(read: Read) -> None:
    nested = {
        "openinference": {"span": {"kind": "LLM"}},
        "llm": {"input_messages": [{"message": {"role": "user", "content": "hi"}}], "token_count": {"prompt": 3}},
    }
    (run,) = read([{**sdk(span(1, {})), "attributes": nested}])
    assert run.source.format == "openinference"
    assert run.task == "hi"


def test_a_lost_parent_a_circle_and_a_late_clock_still_read(read: Read) -> None:
    (run,) = read(otlp(*conversation()[1:]))
    assert kinds(run) == KINDS
    assert "ORPHAN_SPAN" in codes(run)
    circle = [
        {**made, "parentSpanId": f"{other:016x}"} for made, other in zip(conversation(), (4, 1, 2, 3), strict=True)
    ]
    (run,) = read(otlp(*circle))
    assert kinds(run) == KINDS
    assert "SPAN_CYCLE" in codes(run)
    late = [span(1, {"gen_ai.operation.name": "invoke_agent"}, at=50), *conversation()[1:]]  # starts after its children
    (run,) = read(otlp(*late))
    assert kinds(run) == KINDS


def test_traces_of_one_file_are_runs_of_their_own(read: Read) -> None:
    other = [{**made, "traceId": "f" * 32} for made in conversation()]
    mixed = [made for pair in zip(conversation(), other, strict=True) for made in pair]
    runs = read(otlp(*mixed))
    assert [run.id for run in runs] == [f"{1:032x}", "f" * 32]
    assert [kinds(run) for run in runs] == [KINDS, KINDS]


def test_a_model_call_without_its_content_is_kept_with_its_usage(read: Read) -> None:
    (run,) = read(otlp(span(1, {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 7})))
    (step,) = run.steps
    assert (step.kind, step.usage.input_tokens if step.usage else None) == ("event", 7)
    assert "CONTENT_NOT_RECORDED" in codes(run)
