"""What is remembered of batches at a provider: the ledger, the purse, and the lines that come back."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
from provider_runs import ANTHROPIC, batches

from judge.engine.batch_outcomes import counted
from judge.engine.batch_purse import BatchPurse
from judge.errors import TerminalError, UsageError
from judge.providers.batches import BatchState, json_lines
from judge.providers.message_batches import CUSTOM_ID, MessageBatches
from judge.store.batch_ledger import BatchLedger, held_ledger
from judge.store.ledger import DayLedger
from judge.store.lock import FolderLock

NONE = frozenset[str]()


def put(ledger: BatchLedger, number: int, *outcomes: tuple[str, str]) -> None:
    """Outcomes of a batch, as they are fetched."""
    mark = ledger.mark(number)
    rows = [{"custom_id": mark + name, "kind": kind, "status": None, "body": None} for name, kind in outcomes]
    ledger.outcomes_path(number).write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))


def test_a_request_is_open_then_answered_then_used_up_in_every_session(tmp_path: Path) -> None:
    with BatchLedger(tmp_path) as ledger:
        run = ledger.run
        chunk = ledger.mean(["a", "b"], at=5.0, usd=0.5, refused=frozenset({"seed"}))
        assert [ledger.is_open(name) for name in "abc"] == [True, True, False]
    with BatchLedger(tmp_path) as ledger:
        assert ledger.run == run
        (chunk,) = ledger.under_way()
        assert (chunk.number, chunk.at, chunk.usd, chunk.refused, chunk.batch) == (1, 5.0, 0.5, {"seed"}, None)
        ledger.submitted(chunk, "batch_1")
        put(ledger, 1, ("b", "succeeded"), ("a", "expired"))
        ledger.ended(chunk, "completed", paid=0.25, kinds=Counter())
        ledger.mean(["a"], at=6.0, usd=0.5, refused=NONE)
    with BatchLedger(tmp_path) as ledger:
        assert [ledger.is_open(name) for name in "ab"] == [True, False]
        assert [len(ledger.places(name)) for name in "ab"] == [1, 1]
        assert ledger.outcome(ledger.places("b")[0])["kind"] == "succeeded"
        ledger.used_up(["b"])
        assert ledger.unused() == 1
        ledger.given_up(ledger.chunks[2], "never received")
        assert (ledger.is_open("a"), ledger.is_known("a"), ledger.next_number()) == (False, True, 3)
    with BatchLedger(tmp_path) as ledger:
        assert (ledger.is_known("b"), ledger.under_way(), ledger.chunks[1].paid) == (False, [], 0.25)


def test_a_torn_last_line_said_nothing_and_a_changed_line_is_an_error(tmp_path: Path) -> None:
    with BatchLedger(tmp_path) as ledger:
        ledger.mean(["a"], at=1.0, usd=None, refused=NONE)
    path = tmp_path / "batches" / "ledger.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"chunk":1,"batch":"batc')
    with BatchLedger(tmp_path) as ledger:
        assert ledger.under_way()[0].batch is None
        ledger.submitted(ledger.under_way()[0], "batch_1")
    with BatchLedger(tmp_path) as ledger:
        assert ledger.under_way()[0].batch == "batch_1"
    path.write_bytes(whole.replace(b"{", b"<") + b"\n")
    with pytest.raises(UsageError, match="was changed after it was written"):
        BatchLedger(tmp_path)


def test_outcomes_that_are_gone_from_the_folder_are_missed(tmp_path: Path) -> None:
    with BatchLedger(tmp_path) as ledger:
        chunk = ledger.mean(["a"], at=1.0, usd=None, refused=NONE)
        put(ledger, 1, ("a", "succeeded"))
        ledger.ended(chunk, "completed", paid=None, kinds=Counter())
        ledger.outcomes_path(1).unlink()
    with pytest.raises(UsageError, match="replies that were paid for"):
        BatchLedger(tmp_path)


def test_one_process_at_a_time_holds_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has handed in no batches"), held_ledger(tmp_path):
        pass
    BatchLedger(tmp_path).close()
    with FolderLock(tmp_path), pytest.raises(UsageError, match="in use"), held_ledger(tmp_path):
        pass


def test_custom_ids_fit_both_providers(tmp_path: Path) -> None:
    with BatchLedger(tmp_path) as ledger:
        assert CUSTOM_ID.match(ledger.mark(99_999) + "0" * 32 + "-100-10")


def test_a_purse_holds_batches_and_learns_from_bills(tmp_path: Path) -> None:
    purse = BatchPurse(10.0)
    purse.carry(1, 4.0)  # of an earlier session
    assert purse.hold(2, 5.0)
    assert not purse.hold(3, 1.5)  # 4 + 5 + 1.5 > 10
    purse.settle(2, 6.0)  # billed at 1.2 times its estimate: 6 + 4 * 1.2 = 10.8 is over already
    assert not purse.fits(0.0)
    purse.settle(1, 1.0)  # 7 are paid; 2.5 * 1.2 = 3
    assert (purse.spent, purse.fits(2.5), purse.fits(2.6)) == (7.0, True, False)
    assert "$7.0000 of $10.0000 is spent on batches" in purse.reached(2.6).message
    assert purse.hold(4, 2.5)
    purse.settle(4, None)  # a bill that was never told counts with its estimate
    assert purse.spent == 9.5


def test_a_purse_shares_the_cap_of_the_day(tmp_path: Path) -> None:
    day = DayLedger(tmp_path, 3.0)
    purse = BatchPurse(None, ledger=day)
    assert purse.hold(1, 2.0)
    assert not BatchPurse(None, ledger=day).hold(1, 2.0)
    assert "today's $3.0000" in purse.reached(2.0).message
    purse.settle(1, 0.5)
    assert day.spent() == 0.5
    purse.carry(2, 9.0)  # of yesterday: it is no spend of this day
    purse.settle(2, 9.0)
    assert day.spent() == 0.5


def test_lines_are_split_at_line_feeds_alone() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        text = '{"a":"one\u2028line\x85"}\n\n{"b":2}\r\n{"c":3}'.encode()
        for start in range(0, len(text), 5):
            yield text[start : start + 5]

    async def read() -> list[object]:
        return [orjson.loads(line) async for line in json_lines(chunks())]

    assert asyncio.run(read()) == [{"a": "one\u2028line\x85"}, {"b": 2}, {"c": 3}]


def test_outcomes_at_another_host_are_not_fetched(tmp_path: Path) -> None:
    run = batches(ANTHROPIC, tmp_path, items=1)
    with run.server as server:
        api = MessageBatches("anthropic/m1", "m1", run.settings())
        state = BatchState("b", "ended", True, 1, 1, 0.0, files=("https://elsewhere.example/results",))

        async def fetch() -> None:
            try:
                async for _ in api.outcomes(state):
                    pass
            finally:
                await api.aclose()

        with pytest.raises(TerminalError, match=r"'elsewhere\.example'"):
            asyncio.run(fetch())
        assert not server.calls


def test_counts_in_words() -> None:
    assert [counted(n, noun) for n in (1, 1200) for noun in ("request", "batch")] == [
        "1 request",
        "1 batch",
        "1,200 requests",
        "1,200 batches",
    ]
