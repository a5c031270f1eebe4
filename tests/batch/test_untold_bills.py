"""A call that failed and may have been billed: its cost is unknown, in the verdict and in every sum."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from batch_items import GOOD, RUBRIC, JudgeServer, name_of, settings_of, write_items
from loopback import Scripted, chat

from judge.engine.batch import judge_batch
from judge.engine.run import Progress
from judge.report.runs import batch_text, progress_text
from judge.voting import add_at_most

HALF = '{"choices": [{"mess'


def _untold(kind: str) -> Scripted:
    """An answer that comes too late, or one that breaks off."""
    return chat(GOOD, delay=4.0) if kind == "timeout" else Scripted(200, HALF, {"content-type": "application/json"})


@pytest.mark.parametrize("kind", ["timeout", "bad_response"])
def test_what_may_have_been_billed_is_not_reported_as_free(tmp_path: Path, kind: str) -> None:
    """100 input and 20 output tokens at $1,000 a million are 12 cents; the third call's bill was never told."""
    source = write_items(tmp_path / "in.jsonl", 3)

    def answer(item: str, before: int) -> Scripted:
        return _untold(kind) if item == name_of(2) else chat(GOOD, tokens=(100, 20))

    seen: list[Progress] = []
    with JudgeServer(answer) as server:
        settings = settings_of(tmp_path, server.url, provider={"timeout_s": 2.0}, http_retries=0, concurrency=1)
        result = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings, progress=seen.append).result
    lines = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert [(line["status"], line["calls"], line["cost_usd"]) for line in lines] == [
        ("ok", 1, 0.12),
        ("ok", 1, 0.12),
        ("error", 1, None),
    ]
    assert lines[2]["usage"]["input_tokens"] is None
    assert result.summary.errors == {kind: 1}
    assert (result.summary.cost_usd, result.summary.known_usd, result.summary.unpriced) == (None, 0.24, 1)
    assert (result.spend.known_usd, result.spend.unpriced) == (0.24, 1)
    assert "cost at least $0.24 (1 verdict of unknown cost)" in batch_text(result)
    assert (seen[-1].cost_usd, seen[-1].known_usd) == (None, 0.24)
    assert "at least $0.24" in progress_text(seen[-1], 1.0)


@pytest.mark.parametrize("http_retries", [1, 2])
def test_a_try_before_the_answer_may_have_been_billed_too(http_retries: int, tmp_path: Path) -> None:
    """The answer is 12 cents; the reply that broke off before it cost nobody knows what, and one call at most."""
    source = write_items(tmp_path / "in.jsonl", 1)
    with JudgeServer(lambda item, n: _untold("bad_response") if n == 0 else chat(GOOD, tokens=(100, 20))) as server:
        settings = settings_of(tmp_path, server.url, http_retries=http_retries)
        result = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings).result
        assert sum(server.calls.values()) == 2
    (line,) = [json.loads(text) for text in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert (line["status"], line["calls"], line["criteria"][0]["votes"][0]["attempts"]) == ("ok", 1, 2)
    assert line["cost_usd"] is None
    assert line["at_most_usd"] > 0.12 + 0.1  # 100 output tokens, and the prompt
    assert (result.summary.cost_usd, result.summary.unpriced) == (None, 1)


def test_tries_that_all_broke_off_are_counted_each(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 2)

    def answer(item: str, before: int) -> Scripted:
        return _untold("bad_response") if item == name_of(0) else chat(GOOD)

    most = []
    for retries in (0, 2):
        with JudgeServer(answer) as server:
            settings = settings_of(tmp_path, server.url, http_retries=retries, cache=False)
            out = tmp_path / f"run-{retries}"
            result = judge_batch([source], RUBRIC, out=out, settings=settings).result
        assert (result.spend.unpriced, result.spend.uncounted) == (1, 0)
        most.append(result.spend.untold_usd)
    assert most[1] == pytest.approx(3 * most[0])


def _two_sessions(tmp_path: Path, cap: float, between: Callable[[Path], None] = lambda run: None) -> tuple[Any, ...]:
    """Both bills of a first session were not told; the outcome of a second one, what it said, and calls in all."""
    source = write_items(tmp_path / "in.jsonl", 2)
    said: list[str] = []
    run = tmp_path / "run"
    with JudgeServer(lambda item, before: _untold("bad_response") if before == 0 else chat(GOOD)) as server:
        settings = settings_of(tmp_path, server.url, http_retries=0, max_usd=100.0)
        first = judge_batch([source], RUBRIC, out=run, settings=settings).result
        between(run)
        settings = settings.model_copy(update={"max_usd": cap})
        second = judge_batch(
            [source], RUBRIC, out=run, settings=settings, resume=True, count_earlier=True, notice=said.append
        )
    return first, second, said, sum(server.calls.values())


def test_a_cap_that_counts_earlier_sessions_counts_their_untold_bills_in_full(tmp_path: Path) -> None:
    """A call costs at most 100 output tokens, 10 cents, and what the prompt costs: a dollar in all is passed by two."""
    first, second, said, calls = _two_sessions(tmp_path, 0.75)
    untold = first.spend.untold_usd
    assert (first.spend.known_usd, first.spend.unpriced, first.spend.uncounted) == (0.0, 2, 0)
    lines = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert sum(line["at_most_usd"] for line in lines) == pytest.approx(untold)
    assert untold > 0.75  # so that nothing more may be asked
    assert (second.error.kind, calls) == ("budget_reached", 2)
    assert f"${untold:.4f} of $0.7500 is spent" in str(second.error)
    assert said == [
        "max_usd = 0.75; earlier sessions of this run cost at least $0.0000 (verdicts of unknown cost: 2): they count "
        f"towards it with ${untold:.4f}, the most that they may have cost."
    ]


def test_a_lost_index_finds_what_untold_bills_count_for_in_the_results(tmp_path: Path) -> None:
    first, second, _, calls = _two_sessions(tmp_path, 0.75, lambda run: (run / "index.sqlite").unlink())
    assert second.result.spend.untold_usd == pytest.approx(first.spend.untold_usd)
    assert (second.error.kind, calls) == ("budget_reached", 2)


def test_bills_of_a_folder_that_never_wrote_down_their_most_are_said_not_to_count(tmp_path: Path) -> None:
    """As an older version left it: neither the results nor the index hold what an untold bill may have come to."""

    def age(run: Path) -> None:
        lines = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
        text = "".join(json.dumps({k: v for k, v in line.items() if k != "at_most_usd"}) + "\n" for line in lines)
        (run / "results.jsonl").write_text(text)
        with closing(sqlite3.connect(run / "index.sqlite")) as sql, sql:
            sql.execute("DELETE FROM fact WHERE name IN ('untold_usd', 'uncounted')")
            sql.execute("UPDATE fact SET value = ? WHERE name = 'results_bytes'", (len(text.encode()),))

    _, second, said, calls = _two_sessions(tmp_path, 100.0, age)
    assert (second.error, second.result.pending, calls) == (None, 0, 4)
    assert (second.result.spend.untold_usd, second.result.spend.uncounted) == (0.0, 2)
    assert said == [
        "max_usd = 100.0; earlier sessions of this run cost at least $0.0000 (verdicts of unknown cost: 2): "
        "$0.0000 counts towards it, and 2 of these verdicts cannot."
    ]


def test_the_most_of_a_sum_is_told_only_where_a_cost_is_not_known() -> None:
    assert add_at_most([]) is None
    assert add_at_most([(0.1, None), (0.2, 0.5)]) is None
    assert add_at_most([(0.1, 0.9), (None, 0.5)]) == pytest.approx(0.6)
    assert add_at_most([(0.1, None), (None, None)]) is None
