"""Every HTTP session that a connection opens is closed with it: cancelled, dropped, or used in several loops."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import queue
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
from loopback import LoopbackServer, Scripted, chat

from judge.config import keep_litellm_offline
from judge.providers import connect
from judge.providers.limits import PerLoop

GOOD = '{"reason":"ok","evidence":[],"score":4}'
JUDGES = ["openai/m1", "litellm/openai/m1"]


def at(server: LoopbackServer, make_settings: Any, judge: str = "litellm/openai/m1", **provider: Any) -> Any:
    here = {"base_url": f"{server.url}/v1", **provider}
    return make_settings(providers={judge.partition("/")[0]: here}, http_retries=0)


def open_sessions() -> list[aiohttp.ClientSession]:
    return [each for each in gc.get_objects() if isinstance(each, aiohttp.ClientSession) and not each.closed]


@pytest.fixture(autouse=True)
def _no_session_stays() -> Iterator[None]:
    keep_litellm_offline()
    gc.collect()
    before = {id(session) for session in open_sessions()}
    yield
    assert [session for session in open_sessions() if id(session) not in before] == []


@contextlib.contextmanager
def loop_elsewhere() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that runs in another thread."""
    loops: queue.Queue[asyncio.AbstractEventLoop] = queue.Queue()
    end = asyncio.Event()

    async def stay() -> None:
        loops.put(asyncio.get_running_loop())
        await end.wait()

    thread = threading.Thread(target=lambda: asyncio.run(stay()))
    thread.start()
    loop = loops.get()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join()


@pytest.mark.parametrize("judge", JUDGES)
def test_a_connection_that_is_dropped_is_closed_by_its_loop_and_not_by_the_collector(
    judge: str, make_settings: Any, make_request: Any
) -> None:
    async def story() -> list[str]:
        connection = connect(judge, at(server, make_settings, judge))
        await connection.complete(make_request())
        assert len(open_sessions()) == 1
        del connection
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            gc.collect()  # in the loop's own thread: it cannot close anything before the collector is done
            await asyncio.sleep(0.05)
        assert open_sessions() == []
        return [str(each.message) for each in told if "Unclosed" in str(each.message)]

    with LoopbackServer([chat(GOOD)]) as server:
        assert asyncio.run(story()) == []


@pytest.mark.parametrize("judge", JUDGES)
def test_what_was_opened_in_the_loop_of_another_thread_is_closed_too(
    judge: str, make_settings: Any, make_request: Any
) -> None:
    with LoopbackServer([chat(GOOD)]) as server, loop_elsewhere() as loop:
        connection = connect(judge, at(server, make_settings, judge))
        asyncio.run_coroutine_threadsafe(connection.complete(make_request()), loop).result(30)
        assert len(open_sessions()) == 1
        asyncio.run(connection.aclose())
        assert open_sessions() == []


@pytest.mark.parametrize("judge", JUDGES)
def test_a_canceled_call_and_one_that_is_closed_under_way_leave_nothing_open(
    judge: str, make_settings: Any, make_request: Any
) -> None:
    async def story(close_first: bool) -> None:
        connection = connect(judge, at(server, make_settings, judge))
        call = asyncio.create_task(connection.complete(make_request()))
        while not server.requests:
            await asyncio.sleep(0.01)
        if close_first:
            await connection.aclose()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await connection.aclose()
        assert open_sessions() == []

    for close_first in (False, True):
        with LoopbackServer([chat(GOOD, delay=0.5)]) as server:
            asyncio.run(story(close_first))


@pytest.mark.parametrize("judge", JUDGES)
def test_failed_calls_leave_nothing_open(judge: str, make_settings: Any, make_request: Any) -> None:
    async def story(settings: Any) -> None:
        connection = connect(judge, settings)
        with contextlib.suppress(Exception):
            await connection.complete(make_request())
        await connection.aclose()
        assert open_sessions() == []

    with LoopbackServer([Scripted(reset=True)]) as server:
        asyncio.run(story(at(server, make_settings, judge)))
    asyncio.run(story(at(server, make_settings, judge)))  # nobody listens there any more
    with LoopbackServer([chat(GOOD, delay=0.5)]) as server:
        asyncio.run(story(at(server, make_settings, judge, timeout_s=0.1)))


def test_a_client_that_litellm_has_dropped_is_closed_with_its_connection(make_settings: Any, make_request: Any) -> None:
    import litellm

    async def story() -> None:
        connection = connect("litellm/openai/m1", at(server, make_settings))
        await connection.complete(make_request())
        litellm.in_memory_llm_clients_cache.flush_cache()  # as after an hour, or with 200 newer clients
        await connection.complete(make_request())
        await connection.aclose()
        assert open_sessions() == []

    with LoopbackServer([chat(GOOD)]) as server:
        asyncio.run(story())


def test_the_litellm_clients_of_another_connection_and_of_the_user_stay_open(
    make_settings: Any, make_request: Any
) -> None:
    """The same server, key and timeout: by litellm's own cache all of these calls would share one client."""
    import litellm

    async def own_call() -> str:
        said = {"role": "user", "content": "hello"}
        got = await litellm.acompletion(
            "openai/m1", [said], api_base=f"{server.url}/v1", api_key="none", timeout=30.0, max_retries=0
        )
        return str(got.choices[0].message.content)

    async def story() -> None:
        settings = at(server, make_settings, timeout_s=30.0)
        await own_call()
        users = set(open_sessions())
        first, second = connect("litellm/openai/m1", settings), connect("litellm/openai/m1", settings)
        await first.complete(make_request())
        await second.complete(make_request())
        under_way = [asyncio.create_task(own_call()), asyncio.create_task(second.complete(make_request()))]
        while len(server.requests) < 5:
            await asyncio.sleep(0.01)
        await first.aclose()
        assert (await under_way[0], (await under_way[1]).text) == (GOOD, GOOD)
        await second.aclose()
        assert set(open_sessions()) == users
        assert await own_call() == GOOD
        for session in users:
            await session.close()

    with LoopbackServer([chat(GOOD), chat(GOOD), chat(GOOD), chat(GOOD, delay=0.3)]) as server:
        asyncio.run(story())


def test_the_clients_that_the_whole_process_shares_outlive_a_connection() -> None:
    """Who closed litellm's module-level client, or that of a logging callback, would break every later use of it."""
    import litellm
    from litellm.llms.custom_httpx.http_handler import get_async_httpx_client
    from litellm.types.llms.custom_http import httpxSpecialProvider

    from judge.providers.litellm_clients import Clients, split_cache

    async def story() -> None:
        split_cache(litellm)
        clients = Clients()
        async with clients.lent():
            own = get_async_httpx_client("gemini", {"timeout": 7.0})
            again = get_async_httpx_client("gemini", {"timeout": 7.0})
            shared = [
                get_async_httpx_client(name, {"timeout": 7.0})
                for name in ("litellm_module_level_client", httpxSpecialProvider.LoggingCallback)
            ]
            assert own is again
            await clients.aclose()
            assert not own.client.is_closed  # litellm opens it anew for a call under way
        users = get_async_httpx_client("gemini", {"timeout": 7.0})
        assert users is not own
        assert [each._client.is_closed for each in (own, users, *shared)] == [True, False, False, False]
        for each in (users, *shared):
            await each.close()

    asyncio.run(story())


def test_the_client_that_a_user_gave_litellm_stays_open(
    make_settings: Any, make_request: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx2
    import litellm

    async def story() -> None:
        async with httpx2.AsyncClient() as given:
            monkeypatch.setattr(litellm, "aclient_session", given)
            connection = connect("litellm/openai/m1", at(server, make_settings))
            assert (await connection.complete(make_request())).text == GOOD
            await connection.aclose()
            assert not given.is_closed

    with LoopbackServer([chat(GOOD)]) as server:
        asyncio.run(story())


def test_all_is_closed_where_closing_is_canceled_or_fails() -> None:
    from judge.providers.litellm_clients import Clients

    closed = []

    class Client:
        def __init__(self, name: str, ends: BaseException | None = None) -> None:
            self.name = name
            self.ends = ends

        async def close(self) -> None:
            closed.append(self.name)
            if self.ends is not None:
                raise self.ends

    async def story() -> None:
        clients = PerLoop(Clients, Clients.aclose)
        held = await clients.get()
        held.put("a", Client("first"))
        held.put("a", Client("second", asyncio.CancelledError()))
        held.put("b", Client("third", OSError("gone")))
        with contextlib.suppress(asyncio.CancelledError):
            await clients.aclose()
        assert held.get("a") is None

    asyncio.run(story())
    assert sorted(closed) == ["first", "second", "third"]


def test_a_loop_that_has_ended_is_forgotten() -> None:
    made: list[object] = []

    async def close(held: object) -> None:
        made.remove(held)

    def make() -> object:
        made.append(object())
        return made[-1]

    held = PerLoop(make, close)

    async def story() -> bool:
        return await held.get() is await held.get()

    assert [asyncio.run(story()) for _ in range(3)] == [True] * 3
    assert made == []
    assert len(held._held) == 0
