"""Batches at a provider: chunks, rounds, prices, and verdicts that equal those of this process."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from batch_items import GOOD, name_of, recorded
from loopback import Scripted, chat
from provider_runs import ANTHROPIC, APIS, OPENAI, USD_A_REPLY, Api, batches

from judge.config import load_settings
from judge.engine.run import Progress
from judge.errors import UsageError
from judge.providers.batches import open_batches
from judge.providers.prices import batch_price_of, price_of
from judge.store.run_folder import RunFolder
from judge.types import Verdict
from judge.types.jury import Jury

BOTH = pytest.mark.parametrize("api", APIS, ids=lambda api: api.provider)


def verdicts(folder: Path) -> list[Verdict]:
    with RunFolder.read(folder) as run:
        return list(run.verdicts())


def scores(folder: Path) -> dict[str, float | None]:
    return {verdict.trajectory_id: verdict.score for verdict in verdicts(folder)}


def score(item: str, before: int = 0) -> str:
    """A reply that depends on the item."""
    return json.dumps({"reason": f"as seen in {item}", "score": 1 + int(item[-1]) % 5})


@BOTH
def test_requests_go_in_chunks_and_replies_come_in_any_order(api: Api, tmp_path: Path) -> None:
    run = batches(api, tmp_path, items=7, answer=lambda item, n: api.text(score(item)), batch_api={"requests": 3})
    with run.server as server:
        outcome = run.run()
    assert outcome.error is None
    assert server.sizes == [3, 3, 1]
    assert dict(server.paid) == {name_of(n): 1 for n in range(7)}
    assert scores(run.folder) == {name_of(n): 1 + n % 5 for n in range(7)}
    assert outcome.result.spend.known_usd == pytest.approx(7 * USD_A_REPLY)


@BOTH
def test_a_chunk_ends_before_its_bytes_pass_the_limit(api: Api, tmp_path: Path) -> None:
    run = batches(api, tmp_path, items=6, batch_api={"megabytes": 0.006})
    with run.server as server:
        assert run.run().result.summary.scored == 6
    assert len(server.sizes) > 1
    for made in server.made:
        assert sum(len(json.dumps(entry, separators=(",", ":"))) for entry in made.entries) <= 6000


@BOTH
def test_a_request_larger_than_a_batch_is_an_error_by_name(api: Api, tmp_path: Path) -> None:
    run = batches(api, tmp_path, items=2, batch_api={"megabytes": 0.0005})
    with run.server as server:
        outcome = run.run()
    assert (server.sizes, outcome.result.summary.errors) == ([], {"too_large": 2})


def comparable(verdict: Verdict) -> dict[str, Any]:
    """A verdict without what may differ: seconds, and the price."""
    value = verdict.to_json()
    for name in ("seconds", "cost_usd"):
        value.pop(name)
    return value


def test_verdicts_equal_those_of_this_process(tmp_path: Path) -> None:
    """Scores 4 and 2 of two samples ask for a third; item 3 fails to parse once; item 5 needs all its tries."""

    def answer(item: str, before: int) -> Scripted:
        if item == name_of(5) or (item == name_of(3) and before == 0):
            return chat("no JSON at all")
        if item == name_of(2):
            return chat(json.dumps({"reason": "fine", "score": [4, 2, 3][before % 3]}))
        return chat(score(item))

    there = tmp_path / "there"
    there.mkdir()
    run = batches(OPENAI, there, items=6, answer=answer, samples=None)
    with run.server as server:
        outcome = run.run()
        rounds, here = len(server.made), tmp_path / "here"
        server.answered.clear()
        local = run.run(out=here, engine="local", cache_dir=tmp_path / "other", concurrency=1)
    assert outcome.error is None
    assert local.error is None
    assert rounds == 3  # the first tries; the third vote and the second tries; the last tries
    one, two = verdicts(run.folder), verdicts(here)
    for first, second in zip(one, two, strict=True):
        assert comparable(first) == comparable(second)
    assert [verdict.fingerprints for verdict in one] == [verdict.fingerprints for verdict in two]
    costs = [(a.cost_usd, b.cost_usd) for a, b in zip(one, two, strict=True)]
    assert all(a is not None and b is not None and a == pytest.approx(b / 2) for a, b in costs)
    assert one[2].score == 3
    assert one[5].status == "error"


@BOTH
def test_samples_are_requests_of_their_own_and_replies_go_into_the_cache(api: Api, tmp_path: Path) -> None:
    run = batches(api, tmp_path, items=2, answer=lambda item, n: api.text(score(item)), samples=3)
    with run.server as server:
        first = run.run()
        assert server.sizes == [6]
        ids = [entry["custom_id"] for entry in server.made[0].entries]
        again = run.run(out=tmp_path / "again")
        assert server.sizes == [6]
    assert [id[-4:] for id in ids] == ["-0-0", "-1-0", "-2-0"] * 2
    assert all(re.fullmatch(r"[0-9a-f]{8}-00001-[0-9a-f]{32}-[012]-0", id) for id in ids)
    assert (first.result.spend.calls, again.result.spend.calls) == (6, 0)
    assert again.result.summary.mean == first.result.summary.mean


@BOTH
def test_without_a_cache_equal_trajectories_are_paid_for_each(api: Api, tmp_path: Path) -> None:
    for cached, expected in ((True, 1), (False, 3)):
        folder = tmp_path / str(cached)
        folder.mkdir()
        run = batches(api, folder, items=3, cache=cached)
        lines = run.source.read_text().replace("the answer of item-", "the same answer").splitlines()
        same = [re.sub(r"the same answer\d+", "the same answer", line) for line in lines]
        run.source.write_text("\n".join(same) + "\n")
        with run.server as server:
            outcome = run.run()
        assert (outcome.result.summary.scored, sum(server.sizes)) == (3, expected)
        assert outcome.result.spend.known_usd == pytest.approx(expected * USD_A_REPLY)


@BOTH
def test_a_parameter_that_is_refused_is_left_out_in_the_next_round(api: Api, tmp_path: Path) -> None:
    def answer(item: str, before: int) -> Scripted:
        return api.broken(400, "'temperature' is not supported with this model") if before == 0 else api.text(GOOD)

    run = batches(api, tmp_path, items=3, answer=answer, temperature=0.0, batch_api={"tries": 1})
    with run.server as server:
        outcome = run.run()
    assert outcome.result.summary.scored == 3
    bodies = [entry.get("body", entry.get("params")) for made in server.made for entry in made.entries]
    assert ["temperature" in body for body in bodies] == [True] * 3 + [False] * 3
    assert {v.dropped_params for v in verdicts(run.folder)} == {("temperature",)}


def test_a_judge_without_a_batch_api_is_refused_by_name(tmp_path: Path) -> None:
    settings = load_settings({}, environment={}, folder=tmp_path)
    with pytest.raises(UsageError, match="'fake/always-4' has no batch API here"):
        open_batches("fake/always-4", settings)


def test_prices_in_a_batch(tmp_path: Path) -> None:
    """Half of the usual price, or what the price file says of batches."""
    table = tmp_path / "prices.json"
    rows = {"m1": {"input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6, "input_cost_per_token_batches": 5e-7}}
    table.write_text(json.dumps(rows))
    settings = load_settings({"price_file": table}, environment={}, folder=tmp_path)
    got = batch_price_of("openai/m1", settings)
    assert got is not None
    assert (got.input, got.output) == (5e-7, 4e-6)
    assert batch_price_of("openai/unheard-of", settings) is None
    plain = load_settings({}, environment={}, folder=tmp_path)
    for judge in ("openai/gpt-4o", "anthropic/claude-sonnet-4-5"):
        usual, batched = price_of(judge, plain), batch_price_of(judge, plain)
        assert usual is not None
        assert batched is not None
        assert (batched.input, batched.output) == pytest.approx((usual.input / 2, usual.output / 2))


@pytest.mark.parametrize(
    ("more", "share"),
    [
        ({}, 0.5),
        ({"base_url": "http://127.0.0.1:1/v1"}, 1.0),  # of another server the makers' price lists say nothing
        ({"base_url": "http://127.0.0.1:1/v1", "batch_api": {"price_share": 0.5}}, 0.5),
        ({"batch_api": {"price_share": 0.25}}, 0.25),
    ],
)
def test_the_share_of_a_price_of_ones_own(more: dict[str, Any], share: float, tmp_path: Path) -> None:
    own = {"openai/m1": {"input_usd_per_million": 3.0, "output_usd_per_million": 15.0}}
    got = batch_price_of("openai/m1", load_settings({"models": own, "judge": "openai/m1", **more}, folder=tmp_path))
    assert got is not None
    assert (got.input, got.output) == pytest.approx((3e-6 * share, 15e-6 * share))


@BOTH
def test_the_cap_holds_by_reservation_and_ends_with_whole_verdicts(api: Api, tmp_path: Path) -> None:
    """Each reply costs 0.06; an estimate is a good deal more, so that not all fit at once but more fit after bills."""
    run = batches(api, tmp_path, items=12, samples=2, max_usd=1.0)
    with run.server as server:
        outcome = run.run()
        assert outcome.error is not None
        paid = sum(server.paid.values())
        assert outcome.error.kind == "budget_reached"
        assert paid * USD_A_REPLY <= 1.0
        assert set(server.paid.values()) == {2}  # no trajectory is half paid
        assert len(server.made) > 1  # room that bills left was used
        assert outcome.result.judged == paid // 2 == len(recorded(run.folder))
        assert outcome.result.pending == 12 - outcome.result.judged
        again = run.run()
        assert sum(server.paid.values()) == paid  # the cap counts the batches of earlier sessions
        assert again.error is not None
        more = run.run(max_usd=5.0)
    assert more.error is None
    assert (more.result.pending, set(server.paid.values())) == (0, {2})


def test_an_unknown_price_with_a_cap_is_refused(tmp_path: Path) -> None:
    run = batches(OPENAI, tmp_path, items=1)
    with run.server, pytest.raises(UsageError, match="price"):
        run.run(max_usd=1.0, models={})


def test_another_engine_does_not_pay_again_for_what_is_at_the_provider(tmp_path: Path) -> None:
    run = batches(ANTHROPIC, tmp_path, items=2)
    with run.server as server:
        assert run.run(detach=True).result.stopped == "detached"
        with pytest.raises(UsageError, match="2 requests of the run"):
            run.run(engine="local")
        assert run.run().result.pending == 0
    assert sum(server.paid.values()) == 2


def test_a_trajectory_that_may_not_cost_so_much_is_never_handed_in(tmp_path: Path) -> None:
    run = batches(OPENAI, tmp_path, items=2, max_usd_per_item=0.05)
    with run.server as server:
        outcome = run.run()
    assert (outcome.result.summary.errors, server.sizes) == ({"item_budget": 2}, [])


def test_progress_counts_over_all_passes(tmp_path: Path) -> None:
    """Item 0 needs two rounds, so that there are three passes; one verdict comes after the others."""
    answer = lambda item, n: chat("no JSON" if item == name_of(0) and n == 0 else GOOD)  # noqa: E731
    run = batches(OPENAI, tmp_path, items=3, answer=answer)
    seen: list[Progress] = []
    with run.server:
        run.run(progress=seen.append)
    assert [(each.done, each.total) for each in seen] == [(1, 3), (2, 3), (3, 3)]
    assert (seen[-1].calls, seen[-1].failed) == (4, 0)
    assert seen[-1].cost_usd == pytest.approx(4 * USD_A_REPLY)


def test_a_jury_is_refused(tmp_path: Path) -> None:
    run = batches(OPENAI, tmp_path, items=1)
    jury = Jury(name="jury/two", members=("openai/m1", "anthropic/m1"))
    with run.server as server, pytest.raises(UsageError, match="jury/two is a jury"):
        run.run(judge_like=jury)
    assert (server.sizes, run.folder.exists()) == ([], False)
