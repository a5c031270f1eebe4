"""Samples of one prompt by one request with `n`: counted once, cached one by one, and what a server may make of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from billing import ChatCompletions
from loopback import LoopbackServer, Received, Scripted, refused

from judge.config import Settings, load_settings
from judge.engine.facade import score, score_many
from judge.providers import connect
from judge.providers.cache import CacheWarning
from judge.providers.choices import choices_of, refuses_choices, shares
from judge.providers.litellm import LiteLLM
from judge.types import Criterion, Rubric, Trajectory, Usage, Verdict
from judge.types.stop_rule import StopRule

CRITERION = Criterion(id="quality", question="How good?", scale={"min": 1, "max": 5, "step": 1}, evidence="none")  # type: ignore[arg-type]
RUBRIC = Rubric(id="own", version="1", title="Own", intent="To test.", criteria=(CRITERION,))
PRICE = {"input_usd_per_million": 1000.0, "output_usd_per_million": 2000.0}
"""A tenth of a cent for a token of the prompt, two tenths for one of the reply."""

Make = Callable[..., Settings]


def run_of(name: str = "a") -> Trajectory:
    return Trajectory.from_json({
        "schema": "judge.trajectory/1", "id": name, "source": {"format": "native"},
        "steps": [{"index": 1, "kind": "final", "text": f"answer {name}"}],
    })  # fmt: skip


@pytest.fixture
def at(tmp_path: Path) -> Make:
    def make(server: LoopbackServer, judge: str = "openai/m1", **flags: Any) -> Settings:
        provider = judge.partition("/")[0]
        flags = {
            "judge": judge, "samples": 3, "cache_dir": tmp_path / "cache", "models": {judge: PRICE},
            "providers": {provider: {"base_url": f"{server.url}/v1"}}, **flags,
        }  # fmt: skip
        return load_settings(flags, environment={}, folder=tmp_path)

    return make


def asked(server: LoopbackServer) -> list[int | None]:
    """`n` of every request, in order."""
    return [received.body.get("n") for received in server.requests]


def scores(verdict: Verdict) -> list[float | None]:
    return [vote.score for vote in verdict.criteria[0].votes]


def test_three_samples_are_one_request_counted_once(at: Make) -> None:
    chat = ChatCompletions(4, 3, 5)
    with LoopbackServer(chat) as server:
        verdict = score(run_of(), RUBRIC, settings=at(server))
        assert asked(server) == [3]
    assert (scores(verdict), verdict.score) == ([4, 3, 5], 4)
    assert [vote.sample for vote in verdict.criteria[0].votes] == [0, 1, 2]
    assert (verdict.calls, verdict.cached) == (1, 0)
    assert (verdict.usage.input_tokens, verdict.usage.output_tokens) == (chat.prompt_tokens, chat.output_tokens)
    votes = verdict.criteria[0].votes
    assert [vote.usage and vote.usage.input_tokens for vote in votes] == [chat.prompt_tokens, 0, 0]
    assert verdict.cost_usd == pytest.approx(chat.prompt_tokens * 0.001 + chat.output_tokens * 0.002, abs=1e-9)


def test_each_sample_is_kept_under_its_own_key_and_only_missing_ones_are_asked(at: Make) -> None:
    with LoopbackServer(ChatCompletions(4, 3, 5, 2, 1)) as server:
        first = score(run_of(), RUBRIC, settings=at(server, samples=1))
        three = score(run_of(), RUBRIC, settings=at(server, samples=3))
        again = score(run_of(), RUBRIC, settings=at(server, samples=3))
        five = score(run_of(), RUBRIC, settings=at(server, samples=5))
        assert asked(server) == [None, 2, 2]
    assert [scores(verdict) for verdict in (first, three, again, five)] == [[4], [4, 3, 5], [4, 3, 5], [4, 3, 5, 2, 1]]
    assert [(verdict.calls, verdict.cached) for verdict in (first, three, again, five)] == [
        (1, 0), (1, 1), (0, 3), (1, 3),
    ]  # fmt: skip
    assert (again.usage.input_tokens, again.cost_usd) == (0, 0.0)


def test_neither_key_nor_fingerprint_knows_how_it_was_asked(at: Make, make_request: Any) -> None:
    request = make_request(sample=2)
    with LoopbackServer(ChatCompletions(4)) as server:
        for name in ("openai/m1", "anthropic/m1"):
            connection = connect(name, at(server, name))
            assert connection.key(request) == connection.key(request.model_copy(update={"repeated": True}))
        together = score(run_of(), RUBRIC, settings=at(server, cache=False))
    with LoopbackServer(ChatCompletions(4, takes_n=False)) as server:
        apart = score(run_of(), RUBRIC, settings=at(server, cache=False))
    assert together.fingerprints["prompt"] == apart.fingerprints["prompt"]
    assert together.fingerprints["rubric"] == apart.fingerprints["rubric"]


def test_a_cut_choice_fails_alone_and_is_asked_again_alone(at: Make) -> None:
    def cut(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if len(choices) == 3:
            choices[1] = {**choices[1], "message": {"content": '{"rea'}, "finish_reason": "length"}
        return choices

    with LoopbackServer(ChatCompletions(4, 3, 5, 2, choose=cut)) as server:
        verdict = score(run_of(), RUBRIC, settings=at(server, max_output_tokens=100))
        assert asked(server) == [3, None]
        assert [received.body["max_tokens"] for received in server.requests] == [100, 200]
    assert (scores(verdict), verdict.calls) == ([4, 2, 5], 2)
    with LoopbackServer(ChatCompletions(4, 3, 5, choose=cut)) as server:
        verdict = score(run_of(), RUBRIC, settings=at(server, retries=0, cache=False))
    assert [vote.status for vote in verdict.criteria[0].votes] == ["ok", "truncated", "ok"]
    assert [(error.kind, error.sample) for error in verdict.errors] == [("truncated", 1)]


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"message": {"content": None, "refusal": "I will not."}}, "refusal"),
        ({"message": None, "finish_reason": "content_filter"}, "content_filter"),
        ({"message": {"content": "no verdict here"}}, "unparsed"),
    ],
)
def test_a_refused_choice_is_a_failure_of_its_sample_only(changed: dict[str, Any], status: str, at: Make) -> None:
    def spoil(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [*choices[:2], *({**choice, **changed} for choice in choices[2:])]

    with LoopbackServer(ChatCompletions(4, 3, 5, choose=spoil)) as server:
        settings = at(server, retries=0)
        verdict = score(run_of(), RUBRIC, settings=settings)
        score(run_of(), RUBRIC, settings=settings)
        assert asked(server) == [3, None]  # two were kept, the third is asked anew
    assert [vote.status for vote in verdict.criteria[0].votes] == ["ok", "ok", status]


def test_choices_count_by_their_own_index_and_a_missing_one_is_named(at: Make) -> None:
    def shuffled(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [choices[2], choices[0]]

    chat = ChatCompletions(4, 3, 5, choose=shuffled)
    with LoopbackServer(chat) as server:
        verdict = score(run_of(), RUBRIC, settings=at(server, retries=0))
        assert asked(server) == [3]
    assert scores(verdict) == [4, None, 5]
    (error,) = verdict.errors
    assert (error.kind, error.sample) == ("empty", 1)
    assert "left this one out" in error.message
    assert verdict.usage.input_tokens == chat.prompt_tokens  # what was billed stays whole


def test_equal_prompts_share_the_request_also_where_the_cache_that_was_named_is_away(at: Make) -> None:
    """Five runs with one prompt: nothing is kept, so each asks for itself, and for all of its samples at once."""
    pytest.importorskip("redis")
    runs = [run_of("a").model_copy(update={"id": f"run-{n}"}) for n in range(5)]
    with LoopbackServer(ChatCompletions(4)) as server:
        settings = at(server, cache="redis://127.0.0.1:1/0", cache_optional=True)
        with pytest.warns(CacheWarning, match="goes on without it"):
            verdicts = list(score_many(runs, RUBRIC, settings=settings))
        assert asked(server) == [3] * 5
    assert [verdict.calls for verdict in verdicts] == [1] * 5


def test_equal_prompts_are_asked_once_where_replies_are_kept(at: Make) -> None:
    runs = [run_of("a").model_copy(update={"id": f"run-{n}"}) for n in range(5)]
    with LoopbackServer(ChatCompletions(4)) as server:
        verdicts = list(score_many(runs, RUBRIC, settings=at(server)))
        assert asked(server) == [3]
    assert sorted(verdict.calls for verdict in verdicts) == [0, 0, 0, 0, 1]


def test_a_server_that_ignores_n_is_noticed_and_asked_one_by_one(at: Make) -> None:
    chat = ChatCompletions(4, 3, 5, 2, takes_n=False)
    with LoopbackServer(chat) as server:
        verdicts = list(score_many([run_of("a"), run_of("b")], RUBRIC, settings=at(server, concurrency=1)))
        assert asked(server) == [3, None, None, None, None, None]
    assert [verdict.calls for verdict in verdicts] == [3, 3]
    assert sorted(filter(None, scores(verdicts[0]))) == [3, 4, 5]
    assert sum(verdict.usage.input_tokens or 0 for verdict in verdicts) == chat.prompt_tokens


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported parameter: 'n' is not supported with this model.",
        "'n' : number must be at most 1",
        "Only one completion choice is allowed",
        "n must be 1 when using greedy sampling (temperature 0 is not supported with more)",
    ],
)
def test_a_server_that_refuses_n_is_asked_without_it_from_then_on(message: str, at: Make) -> None:
    with LoopbackServer(ChatCompletions(4, refusal=message)) as server:
        runs = [run_of("a"), run_of("b")]
        verdicts = list(score_many(runs, RUBRIC, settings=at(server, concurrency=1, temperature=0.0)))
        assert asked(server) == [3, None, None, None, None, None, None]
        assert all(received.body["temperature"] == 0.0 for received in server.requests)  # the judge stays the same
    assert [verdict.status for verdict in verdicts] == ["ok", "ok"]
    assert verdicts[0].dropped_params == ()  # how it was asked is no parameter of the judge


def test_with_a_fixed_seed_samples_are_asked_apart(at: Make) -> None:
    with LoopbackServer(ChatCompletions(4)) as server:
        score(run_of(), RUBRIC, settings=at(server, seed=7))
        assert asked(server) == [None, None, None]
        assert {received.body["seed"] for received in server.requests} == {7}


def test_only_as_many_are_asked_as_are_wanted_now(at: Make) -> None:
    stop = StopRule(risk=0.0, least=2, most=5)
    with LoopbackServer(ChatCompletions(2, 5, 4, 4)) as server:
        verdict = score(run_of(), RUBRIC, settings=at(server, samples=None, stop=stop))
        assert asked(server) == [2, *[None] * (len(scores(verdict)) - 2)]
    assert 2 < len(scores(verdict)) <= 5
    with LoopbackServer(ChatCompletions(4, 4)) as server:  # by the scale: two that agree are enough
        verdict = score(run_of("b"), RUBRIC, settings=at(server, samples=None))
        assert asked(server) == [2]
    assert scores(verdict) == [4, 4]


def test_a_request_for_all_is_tried_again_as_one(at: Make) -> None:
    chat = ChatCompletions(4)
    answers = iter([refused("slow down", status=429), None])

    def answer(received: Received) -> Scripted:
        return next(answers) or chat(received)

    with LoopbackServer(answer) as server:
        verdict = score(run_of(), RUBRIC, settings=at(server))
        assert asked(server) == [3, 3]
    assert (verdict.calls, [vote.attempts for vote in verdict.criteria[0].votes]) == (1, [2, 2, 2])


def test_a_failed_request_is_every_samples_failure_and_one_call(at: Make) -> None:
    with LoopbackServer([refused("broken", status=500)]) as server:
        verdict = score(run_of(), RUBRIC, settings=at(server, http_retries=0))
        assert asked(server) == [3]
    assert [vote.status for vote in verdict.criteria[0].votes] == ["provider_error"] * 3
    assert (verdict.calls, verdict.cached, verdict.status) == (1, 0, "error")


def test_money_for_one_trajectory_that_does_not_reach_for_all_is_spent_on_single_samples(at: Make) -> None:
    chat = ChatCompletions(4)
    with LoopbackServer(chat) as server:
        score(run_of(), RUBRIC, settings=at(server, samples=1, cache=False))
        one = chat.prompt_tokens * 0.001
        cap = 3 * one + 0.5
        verdict = score(run_of(), RUBRIC, settings=at(server, cache=False, max_usd_per_item=cap, max_output_tokens=200))
        assert asked(server)[1:] == [None] * (len(server.requests) - 1)
    assert verdict.cost_usd is not None
    assert verdict.cost_usd <= cap
    assert "item_budget" in {error.kind for error in verdict.errors}


def test_litellm_passes_n_on_where_the_model_takes_it(at: Make) -> None:
    with LoopbackServer(ChatCompletions(4, 3, 5)) as server:
        verdict = score(run_of(), RUBRIC, settings=at(server, "litellm/openai/gpt-4o"))
        assert asked(server) == [3]
    assert (scores(verdict), verdict.calls) == ([4, 3, 5], 1)
    import litellm

    with LoopbackServer(ChatCompletions(4)) as server:
        one_by_one = LiteLLM("anthropic/claude-3-haiku-20240307", at(server))
        assert not one_by_one._takes_choices(litellm)
        assert not LiteLLM("no-such-provider/x", at(server))._takes_choices(litellm)


def test_shares_add_up_and_what_is_unknown_stays_unknown() -> None:
    whole = Usage(input_tokens=1000, output_tokens=61, cache_read_input_tokens=2, cost_usd=0.3)
    parts = shares(whole, 3)
    assert [part and part.input_tokens for part in parts] == [1000, 0, 0]
    assert [part and part.output_tokens for part in parts] == [21, 20, 20]  # told as one number for all
    assert [part and part.cache_read_input_tokens for part in parts] == [2, 0, 0]
    assert [part and part.cache_creation_input_tokens for part in parts] == [None, None, None]
    assert [part and part.reasoning_output_tokens for part in parts] == [None, None, None]
    assert [part and part.cost_usd for part in parts] == pytest.approx([0.1, 0.1, 0.1])
    assert shares(None, 2) == (None, None)
    assert shares(whole, 1) == (whole,)


def test_choices_without_a_sound_numbering_count_as_they_came() -> None:
    plain = [{"text": "a"}, {"text": "b"}, {"text": "c"}]
    assert choices_of({"choices": plain}, 2) == ({"text": "a"}, {"text": "b"})  # more than asked: left out
    same = [{"index": 0, "text": "a"}, {"index": 0, "text": "b"}]
    assert choices_of({"choices": same}, 3) == (same[0], same[1], None)
    assert choices_of({"choices": None}, 3) == ({},)
    assert choices_of({"choices": [plain[0], None]}, 3) == (plain[0],)


@pytest.mark.parametrize(
    ("message", "param", "about_n"),
    [
        ("Unknown value", "n", True),
        ("n: must be exactly 1", None, True),
        ("Multiple choices are not available", None, True),
        ("Unsupported parameter: 'temperature'", "temperature", False),
        ("The model can not answer", None, False),
        ("Didn't parse: a\\n", None, False),
    ],
)
def test_a_complaint_about_n_is_told_from_others(message: str, param: str | None, about_n: bool) -> None:
    assert refuses_choices(json.loads(json.dumps({"error": {"message": message, "param": param}}))) is about_n
