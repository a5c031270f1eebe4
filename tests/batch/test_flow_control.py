"""Quotas learned from headers, one back-off for all, and time-limits of a try and of a call."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from batch_items import GOOD, RUBRIC, JudgeServer, settings_of, write_items
from loopback import LoopbackServer, Scripted, chat

from judge.engine.batch import judge_batch
from judge.errors import Overloaded, RetryableError
from judge.providers import connect
from judge.providers.quota import Allowance, Quota, allowances, limit_headers
from judge.providers.room import Room
from judge.report.runs import batch_text
from judge.types.request import Request, Subject

EPOCH = 1_700_000_000.0  # 2023-11-14T22:13:20Z


class FakeClock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(round(seconds, 6))
        self.now += seconds
        await asyncio.sleep(0)


def request(text: str = "p") -> Request:
    return Request(
        system="s", segments=(text,), reply_schema={}, subject=Subject(trajectory_id="t", rubric="r", criteria={})
    )


def quota(clock: FakeClock, tokens_per_minute: float | None = None) -> Quota:
    return Quota(tokens_per_minute=tokens_per_minute, clock=clock, sleep=clock.sleep)


OPENAI = {
    "x-ratelimit-limit-requests": "500",
    "x-ratelimit-remaining-requests": "499",
    "x-ratelimit-reset-requests": "120ms",
    "X-RateLimit-Limit-Tokens": "30000",
    "x-ratelimit-remaining-tokens": "28500",
    "x-ratelimit-reset-tokens": "3s",
}
ANTHROPIC = {
    "anthropic-ratelimit-requests-limit": "50",
    "anthropic-ratelimit-requests-remaining": "49",
    "anthropic-ratelimit-requests-reset": "2023-11-14T22:13:21Z",
    "anthropic-ratelimit-output-tokens-limit": "8000",
    "anthropic-ratelimit-output-tokens-remaining": "7000",
    "anthropic-ratelimit-output-tokens-reset": "2023-11-14T22:13:27.5Z",
}


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        (OPENAI, (Allowance("requests", 500, 499, 0.12), Allowance("tokens", 30000, 28500, 3.0))),
        (ANTHROPIC, (Allowance("requests", 50, 49, 1.0), Allowance("output-tokens", 8000, 7000, 7.5))),
        ({**OPENAI, "x-ratelimit-reset-requests": "1h2m3.5s"}, (3723.5,)),  # 3600 + 120 + 3.5
        ({**OPENAI, "x-ratelimit-reset-requests": "soon"}, (None,)),
        ({"x-ratelimit-limit-requests": "500"}, ()),
        ({"x-ratelimit-limit-requests": "0", "x-ratelimit-remaining-requests": "0"}, ()),
        ({"x-ratelimit-limit-requests": "nan", "x-ratelimit-remaining-requests": "1"}, ()),
        ({"content-type": "application/json"}, ()),
    ],
)
def test_the_quotas_that_headers_tell(headers: dict[str, str], told: tuple[Any, ...]) -> None:
    found = allowances(limit_headers(headers), now=EPOCH)
    if told and not isinstance(told[0], Allowance):
        assert found[0].reset_s == told[0]
    else:
        assert found == told


def test_a_configured_token_quota_spaces_calls_from_the_first_on() -> None:
    clock = FakeClock()

    async def story() -> None:
        limits = quota(clock, tokens_per_minute=6000)  # 100 a second
        for _ in range(4):
            await limits.turn(2000, 1000)

    asyncio.run(story())
    assert clock.waits == [30.0, 30.0]  # two calls of 3000 fit at once, then each waits for 3000 tokens


def test_what_a_reply_tells_is_kept_to_by_the_next_call() -> None:
    clock = FakeClock()

    async def story() -> None:
        limits = quota(clock)
        ticket = await limits.turn(0, 0)
        told = {
            "x-ratelimit-limit-requests": "60",
            "x-ratelimit-remaining-requests": "1",
            "x-ratelimit-reset-requests": "59s",  # 59 used come back in 59 s: one a second
        }
        limits.answered(ticket, told, now=EPOCH)
        await limits.turn(0, 0)  # the one that is left
        await limits.turn(0, 0)

    asyncio.run(story())
    assert clock.waits == [1.0]


def test_calls_sent_after_the_one_that_tells_are_taken_off_and_older_news_is_ignored() -> None:
    clock = FakeClock()
    told = {"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "10"}
    stale = {"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "60"}

    async def story() -> tuple[float, float]:
        limits = quota(clock)
        first, second, *_later = [await limits.turn(0, 0) for _ in range(5)]
        limits.answered(second, told, now=EPOCH)
        after = limits.buckets["requests"].level(clock.now)
        limits.answered(first, stale, now=EPOCH)
        return after, limits.buckets["requests"].level(clock.now)

    assert asyncio.run(story()) == (7.0, 7.0)  # 10 less the three that were sent later and are open


def test_a_call_larger_than_the_quota_waits_for_all_of_it_and_not_for_ever() -> None:
    clock = FakeClock()

    async def story() -> None:
        limits = quota(clock, tokens_per_minute=600)
        await limits.turn(500, 0)
        await limits.turn(10_000, 0)

    asyncio.run(story())
    assert clock.waits == [50.0]  # 500 tokens at 10 a second


def test_headers_of_a_server_slow_the_connection_down(tmp_path: Path) -> None:
    clock = FakeClock()
    headers = {
        "x-ratelimit-limit-requests": "2",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m0s",  # two in 60 s: one in 30 s
    }
    with LoopbackServer([Scripted(200, chat(GOOD).body, headers)]) as server:
        connection = connect("openai/m1", settings_of(tmp_path, server.url), sleep=clock.sleep, clock=clock)

        async def story() -> None:
            try:
                for _ in range(2):
                    await connection.complete(request())
            finally:
                await connection.aclose()

        asyncio.run(story())
    assert clock.waits == [30.0]


def room(clock: FakeClock, most: int = 8) -> Room:
    return Room("openai/m1", most, longest=300.0, tries=5, clock=clock, draw=lambda: 0.0)


def test_an_overload_halves_the_places_and_answers_give_them_back() -> None:
    clock = FakeClock()
    places = room(clock)
    places.overloaded(clock.now, None, 503)
    assert (places.places, places.pause()) == (4.0, 0.0)  # one refusal alone stops nobody
    for _ in range(4):
        places.answered()
    assert places.places == pytest.approx(4.92, abs=0.01)  # 4 + 1/4 + 1/4.25 + 1/4.49 + 1/4.71
    for _ in range(100):
        places.answered()
    assert places.places == 8.0


def test_a_burst_of_refusals_counts_once_and_a_second_one_makes_everybody_wait() -> None:
    clock = FakeClock()
    places = room(clock)
    sent = clock.now
    clock.now += 1
    for _ in range(50):
        places.overloaded(sent, None, 503)
    assert (places.places, places.overloads) == (4.0, 1)
    clock.now += 1
    places.overloaded(clock.now, None, 503)
    assert places.pause() == 0.25  # half of the first backoff
    clock.now += 1
    places.overloaded(clock.now, 20.0, 503)
    assert places.pause() == 20.0  # as the server asks
    places.answered()
    assert places.pause() == 0.0


def test_no_more_are_inside_than_there_are_places() -> None:
    clock = FakeClock()
    places = room(clock, most=4)
    inside = most = 0

    async def work() -> None:
        nonlocal inside, most
        async with places:
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.001)
            inside -= 1

    async def story() -> None:
        await asyncio.gather(*(work() for _ in range(20)))
        assert most == 4
        places.overloaded(clock.now, None, 503)
        await asyncio.gather(*(work() for _ in range(8)))

    asyncio.run(story())
    most = 0
    asyncio.run(gathered(work() for _ in range(8)))
    assert most == 2


async def gathered(works: Any) -> None:
    await asyncio.gather(*works)


def test_a_place_whose_taker_is_cancelled_goes_to_the_next() -> None:
    places = room(FakeClock(), most=1)

    async def hold(gate: asyncio.Event) -> None:
        async with places:
            await gate.wait()

    async def story() -> None:
        gate = asyncio.Event()
        tasks = [asyncio.create_task(hold(gate)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        gate.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(60), places:
            pass

    asyncio.run(story())


def test_a_batch_whose_judge_refuses_everything_stops_and_is_resumed_when_it_is_back(tmp_path: Path) -> None:
    """Real seconds: some two of them."""
    dead = True
    source = write_items(tmp_path / "in.jsonl", 12)
    with JudgeServer(lambda item, before: Scripted(503) if dead else chat(GOOD)) as server:
        settings = settings_of(tmp_path, server.url, max_wait_s=0.5, concurrency=4)
        first = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
        asked = server.requests
        dead = False
        second = judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings, resume=True)
    assert isinstance(first.error, Overloaded)
    assert (first.error.exit_code, first.result.stopped, first.result.summary.scored) == (4, "overloaded", 0)
    assert "openai/m1 has answered nothing but 503 for" in first.error.message
    assert asked < 12 * 5  # what every call would have tried alone
    assert "waited for no more. Go on with --resume." in batch_text(first.result)
    assert (second.error, second.result.summary.scored, second.result.pending) == (None, 12, 0)


def refused(work: Coroutine[Any, Any, Any]) -> RetryableError:
    with pytest.raises(RetryableError) as caught:
        asyncio.run(work)
    return caught.value


def test_a_server_that_drips_is_given_up_in_time(tmp_path: Path) -> None:
    """Each byte comes within the time for a read; the whole would take half a minute."""
    with LoopbackServer([Scripted(200, chat(GOOD).body, drip=0.1)]) as server:
        settings = settings_of(tmp_path, server.url, provider={"timeout_s": 0.3}, http_retries=0)
        connection = connect("openai/m1", settings)

        async def story() -> None:
            try:
                await connection.complete(request())
            finally:
                await connection.aclose()

        error = refused(story())
    assert (error.reason, "no whole answer within 0.3 s" in error.message) == ("timeout", True)


def test_a_call_with_all_its_tries_ends_at_its_deadline(tmp_path: Path) -> None:
    clock = FakeClock()
    with LoopbackServer([Scripted(500)]) as server:
        settings = settings_of(tmp_path, server.url, call_deadline_s=30.0, http_retries=10)
        connection = connect("openai/m1", settings, sleep=clock.sleep, clock=clock, draw=lambda: 0.0)

        async def story() -> None:
            try:
                await connection.complete(request())
            finally:
                await connection.aclose()

        error = refused(story())
        assert len(server.requests) == 7
    assert clock.waits == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0]  # 15.75 s; the next wait would end after the deadline
    assert "call_deadline_s = 30" in error.hint
