"""`anthropic/MODEL` against a scripted server: cache marks, forced JSON, thinking, odd answers."""

from __future__ import annotations

from typing import Any

import pytest
from loopback import LoopbackServer, Scripted, claude

from judge.errors import ConfigError, RetryableError, TerminalError
from judge.providers import connect

GOOD = '{"reason":"ok","evidence":[],"score":4}'
TEXT = {"type": "text", "text": GOOD}


def judge_at(server: LoopbackServer, make_settings: Any, name: str = "anthropic/c1", **flags: Any) -> Any:
    settings = make_settings(providers={"anthropic": {"base_url": server.url}}, **flags)
    return connect(name, settings, draw=lambda: 0.0)


async def ask(connection: Any, *requests: Any) -> list[Any]:
    try:
        return [await connection.complete(request) for request in requests]
    finally:
        await connection.aclose()


def refusal(message: str) -> Scripted:
    return Scripted(400, {"type": "error", "error": {"type": "invalid_request_error", "message": message}})


def test_the_shared_prefix_ends_in_cache_marks(make_settings: Any, make_request: Any, run: Any) -> None:
    with LoopbackServer([claude(TEXT)]) as server:
        request = make_request()
        run(ask(judge_at(server, make_settings), request.model_copy(update={"repeated": True}), request))
        body, alone = (received.body for received in server.requests)
        assert server.requests[0].path == "/v1/messages"
    marked = [block.get("cache_control") for block in body["messages"][0]["content"]]
    assert marked == [None, {"type": "ephemeral"}, None]  # rubric, trajectory (shared), closing task
    assert [set(block) for block in alone["messages"][0]["content"]] == [{"type", "text"}] * 3  # no other sample comes
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert body["output_config"]["format"]["type"] == "json_schema"
    assert "temperature" not in body


def test_input_tokens_are_all_in(make_settings: Any, make_request: Any, run: Any) -> None:
    usage = {"input_tokens": 50, "cache_creation_input_tokens": 300, "cache_read_input_tokens": 700}
    with LoopbackServer([claude(TEXT, usage=usage)]) as server:
        (reply,) = run(ask(judge_at(server, make_settings), make_request()))
    assert reply.usage.input_tokens == 1050  # 50 + 300 + 700
    assert (reply.usage.cache_creation_input_tokens, reply.usage.cache_read_input_tokens) == (300, 700)


@pytest.mark.parametrize(
    ("scripted", "status", "text"),
    [
        (claude(stop="refusal"), "refusal", None),
        (claude(), "empty", None),
        (claude({"type": "text", "text": '{"rea'}, stop="max_tokens"), "truncated", '{"rea'),
        (claude(TEXT, stop="model_context_window_exceeded"), "truncated", GOOD),
        (claude({"type": "thinking", "thinking": "hm", "signature": "x"}, TEXT), "ok", GOOD),
        (claude({"type": "tool_use", "id": "t", "name": "verdict", "input": {"score": 3}}), "ok", '{"score": 3}'),
        (Scripted(body={}), "empty", None),
        (Scripted(body={"content": None, "stop_reason": None}), "empty", None),
    ],
)
def test_stop_reasons_and_blocks(
    scripted: Scripted, status: str, text: str | None, make_settings: Any, make_request: Any, run: Any
) -> None:
    with LoopbackServer([scripted]) as server:
        (reply,) = run(ask(judge_at(server, make_settings), make_request()))
    assert (reply.status, reply.text) == (status, text)


def test_a_model_without_json_output_gets_a_forced_tool_and_is_remembered(
    make_settings: Any, make_request: Any, run: Any
) -> None:
    def answer(received: Any) -> Scripted:
        if "output_config" in received.body:
            return refusal("output_config.format: this model does not support structured outputs")
        return claude({"type": "tool_use", "id": "t", "name": "verdict", "input": {"score": 2}})

    with LoopbackServer(answer) as server:
        first, second = run(ask(judge_at(server, make_settings), make_request(), make_request()))
        assert server.requests[1].body["tool_choice"] == {"type": "tool", "name": "verdict"}
        assert "_tool" not in server.requests[1].body
    assert (first.attempts, second.attempts) == (2, 1)
    assert first.text == '{"score": 2}'
    assert first.dropped == ("output_config",)


def test_temperature_and_top_p_are_not_sent_together(make_settings: Any, make_request: Any, run: Any) -> None:
    with LoopbackServer([claude(TEXT)]) as server:
        (reply,) = run(ask(judge_at(server, make_settings), make_request(temperature=0.2, top_p=0.9, seed=3)))
        body = server.requests[0].body
    assert body["temperature"] == 0.2
    assert "top_p" not in body
    assert reply.dropped == ("seed", "top_p")


@pytest.mark.parametrize("effort", ["low", "high"])
def test_effort_is_sent_and_dropped_where_refused(effort: str, make_settings: Any, make_request: Any, run: Any) -> None:
    def answer(received: Any) -> Scripted:
        if "effort" in received.body.get("output_config", {}):
            return refusal("This model does not support the effort parameter.")
        return claude(TEXT)

    with LoopbackServer(answer) as server:
        (reply,) = run(ask(judge_at(server, make_settings), make_request(reasoning_effort=effort)))
        assert server.requests[0].body["output_config"]["effort"] == effort
        assert set(server.requests[1].body["output_config"]) == {"format"}
    assert reply.dropped == ("reasoning_effort",)


def test_a_model_that_only_thinks_adaptively(make_settings: Any, make_request: Any, run: Any) -> None:
    def answer(received: Any) -> Scripted:
        if received.body.get("thinking", {}).get("type") == "enabled":
            return refusal('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive"')
        return claude(TEXT)

    with LoopbackServer(answer) as server:
        (reply,) = run(ask(judge_at(server, make_settings), make_request(thinking_tokens=2000, max_output_tokens=4000)))
        assert server.requests[1].body["thinking"] == {"type": "adaptive"}
    assert reply.dropped == ("thinking",)


@pytest.mark.parametrize(("thinking", "limit"), [(2000, 2000), (2000, 1024), (500, 4000)])
def test_the_thinking_budget_is_checked_before_sending(
    thinking: int, limit: int, make_settings: Any, make_request: Any, run: Any
) -> None:
    with LoopbackServer([claude(TEXT)]) as server:
        with pytest.raises(ConfigError, match="thinking_tokens"):
            run(ask(judge_at(server, make_settings), make_request(thinking_tokens=thinking, max_output_tokens=limit)))
        assert server.requests == []


@pytest.mark.parametrize("reply_text", [GOOD, "I would rather talk."])
def test_thinking_offers_the_tool_and_reads_text(
    reply_text: str, make_settings: Any, make_request: Any, run: Any
) -> None:
    settings = {"models": {"anthropic/c1": {"structured": "tool"}}}
    with LoopbackServer([claude({"type": "text", "text": reply_text})]) as server:
        request = make_request(thinking_tokens=2000, max_output_tokens=4000, temperature=0.0)
        (reply,) = run(ask(judge_at(server, make_settings, **settings), request))
        body = server.requests[0].body
    assert body["tool_choice"] == {"type": "auto"}
    assert "temperature" not in body
    assert reply.dropped == ("temperature",)
    assert (reply.status, reply.text) == ("ok", reply_text)  # what the text is worth, the parser says


def test_case_d09_forced_tool_with_thinking(case: Any, make_settings: Any, make_request: Any, run: Any) -> None:
    given = case("G-D09")
    exact = given["right"]["exact"]
    refused = 0

    def answer(received: Any) -> Scripted:
        nonlocal refused
        thinks = "thinking" in received.body
        if thinks and received.body.get("tool_choice", {}).get("type") in {"tool", "any"}:
            refused += 1
            return refusal("Thinking may not be enabled when tool_choice forces tool use.")
        return claude(TEXT)

    budget = given["input"]["thinking"]["budget_tokens"]
    mode = {"models": {"anthropic/c1": {"structured": given["input"]["output_mode"]}}}
    with LoopbackServer(answer) as server:
        (reply,) = run(
            ask(
                judge_at(server, make_settings, **mode),
                make_request(thinking_tokens=budget, max_output_tokens=budget + 1024),
            )
        )
        body = server.requests[0].body
    assert body["tool_choice"] == exact["tool_choice"]
    assert body["thinking"] == given["input"]["thinking"]
    assert refused == exact["http_400_count"]
    assert (reply.status, reply.text) == ("ok", GOOD)


def test_case_d10_anthropic_body(case: Any, make_settings: Any, make_request: Any, run: Any) -> None:
    given = case("G-D10")
    (body,) = [body for body in given["input"]["bodies"] if "content" in body]
    with LoopbackServer([Scripted(body=body)]) as server:
        (reply,) = run(ask(judge_at(server, make_settings), make_request()))
    assert reply.status == given["right"]["exact"]["kinds"][2] == "refusal"


def test_overload_is_tried_again_and_credit_is_not(make_settings: Any, make_request: Any, run: Any) -> None:
    overloaded = Scripted(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    with LoopbackServer([overloaded]) as server, pytest.raises(RetryableError, match="529: Overloaded"):
        run(ask(judge_at(server, make_settings, http_retries=0), make_request()))
    broke = "Your credit balance is too low to access the API."
    with LoopbackServer([refusal(broke)]) as server, pytest.raises(TerminalError, match="credit balance"):
        run(ask(judge_at(server, make_settings), make_request()))


def test_without_key_and_base_url_nothing_is_sent(make_settings: Any, make_request: Any, run: Any) -> None:
    with pytest.raises(TerminalError, match=r"needs an API key.*ANTHROPIC_API_KEY"):
        run(ask(connect("anthropic/claude-x", make_settings()), make_request()))


def test_base_url_is_the_only_host(make_settings: Any, make_request: Any, run: Any, hosts_contacted: set[str]) -> None:
    hosts_contacted.clear()
    with LoopbackServer([claude(TEXT)]) as server:
        (reply,) = run(ask(judge_at(server, make_settings), make_request()))
    assert hosts_contacted == {"127.0.0.1"}
    assert reply.host == f"127.0.0.1:{server.port}"
