"""The one retry layer, permanent errors, quotas, and loops that come and go."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from loopback import LoopbackServer, Scripted, chat, refused

from judge.errors import RequestRefused, RetryableError, TerminalError
from judge.providers import connect
from judge.providers.limits import Pace
from judge.providers.retry import asked_wait, backoff

GOOD = '{"reason":"ok","evidence":[],"score":4}'
TESTS = Path(__file__).resolve().parents[1]


class FakeClock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def opened(server: LoopbackServer, make_settings: Any, clock: FakeClock, draw: float = 0.0, **flags: Any) -> Any:
    provider = {"base_url": f"{server.url}/v1", **flags.pop("provider", {})}
    settings = make_settings(providers={"openai": provider}, **flags)
    return connect("openai/m1", settings, sleep=clock.sleep, clock=clock, draw=lambda: draw)


async def ask(connection: Any, *requests: Any) -> list[Any]:
    try:
        return [await connection.complete(request) for request in requests]
    finally:
        await connection.aclose()


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "90"}, 90.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 2.0),  # the longer of two
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": formatdate(1_000_060, usegmt=True)}, 60.0),
        ({"retry-after": formatdate(999_000, usegmt=True)}, 0.0),  # already past
        # our clock is 30 s fast: by the server's own clock 90 s are left, and that counts
        (
            {"retry-after": formatdate(1_000_060, usegmt=True), "date": formatdate(999_970, usegmt=True)},
            90.0,
        ),
    ],
)
def test_the_wait_that_a_server_asks_for(headers: dict[str, str], wait: float | None) -> None:
    assert asked_wait(headers, now=1_000_000) == wait


def test_backoff_doubles_up_to_a_ceiling_with_jitter() -> None:
    assert [backoff(k, draw=0.0) for k in (1, 2, 3)] == [0.25, 0.5, 1.0]  # half of 0.5, 1, 2
    assert backoff(3, draw=0.5) == 1.5
    assert backoff(99, draw=0.0) == 15.0  # half of the ceiling of 30


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
def test_passing_failures_are_tried_again(status: int, make_settings: Any, make_request: Any, run: Any) -> None:
    clock = FakeClock()
    with LoopbackServer([Scripted(status, {"error": {"message": "later"}}), chat(GOOD)]) as server:
        (reply,) = run(ask(opened(server, make_settings, clock), make_request()))
        assert len(server.requests) == 2
    assert (reply.status, reply.attempts, clock.waits) == ("ok", 2, [0.25])


def test_a_reset_connection_is_tried_again(make_settings: Any, make_request: Any, run: Any) -> None:
    clock = FakeClock()
    with LoopbackServer([Scripted(reset=True), chat(GOOD)]) as server:
        (reply,) = run(ask(opened(server, make_settings, clock), make_request()))
    assert (reply.attempts, len(clock.waits)) == (2, 1)


@pytest.mark.parametrize("judge", ["openai/m1", "anthropic/m1", "litellm/openai/m1"])
def test_a_server_that_is_not_there_is_no_timeout(judge: str, make_settings: Any, make_request: Any, run: Any) -> None:
    """Timeouts may have been billed, and this cannot; the SDKs' transports call some of these timeouts."""
    with LoopbackServer([chat(GOOD)]) as gone:
        url = gone.url
    settings = make_settings(providers={judge.partition("/")[0]: {"base_url": f"{url}/v1"}}, http_retries=0)
    with pytest.raises(RetryableError, match=r"the connection failed.*[Cc]onnect") as caught:
        run(ask(connect(judge, settings), make_request()))
    assert caught.value.reason == "connection"


def test_a_slow_answer_times_out_and_says_so(make_settings: Any, make_request: Any, run: Any) -> None:
    clock = FakeClock()
    with LoopbackServer([chat(GOOD, delay=0.6)]) as server:
        connection = opened(server, make_settings, clock, provider={"timeout_s": 0.15}, http_retries=1)
        with pytest.raises(RetryableError, match="timed out") as caught:
            run(ask(connection, make_request()))
    assert (caught.value.reason, caught.value.attempts) == ("timeout", 2)


@pytest.mark.parametrize("status", [400, 404, 405, 413, 422])
def test_a_wrong_request_is_not_tried_again(status: int, make_settings: Any, make_request: Any, run: Any) -> None:
    clock = FakeClock()
    with LoopbackServer([Scripted(status, {"error": {"message": "no such thing"}})]) as server:
        with pytest.raises(RequestRefused, match=f"{status}: no such thing"):
            run(ask(opened(server, make_settings, clock), make_request()))
        assert len(server.requests) == 1
    assert clock.waits == []


def test_tries_end_at_http_retries(make_settings: Any, make_request: Any, run: Any) -> None:
    clock = FakeClock()
    with LoopbackServer([Scripted(500)]) as server:
        with pytest.raises(RetryableError, match="Given up after 3 tries") as caught:
            run(ask(opened(server, make_settings, clock, http_retries=2), make_request()))
        assert len(server.requests) == 3
    assert (caught.value.attempts, clock.waits) == (3, [0.25, 0.5])


def test_case_d11_a_long_wait_is_obeyed(case: Any, make_settings: Any, make_request: Any, run: Any) -> None:
    given = case("G-D11")
    exact = given["right"]["exact"]
    scripted = [
        Scripted(each["status"], each.get("body", {}), each.get("headers", {})) for each in given["input"]["responses"]
    ]
    scripted[1] = chat(given["input"]["responses"][1]["body"])
    clock = FakeClock()
    with LoopbackServer(scripted) as server:
        (reply,) = run(ask(opened(server, make_settings, clock), make_request()))
        assert len(server.requests) == exact["total_http_requests"]
    assert sum(clock.waits) >= exact["second_request_not_before_s"]
    assert reply.text == '{"reason":"ok","score":3}'


def test_a_wait_beyond_the_limit_stops_at_once_and_states_it(make_settings: Any, make_request: Any, run: Any) -> None:
    clock = FakeClock()
    with LoopbackServer([Scripted(429, headers={"retry-after": "3600"})]) as server:
        with pytest.raises(RetryableError, match="wait 3600 s, more than max_wait_s = 300"):
            run(ask(opened(server, make_settings, clock), make_request()))
        assert len(server.requests) == 1
    assert clock.waits == []


def test_waiting_holds_no_place(make_settings: Any, make_request: Any, run: Any) -> None:
    """One place, one item told to wait: the others are served meanwhile."""
    order: list[str] = []
    released = asyncio.Event

    def answer(received: Any) -> Scripted:
        prompt = received.body["messages"][1]["content"]
        order.append("slow" if "slow" in prompt else "quick")
        return Scripted(429, headers={"retry-after": "5"}) if order == ["slow"] else chat(GOOD)

    async def main(server: LoopbackServer) -> None:
        gate = released()

        async def sleep(seconds: float) -> None:
            await gate.wait()

        settings = make_settings(providers={"openai": {"base_url": f"{server.url}/v1"}}, concurrency=1)
        connection = connect("openai/m1", settings, sleep=sleep)
        try:
            slow = asyncio.create_task(connection.complete(make_request("slow")))
            await asyncio.sleep(0.1)
            for _ in range(3):
                await asyncio.wait_for(connection.complete(make_request("quick")), 60)
            gate.set()
            assert (await slow).attempts == 2
        finally:
            await connection.aclose()

    with LoopbackServer(answer) as server:
        run(main(server))
    assert order == ["slow", "quick", "quick", "quick", "slow"]


TERMINAL = [
    Scripted(401, {"error": {"message": "Incorrect API key provided"}}),
    Scripted(402, {"error": {"message": "Payment required"}}),
    Scripted(403, {"error": {"message": "Not allowed"}}),
    refused("You exceeded your current quota", status=429, code="insufficient_quota"),
]


@pytest.mark.parametrize("scripted", TERMINAL, ids=["401", "402", "403", "quota"])
def test_case_d12_permanent_errors_stop_dispatch(
    scripted: Scripted, case: Any, make_settings: Any, make_request: Any, run: Any
) -> None:
    given = case("G-D12")
    clock = FakeClock()
    concurrency = 8

    async def main(server: LoopbackServer) -> list[Any]:
        connection = opened(server, make_settings, clock, concurrency=concurrency)
        work = (connection.complete(make_request(sample=k)) for k in range(given["input"]["items"]))
        try:
            return await asyncio.gather(*work, return_exceptions=True)
        finally:
            await connection.aclose()

    with LoopbackServer([scripted]) as server:
        got = run(main(server))
        assert len(server.requests) <= concurrency
    assert all(isinstance(error, TerminalError) for error in got)
    assert len({str(error) for error in got}) == 1
    assert scripted.body["error"]["message"] in str(got[0])
    assert str(scripted.status) in str(got[0])
    assert clock.waits == []  # retries_for_terminal: 0
    assert got[0].exit_code == 4


def test_an_ordinary_429_is_no_quota(make_settings: Any, make_request: Any, run: Any) -> None:
    clock = FakeClock()
    with LoopbackServer([refused("Rate limit reached", status=429, code="rate_limit_exceeded"), chat(GOOD)]) as server:
        (reply,) = run(ask(opened(server, make_settings, clock), make_request()))
    assert reply.attempts == 2


def test_requests_per_minute_spaces_the_starts(make_settings: Any, make_request: Any, run: Any) -> None:
    clock = FakeClock()
    with LoopbackServer([chat(GOOD)]) as server:
        connection = opened(server, make_settings, clock, provider={"requests_per_minute": 30})
        run(ask(connection, *[make_request()] * 4))
    assert clock.waits == [2.0, 2.0, 2.0]  # 60 s / 30; the first goes at once


def test_pace_counts_from_the_last_start_when_idle() -> None:
    clock = FakeClock()
    pace = Pace(60, clock=clock, sleep=clock.sleep)

    async def main() -> None:
        await pace.turn()
        clock.now += 10
        await pace.turn()

    asyncio.run(main())
    assert clock.waits == []


SCRIPT = """
    import asyncio, sys, tempfile, pathlib
    sys.path.insert(0, {tests!r})
    from loopback import LoopbackServer, chat
    from judge.config import load_settings
    from judge.providers import connect
    from judge.types.request import Request, Subject

    request = Request(system="s", segments=("p",), reply_schema={{}}, subject=Subject(
        trajectory_id="t", rubric="r", criteria={{"c": (1, 5)}}))
    with LoopbackServer([chat("{{}}")]) as server:
        settings = load_settings(
            {{"providers": {{{provider!r}: {{"base_url": server.url + "/v1"}}}}}},
            environment={{"HOME": tempfile.gettempdir()}}, folder=pathlib.Path("/nowhere"))
        connection = connect({judge!r}, settings)
        async def items():
            return await asyncio.gather(*(connection.complete(request) for _ in range(4)))
        done = 0
        for _ in range(2):
            done += len(asyncio.run(items())) == 4     # a loop each, and nobody closes the client
        async def inside():
            return len(await items()) == 4
        done += asyncio.run(inside())
        print("runs_ok", done)
"""


@pytest.mark.parametrize("judge", ["openai/m1", "litellm/openai/m1"])
def test_case_d13_one_connection_in_several_loops_without_warnings(judge: str, case: Any, tmp_path: Path) -> None:
    exact = case("G-D13")["right"]["exact"]
    code = textwrap.dedent(SCRIPT).format(tests=str(TESTS), judge=judge, provider=judge.partition("/")[0])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", code],
        capture_output=True,
        text=True,
        cwd=TESTS.parent,
        timeout=600,
        check=False,
    )
    assert done.stdout.split() == ["runs_ok", str(exact["runs_ok"])], done.stderr
    assert "Warning" not in done.stderr
    assert "Traceback" not in done.stderr
