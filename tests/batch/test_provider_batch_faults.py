"""Batches at a provider that go wrong: what is paid is counted, what failed has a name, and nothing is paid twice."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from batch_apis import RESET, Made, OpenAIBatchServer
from batch_items import GOOD, name_of, recorded, write_items
from provider_runs import ANTHROPIC, APIS, OPENAI, Api, Batches, batches

from judge.engine.control import Control
from judge.store.batch_ledger import BatchLedger
from judge.store.run_folder import RunFolder

BOTH = pytest.mark.parametrize("api", APIS, ids=lambda api: api.provider)


class Killed(Exception):
    """Ends a session where it stands, like a kill."""


def statuses(folder: Path) -> dict[str, tuple[str, float | None]]:
    with RunFolder.read(folder) as run:
        return {v.trajectory_id: (v.errors[0].kind if v.errors else v.status, v.score) for v in run.verdicts()}


def killed_at(run: Batches, step: int, *, written: bool, monkeypatch: pytest.MonkeyPatch) -> bool:
    """A session that writes nothing more from the `step`th line of the ledger on; whether it came that far."""
    steps = count(1)
    append = BatchLedger._append

    def killing(self: BatchLedger, entry: dict[str, Any], *, to_disk: bool = True) -> None:
        now = next(steps)
        if now < step or (now == step and written):
            append(self, entry, to_disk=to_disk)
        if now >= step:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(BatchLedger, "_append", killing)
        try:
            run.run()
        except Killed:
            return True
    return False


@BOTH
@pytest.mark.parametrize("written", [False, True], ids=["before", "after"])
def test_a_kill_at_any_step_of_the_ledger_loses_and_repeats_nothing(
    api: Api, written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three trajectories in two batches, and one of them once more, since it expired.

    Lines: the run; three times an intent, an upload or none, an id and an end; three uses.
    """

    def answer(item: str, before: int) -> Any:
        return "expired" if item == name_of(1) and before == 0 else api.text(GOOD)

    kills = 0
    for step in count(1):
        work = tmp_path / str(step)
        work.mkdir()
        run = batches(api, work, items=3, answer=answer, batch_api={"requests": 2})
        with run.server as server:
            if not killed_at(run, step, written=written, monkeypatch=monkeypatch):
                break
            kills += 1
            outcome = run.run()
            assert (outcome.error, outcome.result.pending) == (None, 0), step
            assert dict(server.paid) == {name_of(n): 1 for n in range(3)}, step
            assert sum(server.sizes) == 4, step
            assert sorted(recorded(run.folder)) == [name_of(n) for n in range(3)], step
            with BatchLedger(run.folder) as ledger:
                assert not ledger.under_way()
    assert kills == (16 if api is OPENAI else 13)


@BOTH
def test_a_batch_whose_id_never_arrived_is_found_and_not_paid_for_again(api: Api, tmp_path: Path) -> None:
    run = batches(api, tmp_path, items=4)
    with run.server as server:
        server.before_create = lambda made: RESET
        outcome = run.run()
        assert (outcome.error, outcome.result.summary.scored) == (None, 4)
        assert server.sizes == [4]
    assert "It is not known whether the provider has batch 1" in run.said[0]


def test_a_batch_without_a_mark_is_told_from_others_by_its_outcomes(tmp_path: Path) -> None:
    """Three batches of other people, of as many requests and of the same minute, go on while ours is looked for."""
    run = batches(ANTHROPIC, tmp_path, items=2)

    def others(made: Made) -> Any:
        for number in range(3):
            entries = [{"custom_id": f"other-{number}-{n}", "params": {}} for n in range(2)]
            run.server.make(entries).looks = 3 + number
        made.looks = 4
        return RESET

    with run.server as server:
        server.before_create = others
        outcome = run.run()
        ours = [made for made in server.made if not made.entries[0]["custom_id"].startswith("other")]
    assert (outcome.error, outcome.result.summary.scored) == (None, 2)
    assert [len(made.entries) for made in ours] == [2]
    assert "cannot be told before" in run.said[1]
    assert "Nothing is handed in twice" in run.said[1]


@BOTH
def test_a_batch_that_was_lost_on_its_way_is_handed_in_again(api: Api, tmp_path: Path) -> None:
    run = batches(api, tmp_path, items=2)
    with run.server as server:
        server.down = 1
        outcome = run.run()
        assert (outcome.error, server.sizes, sum(server.paid.values())) == (None, [2], 2)


@BOTH
def test_a_busy_provider_is_handed_the_batch_later_and_at_last_ends_the_run(api: Api, tmp_path: Path) -> None:
    run = batches(api, tmp_path, items=2)
    with run.server as server:
        server.busy = 2  # one more than there are tries
        first = run.run()
        assert first.error is not None
        assert (first.error.kind, server.sizes) == ("terminal_error", [])
        server.busy = 1
        assert run.run().result.summary.scored == 2
        assert (server.sizes, sum(server.paid.values())) == ([2], 2)


@BOTH
def test_expired_requests_go_into_another_batch_and_fail_by_name_at_last(api: Api, tmp_path: Path) -> None:
    """Item 0 is reached at the first try, item 1 at the third, item 2 never."""

    def answer(item: str, before: int) -> Any:
        tries = {name_of(0): 0, name_of(1): 2, name_of(2): 99}[item]
        return "expired" if before < tries else api.text(GOOD)

    run = batches(api, tmp_path, items=3, answer=answer)
    with run.server as server:
        outcome = run.run()
        assert server.sizes == [3, 2, 2]
        assert outcome.result.summary.errors == {"batch_expired": 1}
        assert statuses(run.folder) == {
            name_of(0): ("ok", 4.0),
            name_of(1): ("ok", 4.0),
            name_of(2): ("batch_expired", None),
        }
        again = run.run()  # redoes the error, from the beginning
        assert server.sizes == [3, 2, 2, 1, 1, 1]
    assert (again.result.kept, again.result.pending) == (2, 1)
    assert dict(server.paid) == {name_of(0): 1, name_of(1): 1}


@BOTH
@pytest.mark.parametrize(
    ("wrong", "kind", "rounds"),
    [("canceled", "batch_canceled", 3), ("missing", "no_outcome", 3), (500, "server", 3), (404, "request_refused", 1)],
)
def test_a_request_that_keeps_failing_has_a_name_and_no_number(
    api: Api, wrong: Any, kind: str, rounds: int, tmp_path: Path
) -> None:
    bad = wrong if isinstance(wrong, str) else api.broken(wrong, "not today")
    run = batches(api, tmp_path, items=2, answer=lambda item, n: bad if item == name_of(1) else api.text(GOOD))
    with run.server as server:
        run.run()
        assert server.sizes == [2, *[1] * (rounds - 1)]
    assert statuses(run.folder) == {name_of(0): ("ok", 4.0), name_of(1): (kind, None)}


@BOTH
def test_an_outcome_that_comes_twice_or_unasked_is_told_and_never_scored(api: Api, tmp_path: Path) -> None:
    run = batches(api, tmp_path, items=2)
    with run.server as server:
        server.twice = server.strange = True
        outcome = run.run()
        assert server.sizes == [2, 1, 1]  # the first of each batch comes twice: asked again, and given up
    assert statuses(run.folder) == {name_of(0): ("duplicate_outcome", None), name_of(1): ("ok", 4.0)}
    told = [line for line in run.said if "error" in line]
    assert len(told) == 3
    assert "1 under custom ids that were not asked for, none used" in told[0]
    assert "1 request with more than one outcome, none used" in told[0]
    assert outcome.result.summary.errors == {"duplicate_outcome": 1}


@BOTH
def test_a_key_that_is_refused_ends_the_run_and_leaves_it_to_be_resumed(api: Api, tmp_path: Path) -> None:
    run = batches(api, tmp_path, items=2, answer=lambda item, n: api.broken(401, "no") if n == 0 else api.text(GOOD))
    with run.server as server:
        first = run.run()
        assert first.error is not None
        assert (first.error.kind, first.result.judged) == ("terminal_error", 0)
        assert run.run().result.summary.scored == 2
        assert server.sizes == [2, 2]


def test_a_file_that_the_provider_refuses_is_an_error_of_every_request_in_it(tmp_path: Path) -> None:
    class Strict(OpenAIBatchServer):
        def make(self, entries: list[dict[str, Any]], **more: Any) -> Made:
            made = super().make(entries, **more)
            made.failed = {"code": "invalid_file", "message": "not today"}
            return made

    run = batches(OPENAI, tmp_path, items=2, kind=Strict)
    with run.server as server:
        outcome = run.run()
        assert server.sizes == [2]
    assert outcome.result.summary.errors == {"request_refused": 2}


def test_what_may_not_be_enqueued_at_once_goes_in_later_rounds(tmp_path: Path) -> None:
    """A server with room for one batch at a time: three batches take three rounds, and no try is used up."""
    run = batches(OPENAI, tmp_path, items=6, batch_api={"requests": 2, "tries": 1})

    def crowded(made: Made) -> None:
        if any(other.outcomes is None and not other.failed for other in run.server.made if other is not made):
            made.failed = {"code": "token_limit_exceeded", "message": "enqueued token limit reached"}

    with run.server as server:
        server.before_create = crowded
        outcome = run.run()
        assert (outcome.error, outcome.result.summary.scored, sum(server.paid.values())) == (None, 6, 6)
        assert len(server.sizes) == 3 + 2 + 1


def test_batches_that_are_all_turned_down_end_the_run(tmp_path: Path) -> None:
    run = batches(OPENAI, tmp_path, items=3, most=2)
    with run.server as server:
        outcome = run.run()
        assert server.sizes == [3]
        assert outcome.error is not None
        assert "every batch of the round was turned down" in outcome.error.message
        run.batch_api = {"requests": 2}
        assert run.run().result.summary.scored == 3


def test_a_batch_that_is_refused_on_arrival_was_never_handed_in(tmp_path: Path) -> None:
    run = batches(ANTHROPIC, tmp_path, items=3, most=2)
    with run.server as server:
        outcome = run.run()
        assert outcome.error is not None
        assert (outcome.error.kind, server.sizes) == ("terminal_error", [])
        assert "The batch was turned down" in outcome.error.message
        run.batch_api = {"requests": 2}
        assert run.run().result.summary.scored == 3


def test_outcomes_that_are_no_longer_kept_are_not_paid_for_again_unasked(tmp_path: Path) -> None:
    run = batches(OPENAI, tmp_path, items=2, max_usd=100.0)
    with run.server as server:
        run.run(detach=True)
        server.made.clear()
        outcome = run.run()
        assert outcome.result.summary.errors == {"outcome_gone": 2}
        assert server.sizes == []
        # the provider may have billed them: that is no known cost of zero, and the cap counts what they may have been
        assert (outcome.result.spend.known_usd, outcome.result.spend.unpriced) == (0.0, 2)
        run.said.clear()
        assert run.run().result.summary.scored == 2  # resumed on purpose
    told = r"Earlier batches of this run cost \$0\.[1-9]\d* at most \(1 bill not known\); they count"
    assert re.match(told, run.said[0])


@BOTH
def test_an_interrupt_while_waiting_leaves_everything_at_the_provider(api: Api, tmp_path: Path) -> None:
    run = batches(api, tmp_path, items=3, looks=10**6)
    control = Control()
    with run.server as server:
        server.before_create = lambda made: control.drain("interrupt")
        first = run.run(control=control)
        assert (first.error, first.result.stopped, first.result.pending) == (None, "interrupt", 3)
        assert "3 requests in 1 batch at the provider" in run.said[-1]
        assert f"`judge batch attach {run.folder}`" in run.said[-1]
        server.made[0].looks = 1
        second = run.run()
    assert (second.result.pending, server.sizes) == (0, [3])


def test_a_server_that_fails_for_a_while_is_asked_again(tmp_path: Path) -> None:
    """Looks, lists and downloads that break are repeated; half a line of outcomes is no outcome."""
    broken: Counter[str] = Counter()

    class Shaky(OpenAIBatchServer):
        def serve(self, received: Any) -> Any:
            got = super().serve(received)
            kind = received.method + received.path.split("/")[2]
            if received.method == "GET":
                broken[kind] += 1
                if broken[kind] == 1:
                    return RESET
                if broken[kind] == 2 and isinstance(got.body, str):
                    return type(got)(200, got.body[: len(got.body) // 2], got.headers)
            return got

    run = batches(OPENAI, tmp_path, items=3, http_retries=3, kind=Shaky)
    with run.server as server:
        outcome = run.run()
    assert (outcome.error, outcome.result.summary.scored, sum(server.paid.values())) == (None, 3, 3)
    assert broken["GETfiles"] == 3


def test_a_provider_that_is_away_for_long_is_told_once_and_waited_for(tmp_path: Path) -> None:
    away = 20

    class Away(OpenAIBatchServer):
        def serve(self, received: Any) -> Any:
            nonlocal away
            if received.method == "GET" and away > 0:
                away -= 1
                return RESET
            return super().serve(received)

    run = batches(OPENAI, tmp_path, items=2, kind=Away, http_retries=0)
    with run.server:
        assert run.run().result.summary.scored == 2
    assert away == 0
    assert len([line for line in run.said if "does not answer" in line]) == 1


def test_what_is_kept_of_a_batch(tmp_path: Path) -> None:
    run = batches(OPENAI, tmp_path, items=2)
    with run.server:
        run.run()
    lines = [json.loads(line) for line in (run.folder / "batches" / "ledger.jsonl").read_text().splitlines()]
    kinds = [next(k for k in ("run", "names", "file", "batch", "ended", "used_up") if k in line) for line in lines]
    assert kinds == ["run", "names", "file", "batch", "ended", "used_up", "used_up"]
    assert sorted(path.name for path in (run.folder / "batches").iterdir()) == [
        "00001.outcomes.jsonl",
        "call.json",
        "ledger.jsonl",
    ]


def test_no_key_gets_into_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers repeat keys in their errors, and a base_url may hold a password."""
    key = "sk-live-0123456789abcdef"
    run = batches(OPENAI, tmp_path, items=2, answer=lambda item, n: OPENAI.broken(400, f"no such key {key}"))
    run.flags["keys"] = {"OPENAI_API_KEY": key}
    with run.server:
        outcome = run.run()
    assert outcome.result.summary.errors == {"request_refused": 2}
    texts = [path.read_bytes() for path in run.folder.rglob("*") if path.is_file()]
    assert len(texts) > 5
    assert not [text for text in texts if key.encode() in text]
    assert b"[hidden]" in (run.folder / "batches" / "00001.outcomes.jsonl").read_bytes()


def test_a_changed_input_leaves_no_debts_behind(tmp_path: Path) -> None:
    """Outcomes of a trajectory that has changed since are of no use, and keep no other engine away."""
    run = batches(OPENAI, tmp_path, items=2)
    with run.server as server:
        run.run(detach=True)
        write_items(run.source, 2, said={name_of(1): "changed"})
        outcome = run.run(new_input=True)
        assert (outcome.result.pending, server.sizes) == (0, [2, 1])
        assert run.run(engine="local").error is None
