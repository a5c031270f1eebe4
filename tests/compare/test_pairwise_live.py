"""Pairs judged by scripted judges: both orders, failures, the cache, money and refusals."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from loopback import LoopbackServer, Received, Scripted, chat, refused
from paired_runs import Comparing, by_strength, run_of, runs_of

from judge.config import Settings, load_settings
from judge.engine.pair_plan import plan_pairs
from judge.engine.pairing import pair_of, pairs_of
from judge.engine.pairwise import JudgedPairs, judge_pairs, pair_setup
from judge.engine.setup import make_setup
from judge.errors import BudgetReached, TerminalError, UsageError
from judge.prompt import load_rubric
from judge.types.pair import PairVerdict
from judge.types.reference import Reference

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


def settings_in(folder: Path, **flags: Any) -> Settings:
    given = {"rubric": "process", "cache_dir": folder / "cache", "retries": 0, "http_retries": 0, **flags}
    return load_settings(given, environment={"HOME": str(folder)}, folder=folder)


def one(opinion: Any, settings: Settings, **options: Any) -> PairVerdict:
    pair = pair_of(run_of("a", "t"), run_of("b", "t"))
    (verdict,) = judge_pairs([pair], judge=Comparing(opinion), settings=settings, **options).verdicts
    return verdict


def test_both_orders_are_asked_and_a_winner_is_named_by_its_run(settings: Settings) -> None:
    judge = Comparing(by_strength({"a": 1, "b": 2}))
    pair = pair_of(run_of("a", "t"), run_of("b", "t"))
    (verdict,) = judge_pairs([pair], judge=judge, settings=settings).verdicts
    assert sorted(judge.asked) == [("a-t", "b-t", 0), ("b-t", "a-t", 0)]
    assert (verdict.winner, verdict.orders) == ("b", ("b", "b"))
    first, second = verdict.criteria[0].orders
    # cited was X3: of the run that stood first
    assert [(order.first, order.votes[0].evidence[0].run) for order in (first, second)] == [("a", "a"), ("b", "b")]
    assert verdict.trust.state == "uncertified"
    assert "Untested" in verdict.trust.reasons[0]
    written = json.loads(json.dumps(verdict.to_json()))
    assert PairVerdict.from_json(written) == verdict
    schema = json.loads((ROOT / "docs" / "schemas" / "pair-verdict.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(written)


@pytest.mark.parametrize(("word", "orders"), [("X", ("a", "b")), ("Y", ("b", "a"))])
def test_a_judge_that_goes_by_place_decides_nothing(word: str, orders: tuple[str, str], settings: Settings) -> None:
    verdict = one(lambda first, second: word, settings)
    assert (verdict.winner, verdict.orders) == ("inconclusive", orders)
    assert "orders disagree" in verdict.why


def test_a_tie_is_one_in_both_orders_and_half_a_tie_is_none(settings: Settings) -> None:
    assert one(lambda first, second: "tie", settings).winner == "tie"
    assert one(lambda first, second: "tie" if first == "a-t" else "X", settings).winner == "inconclusive"


def test_a_failed_reply_is_a_named_failure_and_no_tie(settings: Settings) -> None:
    verdict = one(lambda first, second: None if first == "b-t" else "X", settings)
    assert (verdict.winner, verdict.orders) == ("failed", ("a", "failed"))
    assert "when b stood first (unparsed" in verdict.why
    assert [(error.kind, error.sample) for error in verdict.errors] == [("unparsed", 0)]
    assert verdict.errors[0].raw_head == "I would rather not say."


def test_a_reply_of_no_use_is_asked_for_again(tmp_path: Path) -> None:
    answers = {"a-t": iter([None, "X"]), "b-t": iter([None, "Y"])}
    verdict = one(lambda first, second: next(answers[first]), settings_in(tmp_path, retries=1))
    assert verdict.winner == "a"
    assert (verdict.calls, [error.kind for error in verdict.errors]) == (4, [])


def test_votes_in_each_order_are_counted_there(tmp_path: Path) -> None:
    seen: dict[str, int] = {}

    def opinion(first: str, second: str) -> str:
        seen[first] = seen.get(first, 0) + 1
        if first == "a-t":
            return "X" if seen[first] < 3 else "Y"  # a, a, b
        return "Y"

    verdict = one(opinion, settings_in(tmp_path, samples=3))
    assert verdict.winner == "a"
    assert [[vote.preferred for vote in order.votes] for order in verdict.criteria[0].orders] == [
        ["a", "a", "b"],
        ["a", "a", "a"],
    ]
    assert verdict.calls == 6


def test_several_criteria_decide_together(settings: Settings) -> None:
    rubric = load_rubric("process")
    criteria = tuple(
        rubric.criteria[0].model_copy(update={"id": name, "weight": w}) for name, w in (("p", 3), ("q", 1))
    )

    class Split(Comparing):
        async def complete(self, request: Any) -> Any:
            reply = await super().complete(request)
            answer = json.loads(reply.text or "")
            a_first = request.subject.trajectory_id == "a-t"
            own = {"p": "X" if a_first else "Y", "q": "Y" if a_first else "X"}
            text = json.dumps({name: answer | {"winner": word} for name, word in own.items()})
            return reply.model_copy(update={"text": text})

    pair = pair_of(run_of("a", "t"), run_of("b", "t"))
    judge = Split(lambda first, second: "X")
    used = rubric.model_copy(update={"criteria": criteria})
    (verdict,) = judge_pairs([pair], used, judge=judge, settings=settings).verdicts
    assert [criterion.winner for criterion in verdict.criteria] == ["a", "b"]
    assert verdict.winner == "a"


def test_runs_that_say_the_same_are_warned_about(settings: Settings) -> None:
    pair = pair_of(run_of("a", "t", said="Same."), run_of("b", "t", said="Same."))
    judge = Comparing(lambda first, second: "X")
    (verdict,) = judge_pairs([pair], judge=judge, settings=settings).verdicts
    assert verdict.winner == "inconclusive"
    assert "Both runs say the same: only a tie is right." in verdict.warnings


def script(folder: Path, **keys: Any) -> str:
    path = folder / "judge.yaml"
    path.write_text(yaml.safe_dump(keys), encoding="utf-8")
    return f"fake/{path}"


def test_a_second_run_is_free_whichever_run_is_named_first(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, judge=script(tmp_path, cache=True, default="X"))
    a, b = run_of("a", "t"), run_of("b", "t")

    def judged(*runs: Any) -> PairVerdict:
        return judge_pairs(pairs_of(runs, by="run").pairs, settings=settings).verdicts[0]

    first, again, turned = judged(a, b), judged(a, b), judged(b, a)
    assert [(v.calls, v.cached) for v in (first, again, turned)] == [(2, 0), (0, 2), (0, 2)]
    assert first.orders == turned.orders == ("a", "b")


def test_equal_runs_are_two_draws_and_not_one(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, judge=script(tmp_path, cache=True, replies=["X", "Y"]))
    pair = pair_of(run_of("a", "t", said="Same."), run_of("b", "t", said="Same."))
    for _ in range(2):
        (verdict,) = judge_pairs([pair], settings=settings).verdicts
        assert verdict.orders == ("a", "a")  # X with a first, Y with b first; one draw for both would give (a, b)


def test_the_judge_of_pairs_is_another_judge_than_that_of_scores(settings: Settings) -> None:
    rubric = load_rubric("process")
    judge: Any = Comparing(by_strength({}))
    pairs, scores = pair_setup(rubric, judge, settings).spec, make_setup(rubric, judge, settings).spec
    assert pairs.fingerprint != scores.fingerprint
    assert (pairs.samples, pairs.vote) == (1, "majority")


@pytest.mark.parametrize("name", ["rules/process", "replay/none.json"])
def test_judges_of_single_runs_are_refused(name: str, settings: Settings) -> None:
    pair = pair_of(run_of("a", "t"), run_of("b", "t"))
    with pytest.raises(UsageError, match="cannot compare two"):
        judge_pairs([pair], judge=name, settings=settings)


def test_a_jury_is_refused(tmp_path: Path) -> None:
    (tmp_path / "jury.yaml").write_text("members: [fake/always-4, fake/always-3]\n", encoding="utf-8")
    pair = pair_of(run_of("a", "t"), run_of("b", "t"))
    with pytest.raises(UsageError, match="cannot compare two"):
        judge_pairs([pair], judge=f"jury:{tmp_path / 'jury.yaml'}", settings=settings_in(tmp_path))


def test_runs_of_different_tasks_are_refused_with_both_named() -> None:
    with pytest.raises(UsageError, match="'a-t' is a run of 't' and 'b-u' one of 'u'"):
        pair_of(run_of("a", "t"), run_of("b", "u"))
    with pytest.raises(UsageError, match="None of the 2 runs has another run of its task"):
        pairs_of([run_of("a", "t"), run_of("b", "u")])
    with pytest.raises(UsageError, match="Two runs are named 'a-t'"):
        pairs_of([run_of("a", "t"), run_of("a", "t")])


def test_agents_are_paired_with_other_agents_and_runs_with_any() -> None:
    again = run_of("a", "t0").model_copy(update={"id": "a-again"})
    runs = [*runs_of("abc", 2), again, run_of("a", "lonely")]
    found = pairs_of(runs)
    assert found.ranked == "agent"
    assert len(found.pairs) == 3 + 3 + 2  # and not a-t0 against a-again
    assert found.alone == ("a-lonely",)
    assert len(pairs_of(runs, by="run").pairs) == 9
    few = pairs_of(runs, most=3).pairs
    assert [pair.task for pair in few].count("t1") == 1  # in turns: t0, t1, t0


def test_without_a_group_the_text_of_the_task_pairs() -> None:
    runs = [run.model_copy(update={"group": None}) for run in (run_of("a", "t"), run_of("b", "t"))]
    assert pairs_of(runs).pairs[0].task == "Do task t."
    silent = runs[0].model_copy(update={"steps": runs[0].steps[1:], "id": "silent"})
    with pytest.raises(UsageError, match="'silent' names no task"):
        pairs_of([*runs, silent])


def test_an_agent_that_is_not_named_cannot_be_ranked() -> None:
    runs = [run_of("a", "t"), run_of("b", "t").model_copy(update={"agents": ()})]
    assert pairs_of(runs).ranked == "run"
    with pytest.raises(UsageError, match="names no agent"):
        pairs_of(runs, by="agent")


def winner_by_server(request: Received) -> Scripted:
    """Finds run b the better one, from what it reads alone."""
    text = request.body["messages"][1]["content"]
    b_first = text.index("number 98") < text.index("number 97")  # ord("b"), ord("a")
    letter = "X" if b_first else "Y"
    answer = {"reason": "It did more.", "evidence": [{"step": f"{letter}3", "quote": "number 98"}], "winner": letter}
    return chat(json.dumps(answer), tokens=(1000, 100))


def served(
    tmp_path: Path, answers: Any, *, tasks: int = 1, times: int = 1, **flags: Any
) -> tuple[JudgedPairs, list[Received]]:
    """What the last of so many runs against a server gives, and what was asked in all of them."""
    with LoopbackServer(answers) as server:
        settings = settings_in(
            tmp_path,
            judge="openai/m1",
            providers={"openai": {"base_url": f"{server.url}/v1"}},
            models={"openai/m1": {"input_usd_per_million": 1.0, "output_usd_per_million": 10.0}},
            **flags,
        )
        found = [judge_pairs(pairs_of(runs_of("ab", tasks)).pairs, settings=settings) for _ in range(times)]
        return found[-1], server.requests


def test_a_model_behind_the_openai_sdk_compares_two_runs(tmp_path: Path) -> None:
    found, requests = served(tmp_path, winner_by_server)
    (verdict,) = found.verdicts
    assert (verdict.winner, verdict.orders) == ("b", ("b", "b"))
    assert len(requests) == 2
    sent = [request.body for request in requests]
    assert {body["response_format"]["json_schema"]["name"] for body in sent} == {"comparison"}
    assert len({body["messages"][1]["content"] for body in sent}) == 2
    assert verdict.usage.input_tokens == 2000
    assert verdict.cost_usd == pytest.approx(2 * (1000 * 1e-6 + 100 * 1e-5))


def test_what_a_model_said_of_a_pair_is_kept(tmp_path: Path) -> None:
    again, requests = served(tmp_path, winner_by_server, times=2)
    assert (again.verdicts[0].winner, again.verdicts[0].cached, again.verdicts[0].calls) == ("b", 2, 0)
    assert len(requests) == 2


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_cap_ends_the_run_with_whole_verdicts_and_the_cause(tmp_path: Path, concurrency: int) -> None:
    # a reply costs .002, its estimate some .011: a pair may begin while .022 of the .05 are free
    found, requests = served(tmp_path, winner_by_server, tasks=20, max_usd=0.05, concurrency=concurrency)
    assert isinstance(found.stopped, BudgetReached)
    assert 5 <= len(found.verdicts) < 20
    assert all(verdict.winner == "b" for verdict in found.verdicts)
    assert 0.02 < sum(verdict.cost_usd or 0 for verdict in found.verdicts) <= 0.05
    assert len(requests) == 2 * len(found.verdicts)  # no pair is half paid for


def test_a_cap_counts_nothing_for_what_the_cache_holds(tmp_path: Path) -> None:
    with LoopbackServer(winner_by_server) as server:
        own = {"providers": {"openai": {"base_url": f"{server.url}/v1"}}, "judge": "openai/m1"}
        price = {"openai/m1": {"input_usd_per_million": 1.0, "output_usd_per_million": 10.0}}
        pairs = pairs_of(runs_of("ab", 6)).pairs
        judge_pairs(pairs, settings=settings_in(tmp_path, **own))
        found = judge_pairs(pairs, settings=settings_in(tmp_path, **own, models=price, max_usd=0.0001))
    assert found.stopped is None
    assert [verdict.cached for verdict in found.verdicts] == [2] * 6


def test_samples_of_one_order_are_asked_in_one_request_where_the_server_can(tmp_path: Path) -> None:
    def several(request: Received) -> Scripted:
        one = winner_by_server(request)
        copies = request.body.get("n", 1)
        choices = [{**one.body["choices"][0], "index": place} for place in range(copies)]
        return Scripted(body={**one.body, "choices": choices})

    found, requests = served(tmp_path, several, samples=3)
    assert found.verdicts[0].winner == "b"
    assert [len(order.votes) for order in found.verdicts[0].criteria[0].orders] == [3, 3]
    assert len(requests) == 2


def test_a_key_that_is_refused_stops_the_run_at_once(tmp_path: Path) -> None:
    found, requests = served(tmp_path, [refused("no such key", status=401)], tasks=5, concurrency=1)
    assert isinstance(found.stopped, TerminalError)
    assert found.verdicts == ()
    assert len(requests) <= 2


def test_a_server_error_fails_the_pair_by_name(tmp_path: Path) -> None:
    found, _ = served(tmp_path, [refused("broken", status=500)])
    (verdict,) = found.verdicts
    assert verdict.winner == "failed"
    assert {error.kind for error in verdict.errors} == {"server"}


def test_a_pair_that_does_not_fit_fails_by_name(settings: Settings) -> None:
    judge = Comparing(by_strength({"a": 1, "b": 2}))
    judge.context_tokens = 1500
    (verdict,) = judge_pairs(pairs_of(runs_of("ab", 1)).pairs, judge=judge, settings=settings).verdicts
    assert verdict.winner == "failed"
    assert judge.asked == []
    assert {error.kind for error in verdict.errors} == {"context_overflow"}


def test_what_a_run_would_take_is_known_before(tmp_path: Path) -> None:
    pairs = pairs_of(runs_of("ab", 3)).pairs
    with LoopbackServer(winner_by_server) as server:
        settings = settings_in(
            tmp_path,
            judge="openai/m1",
            providers={"openai": {"base_url": f"{server.url}/v1"}},
            models={"openai/m1": {"input_usd_per_million": 1.0, "output_usd_per_million": 10.0}},
            max_output_tokens=100,
        )
        before = plan_pairs(pairs, settings=settings, payloads=True)
        assert server.requests == []
        assert [prompt.trajectory_id for prompt in before.prompts][:2] == ["a-t0 against b-t0", "b-t0 against a-t0"]
        judge_pairs(pairs[:1], settings=settings)
        after = plan_pairs(pairs, settings=settings)
        sent = {request.body["messages"][1]["content"] for request in server.requests}
    assert {"".join(text.split()) for text in sent} == {
        "".join("".join(prompt.segments).split()) for prompt in before.prompts[:2]
    }
    assert (before.pairs, before.calls, before.cached, after.calls, after.cached) == (3, 6, 0, 4, 2)
    assert before.output_tokens == 600
    assert before.cost_low == pytest.approx(before.input_tokens * 1e-6)
    assert before.cost_high == pytest.approx(before.input_tokens * 1e-6 + 600 * 1e-5)
    assert "calls: 4, and 2 samples from the cache" in after.text()


def test_pairs_that_do_not_fit_are_named_before(settings: Settings) -> None:
    judge = Comparing(by_strength({}))
    judge.context_tokens = 1500
    found = plan_pairs(pairs_of(runs_of("ab", 1)).pairs, judge=judge, settings=settings)
    assert found.overflow == ("a-t0 against b-t0", "b-t0 against a-t0")
    assert (found.calls, judge.asked) == (0, [])


def test_a_reference_of_either_run_or_of_the_task_is_told(settings: Settings) -> None:
    pairs = pairs_of(runs_of("ab", 1)).pairs
    judge = Comparing(by_strength({}))
    for name in ("a-t0", "b-t0", "t0"):
        made = plan_pairs(
            pairs, judge=judge, settings=settings, reference={name: Reference(answer="Forty-two.")}, payloads=True
        )
        assert all("Forty-two." in "".join(prompt.segments) for prompt in made.prompts)


def test_it_works_inside_a_running_loop(settings: Settings) -> None:
    async def inside() -> str:
        return one(by_strength({"a": 2, "b": 1}), settings).winner

    assert asyncio.run(inside()) == "a"


def test_what_a_callback_raises_stops_the_run(settings: Settings) -> None:
    def full(verdict: PairVerdict) -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        one(by_strength({"a": 2, "b": 1}), settings, done=full)
