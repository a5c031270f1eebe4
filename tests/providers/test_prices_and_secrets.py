"""Prices that may be unknown, and secrets that never show."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from loopback import LoopbackServer, Scripted, chat

from judge.config import keep_litellm_offline
from judge.errors import ConfigError, TerminalError
from judge.providers import TextCache, connect, redact
from judge.providers.prices import Price, entry, price_of, table
from judge.types.trajectory import Usage

GOOD = '{"reason":"ok","evidence":[],"score":4}'


def test_case_d14_unknown_price_is_none_and_the_users_price_counts(
    case: Any, make_settings: Any, make_request: Any, run: Any
) -> None:
    given = case("G-D14")
    exact = given["right"]["exact"]
    usage = given["input"]["usage"]
    prices = given["input"]["user_prices_per_million"]
    judge = f"openai/{given['input']['model']}"
    answer = chat(given["input"]["reply"], tokens=(usage["input_tokens"], usage["output_tokens"]))

    async def ask(connection: Any) -> Any:
        try:
            return await connection.complete(make_request())
        finally:
            await connection.aclose()

    with LoopbackServer([answer]) as server:
        provider = {"openai": {"base_url": f"{server.url}/v1"}}
        own = {judge: {"input_usd_per_million": prices["input"], "output_usd_per_million": prices["output"]}}
        without = connect(judge, make_settings(providers=provider))
        reply = run(ask(without))
        priced = connect(judge, make_settings(providers=provider, models=own))
    assert json.loads(reply.text)["score"] == exact["score"]
    assert without.price(reply.usage) is exact["cost_without_price"] is None
    assert priced.price(reply.usage) == pytest.approx(exact["cost_with_user_prices"])  # 1200·3e-6 + 300·15e-6


@pytest.mark.parametrize(
    "usage", [Usage(), Usage(input_tokens=5), Usage(output_tokens=5), Usage(cache_read_input_tokens=5)]
)
def test_unknown_tokens_cost_an_unknown_amount(usage: Usage) -> None:
    assert Price(input=1.0, output=1.0).cost(usage) is None


def test_cached_tokens_cost_their_own_price() -> None:
    price = Price(input=3e-6, output=15e-6, cache_read=0.3e-6, cache_creation=3.75e-6)
    usage = Usage(input_tokens=1000, output_tokens=100, cache_read_input_tokens=600, cache_creation_input_tokens=300)
    # 100·3 + 600·0.3 + 300·3.75 + 100·15 = 300 + 180 + 1125 + 1500 millionths
    assert price.cost(usage) == pytest.approx(3105e-6)
    plain = Price(input=3e-6, output=15e-6)
    assert plain.cost(usage) == pytest.approx(4500e-6)  # 1000·3 + 100·15


def test_known_models_are_found_with_and_without_their_provider(make_settings: Any) -> None:
    assert table(), "litellm's table is there"
    settings = make_settings()
    direct, through = price_of("openai/gpt-4o", settings), price_of("litellm/openai/gpt-4o", settings)
    assert direct is not None
    assert direct == through
    assert direct.input > 0
    assert price_of("anthropic/claude-sonnet-4-5", settings) is not None
    assert connect("openai/gpt-4o", settings).context_tokens == 128000
    assert entry("openai/claude-sonnet-4-5") is None  # another provider's model


def test_the_makers_price_is_not_that_of_another_server(make_settings: Any) -> None:
    settings = make_settings(providers={"openai": {"base_url": "http://127.0.0.1:1/v1"}})
    connection = connect("openai/gpt-4o", settings)
    assert connection.price(Usage(input_tokens=1, output_tokens=1)) is None
    assert connection.context_tokens is None


def test_judges_without_a_model_cost_nothing(make_settings: Any) -> None:
    assert connect("rules/process", make_settings()).price(Usage(input_tokens=0, output_tokens=0)) == 0.0


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key sk-test-DO-NOT-LEAK-0001.", "key [hidden]."),
        ("at https://user:pw@host.example/v1", "at https://host.example/v1"),
        ("GET /v1?api_key=LEAK2&x=1", "GET /v1?api_key=[hidden]&x=1"),
        ("GET /v1?access_token=abc#f", "GET /v1?access_token=[hidden]#f"),
        ("Authorization: Bearer abcdefgh.ijk", "Authorization: Bearer [hidden]"),
        ("{'x-api-key': 'abcd1234'}", "{'x-api-key': '[hidden]'}"),
        ("Incorrect API key provided: sk-proj-****abcd", "Incorrect API key provided: [hidden]"),
        ("the ask-me-anything task with 3 tokens = fine", "the ask-me-anything task with 3 tokens = fine"),
    ],
)
def test_secrets_are_taken_out_of_any_text(text: str, clean: str) -> None:
    assert redact(text) == clean


def test_exact_secrets_go_first_and_longest_first() -> None:
    assert redact("hunter2 and hunter2345", ["hunter2", "hunter2345"]) == "[hidden] and [hidden]"


def test_case_d36_no_secret_is_written_said_or_answered(
    case: Any, make_settings: Any, make_request: Any, run: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = case("G-D36")["input"]
    config, secrets = given["config"], [given["env"]["JUDGE_API_KEY"], "pw-LEAK", "LEAK2"]
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(logging.DEBUG)
    told: list[str] = []

    def answer(received: Any) -> Scripted:
        if len(server.requests) == 1:
            return chat(GOOD)
        sent = f"{received.path} {received.headers}"  # a server that repeats what it was sent
        return Scripted(401, {"error": {"message": f"bad key {' '.join(secrets)}; you sent {sent}"}})

    async def both(connection: Any) -> None:
        try:
            reply = await connection.complete(make_request())
            connection.keep(make_request(), reply)
            told.append(reply.model_dump_json())
            with pytest.raises(TerminalError) as caught:
                await connection.complete(make_request(sample=1))
            told.extend([str(caught.value), repr(caught.value), repr(caught.value.__cause__)])
        finally:
            await connection.aclose()

    try:
        with LoopbackServer(answer) as server:
            url = config["base_url"].replace("https://", "http://").replace("host.example", f"127.0.0.1:{server.port}")
            settings = make_settings(
                given["env"], providers={"openai": {"base_url": url, "headers": config["headers"]}}
            )
            cache = TextCache(tmp_path / "cache")
            connection = connect("openai/m1", settings, cache=cache)
            run(both(connection))
            cache.close()
            # the secrets did their work: they were sent
            assert server.requests[0].headers["authorization"] == f"Bearer {secrets[0]}"
            assert server.requests[0].path == "/v1/chat/completions?api_key=LEAK2"
        told += [json.dumps(settings.to_json()), repr(settings), settings.model_dump_json()]
        told += [json.dumps(connection.payload(make_request())), str(connection.host), log.getvalue()]
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(logging.WARNING)
    told += list(capfd.readouterr())
    told += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(text.count(secret) for text in told for secret in secrets) == 0
    assert "${JUDGE_API_KEY}" in told[-1] or "${JUDGE_API_KEY}" in "".join(told)  # the reference stays


def test_a_user_and_password_in_the_url_are_sent_as_basic_credentials(
    make_settings: Any, make_request: Any, run: Any
) -> None:
    async def ask(connection: Any) -> None:
        try:
            await connection.complete(make_request())
        finally:
            await connection.aclose()

    with LoopbackServer([chat(GOOD)]) as server:
        settings = make_settings(providers={"openai": {"base_url": f"http://me:secret@127.0.0.1:{server.port}/v1"}})
        run(ask(connect("openai/m1", settings)))
        assert server.requests[0].headers["authorization"] == "Basic bWU6c2VjcmV0"  # base64 of me:secret
    assert settings.provider("openai").base_url == f"http://127.0.0.1:{server.port}/v1"


@pytest.mark.parametrize("url", ["host.example/v1", "ftp://user:pw-LEAK@host/", "http://", "http://user:pw-LEAK@h:x/"])
def test_a_wrong_base_url_is_refused_without_repeating_it(url: str, make_settings: Any) -> None:
    with pytest.raises(ConfigError, match="base_url of provider 'openai'") as caught:
        make_settings(providers={"openai": {"base_url": url}})
    assert "pw-LEAK" not in str(caught.value)


def test_a_secret_written_into_a_header_is_refused(make_settings: Any) -> None:
    with pytest.raises(ConfigError, match=r"holds a secret as text.*\$\{NAME\}") as caught:
        make_settings(providers={"openai": {"headers": {"Authorization": "Bearer abc-LEAK"}}})
    assert "abc-LEAK" not in str(caught.value)


def test_a_header_that_needs_an_absent_variable_says_which(make_settings: Any, make_request: Any, run: Any) -> None:
    settings = make_settings(
        providers={"openai": {"base_url": "http://127.0.0.1:9/v1", "headers": {"X-Team": "${NO_SUCH}"}}}
    )
    with pytest.raises(ConfigError, match=r"'X-Team'.*\$\{NO_SUCH\}"):
        settings.sent_headers("openai")


def test_litellm_is_kept_off_the_network_unless_the_user_says_otherwise() -> None:
    env = {"LITELLM_OFFLINE_MODE": "false"}
    keep_litellm_offline(env)
    assert env["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
    assert env["LITELLM_OFFLINE_MODE"] == "false"
