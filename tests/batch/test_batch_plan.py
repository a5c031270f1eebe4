"""The plan of a batch: calls and cost of what is left to judge, without a call and without a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from batch_items import GOOD, RUBRIC, JudgeServer, name_of, settings_of, write_items
from loopback import Scripted, chat

from judge.cli.main import run
from judge.engine.batch import judge_batch
from judge.engine.batch_plan import plan_batch
from judge.errors import UnknownName


def test_the_plan_of_a_new_batch_sends_nothing_and_makes_no_folder(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 10)
    with JudgeServer() as server:
        settings = settings_of(tmp_path, server.url, samples=None)
        made = plan_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
        assert server.requests == 0
    assert not (tmp_path / "run").exists()
    # two votes and a third if they differ: one call where the two come together, three where they do not
    assert (made.trajectories, made.calls_low, made.calls_high) == (10, 10, 30)
    assert made.cost_low is not None
    assert made.cost_high is not None
    assert 0 < made.cost_low < made.cost_high


def test_the_plan_of_a_resume_counts_what_is_left(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 6)

    def answer(item: str, before: int) -> Scripted:
        return chat("prose" if item == name_of(2) else GOOD)

    with JudgeServer(answer) as server:
        settings = settings_of(tmp_path, server.url, retries=0, cache=False)
        judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
        said = {name_of(0): "something else"}  # one more trajectory, and one with other content
        source = write_items(tmp_path / "in.jsonl", 7, said=said)
        whole = plan_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
        rest = plan_batch([source], RUBRIC, out=tmp_path / "run", resume=True, settings=settings)
        one = plan_batch([source], RUBRIC, out=tmp_path / "run", resume=True, limit=1, settings=settings)
        assert server.requests == 6
    assert (whole.trajectories, whole.calls_high) == (7, 7)
    assert (rest.trajectories, rest.calls_high) == (3, 3)  # the error, the changed one, the new one
    assert one.trajectories == 1


def test_a_provider_s_batch_api_is_planned_at_its_price(tmp_path: Path) -> None:
    source = write_items(tmp_path / "in.jsonl", 3)
    settings = settings_of(tmp_path, "http://127.0.0.1:9", batch_api={"price_share": 0.5})
    usual = plan_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
    batched = plan_batch([source], RUBRIC, out=tmp_path / "run", engine="provider-batch", settings=settings)
    assert usual.cost_high is not None
    assert batched.cost_high == pytest.approx(usual.cost_high / 2)
    # the two sure votes of a verdict are one request elsewhere; in a batch each is its own
    several = settings.model_copy(update={"samples": None})
    usual, batched = (
        plan_batch([source], RUBRIC, out=tmp_path / "run", engine=engine, settings=several)
        for engine in ("local", "provider-batch")
    )
    assert (usual.calls_low, usual.calls_high) == (3, 9)
    assert (batched.calls_low, batched.calls_high) == (6, 9)
    assert usual.cost_low is not None
    assert batched.cost_low == pytest.approx(usual.cost_low)  # twice the prompts at half the price
    with pytest.raises(UnknownName, match="provider-batsh"):
        plan_batch([source], RUBRIC, out=tmp_path / "run", engine="provider-batsh", settings=settings)


def test_the_command_prints_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGE_CACHE_DIR", str(tmp_path / "cache"))
    write_items(tmp_path / "in.jsonl", 4)
    words: list[Any] = ["batch", "in.jsonl", "-r", "process", "-j", "fake/always-4", "-o", "run", "--dry-run"]
    assert run(words) == 0
    assert capsys.readouterr().out.startswith("4 trajectories under rubric process by fake/always-4")
    assert run([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trajectories"] == 4
    assert not (tmp_path / "run").exists()
