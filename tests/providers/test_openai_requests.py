"""`openai/MODEL` against a scripted server: what is sent, what is made of odd answers."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from loopback import LoopbackServer, Received, Scripted, chat, refused

from judge.errors import RequestRefused, RetryableError, TerminalError
from judge.providers import connect

GOOD = '{"reason":"ok","evidence":[],"score":4}'


def judge_at(server: LoopbackServer, make_settings: Any, name: str = "openai/m1", **flags: Any) -> Any:
    settings = make_settings(providers={"openai": {"base_url": f"{server.url}/v1"}}, **flags)
    return connect(name, settings, draw=lambda: 0.0)


async def ask(connection: Any, *requests: Any) -> list[Any]:
    try:
        return [await connection.complete(request) for request in requests]
    finally:
        await connection.aclose()


def test_only_parameters_that_were_set_are_sent(make_settings: Any, make_request: Any, run: Any) -> None:
    with LoopbackServer([chat(GOOD)]) as server:
        run(ask(judge_at(server, make_settings), make_request(), make_request(temperature=0.0, seed=7, logprobs=True)))
        first, second = (received.body for received in server.requests)
    assert set(first) == {"model", "messages", "max_tokens", "response_format"}
    assert first["response_format"]["json_schema"]["strict"] is True
    assert first["messages"][1]["content"].startswith("Be exact.\n\n[S1] user: hello")
    assert (second["temperature"], second["seed"], second["logprobs"], second["top_logprobs"]) == (0.0, 7, True, 20)


def test_a_number_of_more_than_64_bits_is_sent_whole(make_settings: Any, make_request: Any, run: Any) -> None:
    with LoopbackServer([chat(GOOD)]) as server:
        run(ask(judge_at(server, make_settings), make_request("é \u2028", seed=2**70)))
        assert server.requests[0].body["seed"] == 2**70
        assert "é \u2028" in server.requests[0].body["messages"][1]["content"]


def test_a_reply_carries_usage_model_host_and_limit(make_settings: Any, make_request: Any, run: Any) -> None:
    with LoopbackServer([chat(GOOD, tokens=(120, 30), cached=100)]) as server:
        (reply,) = run(ask(judge_at(server, make_settings), make_request(max_output_tokens=77)))
        assert reply.host == f"127.0.0.1:{server.port}"
    assert (reply.text, reply.status, reply.model, reply.limit) == (GOOD, "ok", "served-model", 77)
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cache_read_input_tokens) == (120, 30, 100)
    assert reply.attempts == 1


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"choices": [], "usage": {"prompt_tokens": 1830}}, "empty", None),
        ({"choices": None}, "empty", None),
        ({}, "empty", None),
        ({"choices": [{"index": 0, "message": None, "finish_reason": "content_filter"}]}, "content_filter", None),
        ({"choices": [{"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}]}, "refusal", None),
        ({"choices": [{"message": {"content": " \n"}, "finish_reason": "stop"}]}, "empty", " \n"),
        ({"choices": [{"message": {"content": '{"rea'}, "finish_reason": "length"}]}, "truncated", '{"rea'),
        ({"choices": [{"message": {"content": "", "reasoning_content": GOOD}, "finish_reason": "stop"}]}, "empty", ""),
        ({"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}]}}]}, "ok", "ab"),
        ({"choices": [{"message": {"tool_calls": [{"function": {"arguments": '{"a":1}'}}]}}]}, "ok", '{"a":1}'),
    ],
)
def test_odd_bodies_are_statuses_and_no_crashes(
    body: Any, status: str, text: str | None, make_settings: Any, make_request: Any, run: Any
) -> None:
    with LoopbackServer([Scripted(body=body)]) as server:
        (reply,) = run(ask(judge_at(server, make_settings), make_request()))
    assert (reply.status, reply.text) == (status, text)


def test_usage_of_a_reply_without_choices_is_kept(make_settings: Any, make_request: Any, run: Any) -> None:
    with LoopbackServer([Scripted(body={"choices": [], "usage": {"prompt_tokens": 1830}})]) as server:
        (reply,) = run(ask(judge_at(server, make_settings), make_request()))
    assert reply.usage.input_tokens == 1830
    assert reply.usage.output_tokens is None  # not said is not zero


def test_logprobs_come_back_with_their_alternatives(make_settings: Any, make_request: Any, run: Any) -> None:
    token = {
        "token": "4",
        "logprob": -0.1,
        "top_logprobs": [{"token": "4", "logprob": -0.1}, {"token": "3", "logprob": -2}],
    }
    body = chat(GOOD).body
    body["choices"][0]["logprobs"] = {"content": [token]}
    with LoopbackServer([Scripted(body=body)]) as server:
        (reply,) = run(ask(judge_at(server, make_settings), make_request(logprobs=True)))
    assert reply.logprobs[0].top == (("4", -0.1), ("3", -2.0))


def test_a_refused_schema_falls_back_step_by_step_and_is_remembered(
    make_settings: Any, make_request: Any, run: Any
) -> None:
    def answer(received: Any) -> Scripted:
        if "response_format" in received.body:
            return refused(f"'response_format' of type {received.body['response_format']['type']} is not supported")
        return chat(GOOD)

    with LoopbackServer(answer) as server:
        first, second = run(ask(judge_at(server, make_settings), make_request(), make_request()))
        kinds = [(received.body.get("response_format") or {}).get("type") for received in server.requests]
    assert kinds == ["json_schema", "json_object", None, None]
    assert (first.attempts, second.attempts) == (3, 1)
    assert first.dropped == second.dropped == ("response_format",)


def test_a_refused_system_message_moves_into_the_user_turn(make_settings: Any, make_request: Any, run: Any) -> None:
    def answer(received: Any) -> Scripted:
        roles = [message["role"] for message in received.body["messages"]]
        return refused("System role not supported") if "system" in roles else chat(GOOD)

    with LoopbackServer(answer) as server:
        (reply,) = run(ask(judge_at(server, make_settings), make_request()))
        content = server.requests[-1].body["messages"][0]["content"]
    assert content.startswith("You grade runs. Answer in JSON.\n\nBe exact.")
    assert reply.dropped == ("system",)


@pytest.mark.parametrize("mode", ["json_object", "tool", "plain"])
def test_the_settings_choose_how_json_is_forced(mode: str, make_settings: Any, make_request: Any, run: Any) -> None:
    with LoopbackServer([chat(GOOD)]) as server:
        run(ask(judge_at(server, make_settings, models={"openai/m1": {"structured": mode}}), make_request()))
        body = server.requests[0].body
    assert ("tools" in body) is (mode == "tool")
    assert (body.get("response_format") or {}).get("type") == (mode if mode == "json_object" else None)


@pytest.mark.parametrize("param", ["temperature", "top_p", "seed", "logprobs", "reasoning_effort"])
@pytest.mark.parametrize("named", [True, False])
def test_any_refused_parameter_is_dropped_once_and_recorded(
    param: str, named: bool, make_settings: Any, make_request: Any, run: Any
) -> None:
    def answer(received: Any) -> Scripted:
        if param in received.body:
            return refused(f"Unsupported parameter: '{param}' is not supported here.", param=param if named else None)
        return chat(GOOD)

    sampling = {"temperature": 0.5, "top_p": 0.9, "seed": 1, "logprobs": True, "reasoning_effort": "low"}
    with LoopbackServer(answer) as server:
        first, second = run(ask(judge_at(server, make_settings), *[make_request(**sampling)] * 2))
        assert len(server.requests) == 3
    assert first.dropped == second.dropped == (param,)


def test_a_parameter_refused_again_after_it_was_adapted_is_an_error(
    make_settings: Any, make_request: Any, run: Any
) -> None:
    with LoopbackServer([refused("max_tokens is too large", param="max_tokens")]) as server:
        with pytest.raises(RequestRefused, match="too large"):
            run(ask(judge_at(server, make_settings), make_request()))
        assert len(server.requests) == 2


def test_case_d08_reasoning_model_that_refuses_its_parameters(
    case: Any, make_settings: Any, make_request: Any, run: Any
) -> None:
    given = case("G-D08")
    exact = given["right"]["exact"]

    def answer(received: Any) -> Scripted:
        if "max_tokens" in received.body:
            return refused("Use max_completion_tokens.", param="max_tokens", code="unsupported_parameter")
        if "temperature" in received.body:
            return refused("Only the default is supported.", param="temperature", code="unsupported_value")
        return chat(GOOD)

    name = f"openai/{given['input']['config']['model']}"
    with LoopbackServer(answer) as server:
        first, second = run(
            ask(judge_at(server, make_settings, name), make_request(temperature=0.0), make_request(temperature=0.0))
        )
        last = server.requests[-1].body
    assert first.attempts <= exact["requests_item_1_max"]
    assert second.attempts == exact["requests_item_2"]
    assert list(first.dropped) == list(second.dropped) == exact["result_field"]["dropped_params"]
    assert last["max_completion_tokens"] == 1024


def test_case_d10_openai_bodies(case: Any, make_settings: Any, make_request: Any, run: Any) -> None:
    bodies = [body for body in case("G-D10")["input"]["bodies"] if "choices" in body]
    with LoopbackServer([Scripted(body=body) for body in bodies]) as server:
        replies = run(ask(judge_at(server, make_settings), *[make_request()] * 3))
    assert [reply.status for reply in replies] == ["empty", "content_filter", "refusal"]


def test_case_d39_base_url_is_the_only_host_and_needs_no_key(
    case: Any, make_settings: Any, make_request: Any, run: Any, hosts_contacted: set[str]
) -> None:
    given = case("G-D39")
    hosts_contacted.clear()
    with LoopbackServer([chat(GOOD)]) as server:
        url = given["input"]["judge"]["base_url"].replace("PORT", str(server.port))
        settings = make_settings(given["input"]["env"], providers={"openai": {"base_url": url}})
        connection = connect(f"openai/{given['input']['judge']['model']}", settings)
        assert connection.payload(make_request())["url"] == url
        (reply,) = run(ask(connection, make_request()))
        assert server.requests[0].path == "/v1/chat/completions"
    assert sorted(hosts_contacted) == given["right"]["exact"]["hosts_contacted"]
    assert (reply.text, reply.host) == (GOOD, f"127.0.0.1:{server.port}")


def test_without_key_and_base_url_nothing_is_sent(make_settings: Any, make_request: Any, run: Any) -> None:
    with pytest.raises(TerminalError, match=r"needs an API key.*OPENAI_API_KEY"):
        run(ask(connect("openai/gpt-4o", make_settings()), make_request()))


def test_redirects_are_not_followed(make_settings: Any, make_request: Any, run: Any) -> None:
    with (
        LoopbackServer([chat(GOOD)]) as other,
        LoopbackServer([Scripted(307, headers={"location": f"{other.url}/v1/chat/completions"})]) as server,
    ):
        with pytest.raises(RequestRefused, match=r"307.*Redirects are not followed"):
            run(ask(judge_at(server, make_settings), make_request()))
        assert other.requests == []


def test_a_web_page_in_place_of_json_says_so(make_settings: Any, make_request: Any, run: Any) -> None:
    with (
        LoopbackServer([Scripted(body="<html>welcome</html>")]) as server,
        pytest.raises(RetryableError, match="200 with a body that is not JSON"),
    ):
        run(ask(judge_at(server, make_settings, http_retries=0), make_request()))


def test_an_error_inside_a_success_is_an_error(make_settings: Any, make_request: Any, run: Any) -> None:
    with (
        LoopbackServer([Scripted(body={"error": {"message": "no credits", "code": 402}})]) as server,
        pytest.raises(TerminalError, match="402: no credits"),
    ):
        run(ask(judge_at(server, make_settings), make_request()))


def test_an_overlong_prompt_is_named_as_such(make_settings: Any, make_request: Any, run: Any) -> None:
    body = {"error": {"message": "maximum context length is 8192 tokens", "code": "context_length_exceeded"}}
    with LoopbackServer([Scripted(400, body)]) as server, pytest.raises(RequestRefused) as caught:
        run(ask(judge_at(server, make_settings), make_request()))
    assert caught.value.reason == "context_length"


def test_many_at_once_stay_within_the_limit(make_settings: Any, make_request: Any, run: Any) -> None:
    async def many(connection: Any) -> None:
        try:
            await asyncio.gather(*(connection.complete(make_request(sample=k)) for k in range(12)))
        finally:
            await connection.aclose()

    three = threading.Barrier(3, timeout=120)

    def answer(_: Received) -> Scripted:
        three.wait()  # so that there are never fewer
        return chat(GOOD)

    with LoopbackServer(answer) as server:
        run(many(judge_at(server, make_settings, concurrency=3)))
        assert len(server.requests) == 12
        assert server.most_under_way == 3
