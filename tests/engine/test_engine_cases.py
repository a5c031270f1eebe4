"""Failure cases end to end: a scripted judge, the real prompt, parser, cache and vote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import judge
from judge.config import Settings, load_settings
from judge.providers.cache import TextCache
from judge.types import Criterion, Rubric, Trajectory, Verdict
from judge.voting import summarise

ONE_TO_FIVE: dict[str, Any] = {"min": 1, "max": 5, "step": 1}


def run_of(name: str = "a", said: str = "done") -> Trajectory:
    return Trajectory.from_json(
        {
            "schema": "judge.trajectory/1",
            "id": name,
            "task": "Answer the question.",
            "source": {"format": "native", "locator": f"item {name}"},
            "steps": [
                {"index": 1, "kind": "message", "role": "user", "content": [{"type": "text", "text": f"ask {name}"}]},
                {"index": 2, "kind": "final", "text": said},
            ],
        }
    )


def rubric_of(**scales: Any) -> Rubric:
    criteria = tuple(
        Criterion(id=name, question=f"How good is {name}?", scale=scale, evidence="optional")
        for name, scale in scales.items()
    )
    return Rubric(id="own", version="1", title="Own", intent="To test.", criteria=criteria)


QUALITY = rubric_of(quality=ONE_TO_FIVE)


@pytest.fixture
def scripted(tmp_path: Path) -> Callable[..., Settings]:
    """Settings with a judge that follows a script; the same folder keeps the same cache."""

    def make(script: Any, **flags: Any) -> Settings:
        path = tmp_path / f"script-{len(list(tmp_path.glob('script-*')))}.yaml"
        path.write_text(yaml.safe_dump(script), encoding="utf-8")
        values = {"judge": f"fake/{path}", "cache_dir": tmp_path / "cache", **flags}
        return load_settings(values, environment={}, folder=tmp_path)

    return make


def kept(settings: Settings) -> int:
    cache = TextCache(settings.cache_dir)
    try:
        return int(cache.stats()["entries"])
    finally:
        cache.close()


def raw(verdict: Verdict) -> list[float | None]:
    return [vote.score for vote in verdict.criteria[0].votes]


def test_every_sample_is_a_draw_of_its_own_and_a_rerun_restores_them_in_order(scripted: Any) -> None:
    settings = scripted({"cache": True, "trajectories": {"a": [5, 3, 4, 1, 1]}}, samples=3)
    first = judge.score(run_of(), QUALITY, settings=settings)
    again = judge.score(run_of(), QUALITY, settings=settings)
    more = judge.score(run_of(), QUALITY, settings=settings, samples=5)
    assert (raw(first), first.score, first.calls, first.cached) == ([5, 3, 4], 4, 3, 0)
    assert (raw(again), again.score, again.calls, again.cached) == ([5, 3, 4], 4, 0, 3)
    assert (raw(more), more.calls, more.cached) == ([5, 3, 4, 1, 1], 2, 3)
    assert [vote.cached for vote in again.criteria[0].votes] == [True] * 3
    assert (again.usage.input_tokens, again.cost_usd) == (0, 0)


def test_g_d15_votes_and_the_cache(case: Callable[[str], dict[str, Any]], scripted: Any) -> None:
    entry = case("G-D15")
    given, exact = entry["input"], entry["right"]["exact"]
    low, high = given["scale"]
    rubric = rubric_of(quality={"min": low, "max": high, "step": 1})
    script = {"cache": True, "trajectories": {"a": [*given["live_replies_in_order"], 2, 2]}}
    settings = scripted(script, samples=given["samples"])
    for name in ("run_1", "run_2"):
        got = judge.score(run_of(), rubric, settings=settings)
        assert {"votes": raw(got), "calls": got.calls, "median": got.score} == exact[name]
    assert judge.score(run_of(), rubric, settings=settings, samples=5).calls == exact["run_3_samples_5"]["calls"]


@pytest.mark.parametrize(
    "bad",
    [
        {"finish": "content_filter"},
        {"finish": "refusal", "text": "I cannot judge this."},
        {"text": "I would say four."},
        {"text": '{"reason": "off the scale", "evidence": [], "score": 9}'},
        {"text": '{"reason": "", "evidence": [], "score": 4}'},
        {"text": '{"reason": "step 9 shows it", "evidence": [{"step": 9, "quote": "x"}], "score": 4}'},
        {"finish": "length", "text": '{"reason": "cut'},
        {"finish": "stop", "text": ""},
    ],
)
def test_a_reply_of_no_use_is_asked_again_and_never_kept(bad: dict[str, Any], scripted: Any) -> None:
    settings = scripted({"cache": True, "trajectories": {"a": [[bad, 4]]}}, samples=1, retries=1)
    got = judge.score(run_of(), QUALITY, settings=settings)
    assert (got.status, got.score, got.calls, got.errors) == ("ok", 4, 2, ())
    assert got.criteria[0].votes[0].attempts == 2
    assert kept(settings) == 1
    again = judge.score(run_of(), QUALITY, settings=settings)
    assert (again.score, again.calls, again.cached) == (4, 0, 1)


def test_g_d17_a_blocked_reply_is_not_replayed(case: Callable[[str], dict[str, Any]], scripted: Any) -> None:
    entry = case("G-D17")
    given, exact = entry["input"], entry["right"]["exact"]
    body = json.loads(given["call_2"]["content"]) | {"evidence": []}
    replies = [
        {"finish": given["call_1"]["finish_reason"], "text": given["call_1"]["content"]},
        {"text": json.dumps({"reason": body["reason"], "evidence": [], "score": body["score"]})},
    ]
    settings = scripted({"cache": True, "replies": replies}, samples=1, retries=given["retries"])
    got = judge.score(run_of(), QUALITY, settings=settings)
    assert {"calls": got.calls, "score": got.score, "cache_entries": kept(settings)} == exact


@pytest.mark.parametrize(
    ("bad", "kind", "calls"),
    [
        ({"finish": "refusal", "text": "No."}, "refusal", 2),  # one more try, whatever `retries` is
        ({"finish": "content_filter"}, "content_filter", 2),
        ({"finish": "length", "text": "{"}, "truncated", 2),
        ({"text": "prose"}, "unparsed", 4),  # the first try and three more
    ],
)
def test_tries_are_bounded_by_what_they_can_cure(bad: dict[str, Any], kind: str, calls: int, scripted: Any) -> None:
    settings = scripted({"cache": True, "default": bad}, samples=1, retries=3)
    got = judge.score(run_of(), QUALITY, settings=settings)
    assert (got.status, got.score, got.calls) == ("error", None, calls)
    assert [(error.kind, error.attempts) for error in got.errors] == [(kind, calls)]
    assert kept(settings) == 0


def test_a_cut_reply_is_asked_again_with_more_room(scripted: Any) -> None:
    settings = scripted({"default": {"finish": "length", "text": "{"}}, samples=1, max_output_tokens=100)
    got = judge.score(run_of(), QUALITY, settings=settings)
    assert "200" in got.errors[0].message  # the limit of the second try is named


def test_a_failed_vote_is_seen_and_moves_nothing(scripted: Any) -> None:
    settings = scripted({"trajectories": {"a": [80, {"text": "prose"}, 60]}}, samples=3, vote="mean", retries=0)
    got = judge.score(run_of(), rubric_of(quality={"min": 0, "max": 100}), settings=settings)
    assert (got.score, got.criteria[0].n_ok, got.criteria[0].n_failed) == (70, 2, 1)
    assert [error.kind for error in got.errors] == ["unparsed"]


def test_g_d04_end_to_end(case: Callable[[str], dict[str, Any]], scripted: Any) -> None:
    entry = case("G-D04")
    low, high = entry["input"]["scale"]
    texts = [sample.replace('"score"', '"evidence":[],"score"') for sample in entry["input"]["samples"]]
    script = {"trajectories": {"a": [{"text": text} for text in texts]}}
    settings = scripted(script, samples=len(texts), vote="mean", retries=1)
    got = judge.score(run_of(), rubric_of(quality={"min": low, "max": high}), settings=settings)
    exact = entry["right"]["exact"]
    first = got.criteria[0]
    assert (first.n_ok, first.n_failed, got.score) == (exact["samples_ok"], exact["samples_failed"], exact["mean"])
    assert got.errors[0].kind == "out_of_range"


def test_g_d06_a_partial_answer_has_no_overall_score(case: Callable[[str], dict[str, Any]], scripted: Any) -> None:
    entry = case("G-D06")
    low, high = entry["input"]["scale"]
    criteria = tuple(
        Criterion(id=name, question="?", scale={"min": low, "max": high}, weight=spec["weight"], evidence="none")  # type: ignore[arg-type]
        for name, spec in entry["input"]["rubric"].items()
    )
    rubric = Rubric(id="own", version="1", title="Own", intent="", criteria=criteria)
    settings = scripted({"cache": True, "default": {"text": json.dumps(entry["input"]["reply"])}}, samples=1, retries=1)
    got = judge.score(run_of(), rubric, settings=settings)
    exact = entry["right"]["exact"]
    assert (got.score, got.status, got.calls, kept(settings)) == (exact["overall"], exact["status"], 2, 0)
    assert [result.id for result in got.criteria if result.status == "error"] == exact["missing"]
    assert [(error.kind, error.criterion) for error in got.errors] == [
        ("missing_criterion", name) for name in exact["missing"]
    ]
    assert got.criteria[0].score == 1  # what was answered is still shown


def test_g_d37_results_keep_their_order_and_their_own_errors(
    case: Callable[[str], dict[str, Any]], scripted: Any
) -> None:
    entry = case("G-D37")
    given, exact = entry["input"], entry["right"]["exact"]
    script = {
        name: {
            "delay": plan["delay_ms"] / 200,  # five times as long, so that a busy machine keeps the order
            **({"text": "prose"} if plan.get("error") else {"score": plan["score"], "reason": f"for {name}"}),
        }
        for name, plan in given["fake_judge"].items()
    }
    settings = scripted({"trajectories": script}, samples=1, retries=0, concurrency=given["concurrency"])
    finished: list[int] = []
    got = list(
        judge.score_many(
            [run_of(name) for name in given["items"]],
            QUALITY,
            settings=settings,
            progress=lambda progress: finished.append(progress.failed),
        )
    )
    assert [verdict.trajectory_id for verdict in got] == exact["order"]
    assert [verdict.score for verdict in got] == exact["scores"]
    assert ["error" if verdict.errors else None for verdict in got] == exact["errors"]
    assert [verdict.reason for verdict in got][::2] == ["for a", "for c"]
    assert finished == [0, 1, 1]  # c, then b that failed, then a: they did run side by side


def test_g_d40_a_failure_says_what_is_needed_to_find_its_cause(
    case: Callable[[str], dict[str, Any]], scripted: Any
) -> None:
    entry = case("G-D40")
    given, exact = entry["input"], entry["right"]["exact"]
    low, high = given["scale"]
    rubric = rubric_of(quality={"min": low, "max": high, "step": 1})
    settings = scripted({"default": {"text": given["reply"]}}, samples=1, retries=given["retries"])
    got = judge.score(run_of(given["item"]), rubric, settings=settings)
    error = got.errors[0]
    assert (got.status, got.score, got.trajectory_id) == (exact["status"], None, given["item"])
    assert (error.kind, error.attempts, error.finish_reason) == ("unparsed", exact["attempts"], "stop")
    assert exact["raw_head_contains"] in (error.raw_head or "")
    group = summarise([got]).error_groups[0]
    assert (group.kind, group.count, group.trajectory_id, group.judge) == ("unparsed", 1, given["item"], got.judge)
    assert exact["raw_head_contains"] in (group.example.raw_head or "")
    assert group.hint


def test_a_failed_rubric_and_a_failed_judge_are_told_apart(scripted: Any) -> None:
    gate = Criterion(id="safe", question="?", scale="binary", gate=True, evidence="none")  # type: ignore[arg-type]
    rubric = Rubric(id="own", version="1", title="Own", intent="", criteria=(gate,))
    settings = scripted({"trajectories": {"a": "fail", "b": {"text": "prose"}, "c": "pass"}}, retries=0)
    got = list(judge.score_many([run_of(name) for name in "abc"], rubric, settings=settings))
    assert [(verdict.status, verdict.passed) for verdict in got] == [("ok", False), ("error", None), ("ok", True)]


def test_a_secret_in_a_failed_reply_does_not_reach_the_verdict(tmp_path: Path, scripted: Any) -> None:
    base = scripted({"default": {"text": "the key is hush-hush-1234"}}, samples=1, retries=0)
    environment = {"OPENAI_API_KEY": "hush-hush-1234"}
    settings = load_settings(
        {"judge": base.judge, "cache_dir": tmp_path / "cache", "samples": 1, "retries": 0},
        environment=environment,
        folder=tmp_path,
    )
    got = judge.score(run_of(), QUALITY, settings=settings)
    assert got.errors
    assert "hush" not in json.dumps(got.to_json())


def test_a_provider_error_is_named_by_its_cause(scripted: Any) -> None:
    script = {"trajectories": {"a": {"error": 400, "message": "bad request"}, "b": 4}}
    got = list(judge.score_many([run_of("a"), run_of("b")], QUALITY, settings=scripted(script, samples=1)))
    assert (got[0].status, got[0].score, got[1].score) == ("error", None, 4)
    assert got[0].criteria[0].votes[0].status == "provider_error"
    assert "bad request" in got[0].errors[0].message
    assert got[0].calls == 1  # the engine adds no retries to those of the connection
