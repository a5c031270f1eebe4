"""A call that failed and may have been billed: its cost is unknown, in the verdict and in every sum."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from batch_items import GOOD, RUBRIC, JudgeServer, name_of, settings_of, write_items
from loopback import Scripted, chat

from judge.engine.batch import judge_batch
from judge.engine.run import Progress
from judge.report.runs import batch_text, progress_text

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


def test_a_later_session_says_that_earlier_bills_are_not_all_known(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 2)
    said: list[str] = []
    with JudgeServer(lambda item, before: _untold("bad_response") if before == 0 else chat(GOOD)) as server:
        settings = settings_of(tmp_path, server.url, http_retries=0, max_usd=100.0)
        judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
        judge_batch(
            [source],
            RUBRIC,
            out=tmp_path / "run",
            settings=settings,
            resume=True,
            count_earlier=True,
            notice=said.append,
        )
    assert said == [
        "max_usd = 100.0; earlier sessions of this run cost at least $0.0000 (verdicts of unknown cost: 2): "
        "what is known counts towards it."
    ]
