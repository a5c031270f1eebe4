"""The budget that the workers of a cluster share, and errors on their way; without a cluster."""

from __future__ import annotations

import asyncio
import inspect
import socket
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from batch_items import RUBRIC, settings_of

from judge import errors
from judge.engine import telemetry
from judge.engine.batch_engine import batch_engine
from judge.engine.ray_budget import BudgetKeeper
from judge.engine.ray_engine import check_same, share_of
from judge.engine.ray_worker import Opened
from judge.engine.sent_error import SentError
from judge.errors import ConfigError, FingerprintMismatch, JudgeError, MissingExtra, TerminalError, UsageError
from judge.store.manifest import versions
from judge.types import Rubric


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


async def turn() -> None:
    """Lets whoever waits go on."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_promise_waits_for_others_and_is_refused_when_none_could_make_room() -> None:
    async def work() -> None:
        keeper = BudgetKeeper(1.0, spent=0.0)
        assert await keeper.begin("a", 0.6) is None
        waiting = asyncio.ensure_future(keeper.begin("b", 0.6))  # 0.6 + 0.6 > 1
        await turn()
        assert not waiting.done()
        assert await keeper.reserve("a", 0.6) is None
        await keeper.settle("a", 0.6, 0.3)
        await keeper.end("a", 0.6)
        assert await waiting is None  # 0.3 spent + 0.6 <= 1
        assert await keeper.reserve("b", 0.6) is None
        await keeper.settle("b", 0.6, 0.6)
        await keeper.end("b", 0.6)
        refused = await keeper.begin("a", 0.2)  # 0.9 + 0.2 > 1, and nothing is under way
        assert refused is not None
        assert refused.kind == "BudgetReached"
        assert "$0.9000 of $1.0000 is spent" in str(refused.error())

    run(work())


def test_what_a_lost_worker_had_open_counts_as_billed() -> None:
    async def work() -> None:
        keeper = BudgetKeeper(10.0, spent=1.0)
        for worker, whole in (("a", 4.0), ("b", 2.0)):
            assert await keeper.begin(worker, whole) is None
            assert await keeper.reserve(worker, whole / 2) is None if worker == "a" else True
        assert (await keeper.state())[:2] == (1.0, 3.0)  # one call of $2 is open
        await keeper.lost("a")
        assert (await keeper.state())[:2] == (3.0, 3.0)  # it may have been billed: $2 count
        await keeper.settle("a", 2.0, 0.5)  # its word, if it still comes, counts for nothing
        await keeper.end("a", 4.0)
        assert (await keeper.state())[:2] == (3.0, 3.0)
        assert await keeper.begin("b", 5.0) is None  # 3 + 2 + 5 = 10: the promise of the lost one is void
        waiting = asyncio.ensure_future(keeper.begin("b", 0.1))
        await turn()
        assert not waiting.done()
        waiting.cancel()

    run(work())


def test_a_reservation_that_comes_too_late_for_a_lost_worker_is_given_back() -> None:
    async def work() -> None:
        keeper = BudgetKeeper(1.0, spent=0.0)
        assert await keeper.reserve("a", 0.8) is None
        late = asyncio.ensure_future(keeper.reserve("b", 0.8))
        await turn()
        assert not late.done()
        await keeper.lost("b")
        await keeper.release("a", 0.8)
        await late
        assert (await keeper.state())[:2] == (0.0, 0.0)
        assert await keeper.reserve("c", 1.0) is None

    run(work())


def test_the_end_of_the_cap_is_told() -> None:
    async def work() -> None:
        keeper = BudgetKeeper(1.0, spent=0.7)
        assert (await keeper.state())[2] is False
        assert await keeper.reserve("a", 0.1) is None
        await keeper.settle("a", 0.1, 0.1)
        assert (await keeper.state())[2] is True  # 0.8 of 1.0

    run(work())


TREE = [each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, JudgeError)]


@pytest.mark.parametrize("made", TREE)
def test_every_error_means_the_same_in_another_process(made: type[JudgeError]) -> None:
    options: dict[str, Any] = {"hint": "Do that."}
    if issubclass(made, errors.ProviderError):
        options |= {"provider": "openai/m1", "status_code": 401, "reason": "auth"}
    error = made("This was found.", **options)
    came = SentError.of(error).error()
    assert type(came) is made
    assert (came.message, came.hint, came.exit_code) == (error.message, error.hint, error.exit_code)
    if isinstance(error, errors.ProviderError) and isinstance(came, errors.ProviderError):
        assert (came.provider, came.status_code, came.reason) == ("openai/m1", 401, "auth")


def test_an_error_of_an_unknown_class_is_the_root_of_the_tree() -> None:
    assert type(SentError("Mapping", "What.", "").error()) is JudgeError
    assert isinstance(SentError("TerminalError", "What.", "").error(), TerminalError)


def test_the_shares_of_all_workers_are_the_whole(tmp_path: Path) -> None:
    limits = {"concurrency": 7, "requests_per_minute": 90.0, "tokens_per_minute": 3000.0}
    settings = settings_of(tmp_path, "http://127.0.0.1:1", concurrency=11, provider=limits)
    shares = [share_of(settings, number, 3) for number in range(3)]
    assert [share.concurrency for share in shares] == [4, 4, 3]
    provider = [share.provider("openai") for share in shares]
    assert [each.concurrency for each in provider] == [3, 2, 2]
    assert [each.requests_per_minute for each in provider] == [30.0] * 3
    assert [each.tokens_per_minute for each in provider] == [1000.0] * 3
    changed = {"concurrency", "providers", "certificates"}
    rest = {share.model_dump_json(exclude=changed) for share in shares}
    assert rest == {settings.model_dump_json(exclude=changed)}
    assert {share.certificates for share in shares} == {settings.certificates.absolute()}


def test_a_worker_of_another_version_or_rubric_is_not_let_in() -> None:
    mine = {"rubric": RUBRIC.fingerprint, "judge": "j"}
    check_same(mine, Opened(1, "here", dict(mine), versions()))
    other = Rubric.model_validate({**RUBRIC.to_json(), "version": "2"}).fingerprint
    with pytest.raises(FingerprintMismatch, match="'there' would judge by another rubric, version of trajudge"):
        check_same(mine, Opened(1, "there", {**mine, "rubric": other}, {**versions(), "trajudge": "0"}))


def test_without_ray_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r'pip install "trajudge\[ray\]"'):
        batch_engine("ray")


def test_addresses_that_nothing_can_come_of() -> None:
    with pytest.raises(UsageError, match="'local' takes no address"):
        batch_engine("local", address="auto")
    pytest.importorskip("ray")
    with pytest.raises(ConfigError, match="--address auto"):
        batch_engine("ray", address="ray://head:10001")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    for address in (f"127.0.0.1:{port}", "head:port"):
        with pytest.raises(ConfigError, match=f"No Ray cluster could be joined at '{address}'"):
            batch_engine("ray", address=address)


def test_what_telemetry_holds_is_sent_before_a_worker_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = pytest.importorskip("opentelemetry.trace")
    metrics = pytest.importorskip("opentelemetry.metrics")
    sent: list[tuple[str, int]] = []

    class Held:
        def __init__(self, what: str) -> None:
            self.what = what

        def force_flush(self, milliseconds: int) -> None:
            sent.append((self.what, milliseconds))

    monkeypatch.setattr(telemetry, "telemetry", object)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: Held("spans"))
    monkeypatch.setattr(metrics, "get_meter_provider", lambda: object())  # a provider that cannot
    telemetry.flush(1.5)
    assert sent == [("spans", 1500)]
