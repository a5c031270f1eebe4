"""What is said before a folder is made; runs that come to nothing; and what a whole run makes of a judge that fails."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from batch_items import GOOD, ITEM, RUBRIC, JudgeServer, name_of, provider_settings, recorded, settings_of, write_items
from loopback import LoopbackServer, Received, Scripted, chat, claude, refused

from judge.cli.logs import logging_to
from judge.engine.batch import judge_batch
from judge.errors import ConfigError, UsageError
from judge.report.runs import batch_text


def test_a_judge_without_a_batch_api_leaves_no_folder(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 2)
    settings = settings_of(tmp_path, "http://127.0.0.1:1")
    with pytest.raises(UsageError, match="'fake/always-3' has no batch API here"):
        judge_batch(
            [source], RUBRIC, out=tmp_path / "run", judge="fake/always-3", engine="provider-batch", settings=settings
        )
    assert not (tmp_path / "run").exists()


def test_no_cluster_of_this_machine_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    import judge.engine.ray_cluster as cluster

    def nobody(ray: object, address: str | None) -> None:
        raise ConfigError(f"No Ray cluster could be joined at {address!r}: none is running")

    monkeypatch.setattr(cluster, "connect", nobody)
    source = write_items(tmp_path / "in.jsonl", 2)
    with pytest.raises(ConfigError, match="No Ray cluster could be joined at 'auto'"):
        judge_batch(
            [source],
            RUBRIC,
            out=tmp_path / "run",
            judge="fake/always-3",
            engine="ray",
            address="auto",
            settings=settings_of(tmp_path, "http://127.0.0.1:1"),
        )
    assert not (tmp_path / "run").exists()


def test_a_run_that_ended_before_its_first_verdict_is_begun_anew_by_any_judge(tmp_path: Path) -> None:
    source, out = write_items(tmp_path / "in.jsonl", 2), tmp_path / "run"
    with JudgeServer(lambda item, before: Scripted(401, {"error": {"message": "Incorrect key"}})) as server:
        ended = judge_batch([source], RUBRIC, out=out, settings=settings_of(tmp_path, server.url))
    assert ended.error is not None
    assert (ended.result.judged, recorded(out)) == (0, [])
    begun = judge_batch([source], RUBRIC, out=out, judge="fake/always-3", settings=settings_of(tmp_path, server.url))
    assert (begun.result.judge, begun.result.judged, begun.result.kept) == ("fake/always-3", 2, 0)
    with pytest.raises(UsageError, match="There is a run"):
        judge_batch([source], RUBRIC, out=out, judge="fake/always-3", settings=settings_of(tmp_path, server.url))


def test_a_resume_of_nothing_says_that_a_run_begins(tmp_path: Path) -> None:
    source, said = write_items(tmp_path / "in.jsonl", 1), list[str]()
    settings = settings_of(tmp_path, "http://127.0.0.1:1", judge="fake/always-3")
    for _ in range(2):
        judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings, resume=True, notice=said.append)
    assert said == [f"There is no run in {str(tmp_path / 'run')!r} to go on with: a new one begins."]


def test_requests_at_a_provider_are_something_that_a_run_came_to(tmp_path: Path) -> None:
    source, out = write_items(tmp_path / "in.jsonl", 1), tmp_path / "run"
    with JudgeServer(lambda item, before: Scripted(401, {"error": {"message": "Incorrect key"}})) as server:
        judge_batch([source], RUBRIC, out=out, settings=settings_of(tmp_path, server.url))
    (out / "batches").mkdir()
    with pytest.raises(UsageError, match="There is a run"):
        judge_batch([source], RUBRIC, out=out, judge="fake/always-3", settings=settings_of(tmp_path, server.url))
    (out / "batches").rmdir()
    (out / "mine.txt").write_text("not of a run", encoding="utf-8")
    (out / "manifest.json").unlink()
    with pytest.raises(UsageError, match="holds other files and no run"):
        judge_batch([source], RUBRIC, out=out, judge="fake/always-3", settings=settings_of(tmp_path, server.url))


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_g_d10_bodies_without_an_answer_are_errors_by_name_and_the_batch_goes_on(
    provider: str, case: Callable[[str], dict[str, Any]], tmp_path: Path
) -> None:
    """All bodies of one provider in one run, with a good one behind them. "empty" is our word for "empty_response"."""
    entry = case("G-D10")
    exact = entry["right"]["exact"]
    rows = zip(entry["input"]["bodies"], exact["kinds"], exact["scores"], strict=True)
    mine = [row for row in rows if ("choices" in row[0]) == (provider == "openai")]
    good = chat(GOOD) if provider == "openai" else claude({"type": "text", "text": GOOD})
    answers = {name_of(number): Scripted(body=body) for number, (body, _, _) in enumerate(mine)}
    source, out = write_items(tmp_path / "in.jsonl", len(mine) + 1), tmp_path / "run"

    def answer(received: Received) -> Scripted:
        return answers.get(ITEM.search(json.dumps(received.body["messages"]))[0], good)  # type: ignore[index]

    with LoopbackServer(answer) as server:
        made = judge_batch(
            [source],
            RUBRIC,
            out=out,
            settings=provider_settings(tmp_path, server.url, provider, batch_api={}, retries=0),
        )
    lines = [json.loads(line) for line in (out / "results.jsonl").read_bytes().splitlines()]
    found = {line["trajectory_id"]: line for line in lines}
    assert [found[name]["errors"][0]["kind"] for name in answers] == [
        kind.removesuffix("_response") for _, kind, _ in mine
    ]
    assert [found[name].get("score") for name in answers] == [score for _, _, score in mine]
    for name, (body, _, _) in zip(answers, mine, strict=True):
        assert found[name]["usage"].get("input_tokens") == body.get("usage", {}).get("prompt_tokens")
    assert exact["batch_exit"] == "continues"
    assert found[name_of(len(mine))]["score"] == 4
    assert (made.error, made.result.pending) == (None, len(mine))


def test_the_log_holds_warnings_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *where, **more: shown.append(str(message)))
    with warnings.catch_warnings(), logging_to(str(tmp_path / "log.jsonl")):
        warnings.simplefilter("always")
        monkeypatch.setattr(logging.getLogger("judge"), "disabled", False)
        warnings.warn("the cache is away", UserWarning, stacklevel=1)
    (line,) = [json.loads(text) for text in (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (line["level"], line["kind"], line["message"]) == ("warning", "UserWarning", "the cache is away")
    assert shown == ["the cache is away"]


PERMANENT = {
    "401": Scripted(401, {"error": {"message": "Incorrect API key provided"}}),
    "402": Scripted(402, {"error": {"message": "Payment required"}}),
    "insufficient_quota": refused("You exceeded your current quota", status=429, code="insufficient_quota"),
}


@pytest.mark.parametrize("code", PERMANENT)
def test_g_d12_a_run_ends_at_the_first_permanent_error_and_says_how_much_is_left(
    code: str, case: Callable[[str], dict[str, Any]], tmp_path: Path
) -> None:
    entry = case("G-D12")
    items, exact = entry["input"]["items"], entry["right"]["exact"]
    assert code in entry["input"]["responses"]
    assert (exact["retries_for_terminal"], exact["http_requests_max"][-16:]) == (0, "(<= concurrency)")
    source, concurrency = write_items(tmp_path / "in.jsonl", items), 8
    with JudgeServer(lambda item, before: PERMANENT[code]) as server:
        settings = settings_of(tmp_path, server.url, concurrency=concurrency)
        outcome = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
    error = outcome.error
    assert error is not None
    assert 0 < server.requests <= concurrency
    assert set(server.calls.values()) == {1}
    assert error.exit_code == 4
    for part in ("openai/m1", str(PERMANENT[code].status), PERMANENT[code].body["error"]["message"], f"{items} left"):
        assert part in error.message


def test_g_d14_a_verdict_without_a_price_is_kept_and_totals_say_what_is_unknown(
    case: Callable[[str], dict[str, Any]], tmp_path: Path
) -> None:
    entry = case("G-D14")
    given, exact = entry["input"], entry["right"]["exact"]
    judge, usage, prices = f"openai/{given['model']}", given["usage"], given["user_prices_per_million"]
    own = {judge: {"input_usd_per_million": prices["input"], "output_usd_per_million": prices["output"]}}
    source = write_items(tmp_path / "in.jsonl", 1)
    reply = chat(given["reply"], tokens=(usage["input_tokens"], usage["output_tokens"]))
    with JudgeServer(lambda item, before: reply) as server:
        for name, models, cost in (("bare", {}, "cost_without_price"), ("priced", own, "cost_with_user_prices")):
            settings = settings_of(tmp_path, server.url, judge=judge, models=models, cache=False)
            result = judge_batch([source], RUBRIC, out=tmp_path / name, settings=settings).result
            (verdict,) = [json.loads(line) for line in (tmp_path / name / "results.jsonl").read_bytes().splitlines()]
            assert (verdict["score"], verdict["cost_usd"]) == (exact["score"], pytest.approx(exact[cost]))
            assert result.summary.cost_usd == pytest.approx(exact[cost])
            assert result.spend.unpriced == int(not models)
            said = batch_text(result)
            assert ("at least $0.00 for 1 call, 1 verdict of unknown cost" in said) == (not models)
            assert "1,200 prompt tokens" in said
        with pytest.raises(ConfigError, match="price of 'openai/my-gateway/unknown-model' is not known"):
            judge_batch(
                [source],
                RUBRIC,
                out=tmp_path / "capped",
                settings=settings_of(tmp_path, server.url, judge=judge, models={}, max_usd=1.0),
            )
