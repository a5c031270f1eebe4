"""Samples that read the prompt from the provider's cache: the first goes ahead, what is read is counted and priced."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from billing import LEAST_CACHED, CachingMessages
from loopback import LoopbackServer, Scripted, chat, claude

from judge.config import Settings, load_settings
from judge.engine.draw import estimated
from judge.engine.facade import score
from judge.engine.setup import make_setup
from judge.prompt import render
from judge.providers import connect
from judge.providers.choices import CACHED_FROM
from judge.report.verdicts import summary_text
from judge.types import Criterion, Rubric, Trajectory
from judge.types.stop_rule import StopRule
from judge.voting import summarise

CRITERION = Criterion(id="quality", question="How good?", scale={"min": 1, "max": 5, "step": 1}, evidence="none")  # type: ignore[arg-type]
RUBRIC = Rubric(id="own", version="1", title="Own", intent="To test.", criteria=(CRITERION,))
LONG = "The order was delivered to the address that the customer gave. " * 200  # 12,600 characters
PRICES = {  # dollars a token, with Anthropic's factors of 1.25 and 0.1
    "claude-x": {
        "input_cost_per_token": 1e-3, "output_cost_per_token": 5e-3,
        "cache_creation_input_token_cost": 1.25e-3, "cache_read_input_token_cost": 1e-4,
    }
}  # fmt: skip
OK = {"type": "text", "text": '{"reason": "fine", "score": 4}'}

Make = Callable[..., Settings]


def run_of(text: str = LONG) -> Trajectory:
    return Trajectory.from_json({
        "schema": "judge.trajectory/1", "id": "a", "source": {"format": "native"},
        "steps": [{"index": 1, "kind": "final", "text": text}],
    })  # fmt: skip


@pytest.fixture
def at(tmp_path: Path) -> Make:
    (tmp_path / "prices.json").write_text(json.dumps(PRICES), encoding="utf-8")

    def make(server: LoopbackServer, **flags: Any) -> Settings:
        flags = {
            "judge": "anthropic/claude-x", "samples": 3, "cache_dir": tmp_path / "cache",
            "price_file": tmp_path / "prices.json", "providers": {"anthropic": {"base_url": server.url}}, **flags,
        }  # fmt: skip
        return load_settings(flags, environment={}, folder=tmp_path)

    return make


def test_the_first_sample_goes_ahead_and_the_others_read_what_it_wrote(at: Make) -> None:
    messages = CachingMessages(4, 3, 5, together=(1, 2))
    with LoopbackServer(messages) as server:
        verdict = score(run_of(), RUBRIC, settings=at(server))
        assert server.most_under_way == 2
    (first, *others) = messages.requests
    assert len(others) == 2
    assert all(begun >= first[1] for begun, _, _ in others)
    assert sorted(filter(None, (vote.score for vote in verdict.criteria[0].votes))) == [3, 4, 5]
    assert verdict.criteria[0].votes[0].score == 4
    # What was written once was read twice.
    assert messages.created > LEAST_CACHED
    assert messages.read == 2 * messages.created
    assert verdict.usage.input_tokens == messages.plain + messages.created + messages.read
    assert verdict.usage.cache_creation_input_tokens == messages.created
    assert verdict.usage.cache_read_input_tokens == messages.read
    paid = messages.plain * 1e-3 + messages.created * 1.25e-3 + messages.read * 1e-4
    assert verdict.usage.output_tokens is not None
    assert verdict.cost_usd == pytest.approx(paid + verdict.usage.output_tokens * 5e-3, abs=1e-9)


def test_a_single_sample_writes_nothing_to_the_providers_cache(at: Make) -> None:
    messages = CachingMessages(4)
    with LoopbackServer(messages) as server:
        score(run_of(), RUBRIC, settings=at(server, samples=1))
    assert (messages.created, messages.read) == (0, 0)


def test_a_prompt_too_short_for_the_cache_is_asked_at_once(at: Make) -> None:
    messages = CachingMessages(4, together=(0, 3))
    with LoopbackServer(messages) as server:
        verdict = score(run_of("Done."), RUBRIC, settings=at(server))
    assert verdict.usage.input_tokens is not None
    assert verdict.usage.input_tokens < 3 * CACHED_FROM
    assert len(messages.requests) == 3  # of which none is answered before the others are there


def test_one_by_one_each_further_sample_reads_the_prefix(at: Make) -> None:
    messages = CachingMessages(2, 5, 2, 5, 2)
    with LoopbackServer(messages) as server:
        verdict = score(run_of(), RUBRIC, settings=at(server, samples=None, stop=StopRule(risk=0.0, least=2, most=5)))
    drawn = len(verdict.criteria[0].votes)
    assert drawn > 2
    assert [read > 0 for _, _, read in messages.requests] == [False, *[True] * (drawn - 1)]


def test_a_sample_from_our_own_cache_does_not_stand_in_for_the_first(at: Make) -> None:
    messages = CachingMessages(4, 3, 5)
    with LoopbackServer(messages) as server:
        score(run_of(), RUBRIC, settings=at(server, samples=1))
        verdict = score(run_of(), RUBRIC, settings=at(server))
    assert (verdict.calls, verdict.cached) == (2, 1)
    assert [read > 0 for _, _, read in messages.requests] == [False, False, True]
    assert messages.requests[2][0] >= messages.requests[1][1]


def test_the_most_that_a_call_can_cost_counts_writing_to_the_cache(at: Make) -> None:
    with LoopbackServer([claude(OK)]) as server:
        settings = at(server, max_usd=100.0, max_output_tokens=100)
        connection = connect("anthropic/claude-x", settings)
    setup = make_setup(RUBRIC, connection, settings)
    prompt = render(RUBRIC, run_of(), count_tokens=connection.count_tokens, sampling=setup.sampling)
    again = prompt.request.model_copy(update={"repeated": True})
    output = 100 * 5e-3
    assert estimated(setup, connection, prompt, prompt.request) == pytest.approx(prompt.tokens * 1e-3 + output)
    assert estimated(setup, connection, prompt, again) == pytest.approx(prompt.tokens * 1.25e-3 + output)
    assert estimated(setup, connection, prompt, again, 3) == pytest.approx(prompt.tokens * 1.25e-3 + 3 * output)


def test_where_marks_are_refused_samples_are_asked_at_once_from_then_on(at: Make, make_request: Any, run: Any) -> None:
    def answer(received: Any) -> Scripted:
        if "cache_control" in json.dumps(received.body):
            return Scripted(400, {"type": "error", "error": {"message": "cache_control is not supported"}})
        return claude(OK)

    async def story(connection: Any) -> list[str]:
        request = make_request().model_copy(update={"repeated": True})
        before = connection.sharing(request, CACHED_FROM)
        await connection.complete(request)
        after = connection.sharing(request, CACHED_FROM)
        await connection.aclose()
        return [before, after]

    with LoopbackServer(answer) as server:
        assert run(story(connect("anthropic/claude-x", at(server)))) == ["first_alone", "apart"]


@pytest.mark.parametrize(
    ("judge", "flags", "tokens", "how"),
    [
        ("openai/gpt-4o", {}, 10, "together"),
        ("openai/gpt-4o", {"seed": 1}, CACHED_FROM, "first_alone"),
        ("openai/gpt-4o", {"seed": 1}, CACHED_FROM - 1, "apart"),
        ("litellm/gemini/gemini-2.5-flash", {"seed": 1}, CACHED_FROM, "first_alone"),
        ("anthropic/claude-x", {"seed": 1}, CACHED_FROM, "first_alone"),
        ("anthropic/claude-x", {}, CACHED_FROM - 1, "apart"),
        ("fake/always-4", {}, CACHED_FROM, "apart"),
    ],
)
def test_how_samples_are_asked(
    judge: str, flags: dict[str, Any], tokens: int, how: str, make_settings: Any, make_request: Any
) -> None:
    assert connect(judge, make_settings()).sharing(make_request(**flags), tokens) == how


def test_a_server_of_ones_own_bills_no_prefix_and_is_asked_at_once(make_settings: Any, make_request: Any) -> None:
    own = {"base_url": "http://127.0.0.1:1/v1"}
    settings = make_settings(providers={"openai": own, "litellm": own})
    for judge in ("openai/m1", "litellm/openai/m1"):
        assert connect(judge, settings).sharing(make_request(seed=1), CACHED_FROM) == "apart"


@pytest.mark.parametrize(
    ("usage", "line"),
    [
        ({"input_tokens": 345, "cache_creation_input_tokens": 4000, "cache_read_input_tokens": 8000},
         ", 12,345 prompt tokens, of which 8,000 read from the provider's cache, and 20 output tokens"),
        ({"input_tokens": 12345}, ", 12,345 prompt tokens and 20 output tokens"),
    ],
)  # fmt: skip
def test_the_summary_tells_what_the_providers_cache_gave(usage: dict[str, int], line: str, at: Make) -> None:
    with LoopbackServer([claude(OK, usage=usage)]) as server:
        verdict = score(run_of(), RUBRIC, settings=at(server, samples=1))
    assert f"1 call, 0 from the cache{line}, cost " in summary_text(summarise([verdict]))


def test_openai_tells_what_it_read_from_its_cache(at: Make) -> None:
    with LoopbackServer([chat(OK["text"], tokens=(2000, 20), cached=1536)]) as server:
        settings = at(server, judge="openai/m1", samples=1, providers={"openai": {"base_url": f"{server.url}/v1"}})
        verdict = score(run_of(), RUBRIC, settings=settings)
    assert "2,000 prompt tokens, of which 1,536 read" in summary_text(summarise([verdict]))
