"""Replies in a real Redis: keys and texts of the folder, one call for all processes, no harm where it is away."""

from __future__ import annotations

import asyncio
import json
import pickle
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from loopback import LoopbackServer, chat
from redis_server import RedisServer

from judge.cli.main import run as command
from judge.errors import ConfigError, MissingExtra
from judge.protocols import Cache, SharedCache
from judge.providers import CacheWarning, TextCache, connect, redis_cache
from judge.providers.caches import open_cache
from judge.providers.claims import claimed
from judge.providers.redis_cache import CALL, REPLY, RedisCache, new_token
from judge.types.request import Reply

PASSWORD = "pw-LEAK/7#"
QUOTED = "pw-LEAK%2F7%23"
GOOD = '{"reason":"ok","evidence":[],"score":4}'


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as running:
        yield running


@pytest.fixture
def raw(server: RedisServer) -> Iterator[Any]:
    """The server as another client sees it, empty at first."""
    client = redis.Redis.from_url(server.url)
    client.flushall()
    yield client
    client.close()


@pytest.fixture
def cache(server: RedisServer, raw: Any) -> Iterator[RedisCache]:
    made = RedisCache(server.url, server.address)
    yield made
    made.close()


def test_what_is_put_comes_back_to_another_process(server: RedisServer, cache: RedisCache) -> None:
    cache.put("k", "héllo \U0001f642 \n")
    other = RedisCache(server.url, server.address)
    assert other.get("k") == "héllo \U0001f642 \n"
    assert other.get("other") is None
    other.close()


@pytest.mark.parametrize("value", [b"bytes", 4, None, {"a": 1}, ["x"]])
def test_only_text_is_taken(value: Any, cache: RedisCache) -> None:
    with pytest.raises(TypeError, match="text"):
        cache.put("k", value)
    with pytest.raises(TypeError, match="text"):
        cache.put(value, "text")


def test_both_caches_are_caches_and_one_is_shared(cache: RedisCache, tmp_path: Any) -> None:
    folder: Cache = TextCache(tmp_path)
    assert isinstance(cache, SharedCache)
    assert not isinstance(folder, SharedCache)
    folder.close()


def test_keys_and_texts_are_those_of_the_folder(
    cache: RedisCache, raw: Any, tmp_path: Any, make_settings: Any, make_request: Any
) -> None:
    folder = TextCache(tmp_path / "replies")
    for kept in (cache, folder):
        connection = connect("openai/m1", make_settings(), cache=kept)
        connection.keep(make_request(), Reply(text=GOOD))
        key = connection.key(make_request())
    assert raw.keys() == [f"{REPLY}{key}".encode()]
    assert cache.get(key) == folder.get(key) == Reply(text=GOOD).model_dump_json(exclude_none=True)
    folder.close()


def test_three_samples_are_three_entries(cache: RedisCache, make_settings: Any, make_request: Any) -> None:
    connection = connect("openai/m1", make_settings(), cache=cache)
    for sample in range(3):
        connection.keep(make_request(sample=sample), Reply(text=GOOD.replace("4", str(sample + 1))))
    assert cache.stats()["entries"] == 3
    assert [connection.hit(make_request(sample=k)).text[-2] for k in range(3)] == ["1", "2", "3"]  # type: ignore[union-attr,index]
    assert connection.hit(make_request(sample=3)) is None
    assert connection.hit(make_request(sample=0, attempt=1)) is None  # a retry never reads


@pytest.mark.parametrize(
    "foreign",
    [b"\xff\xfe", pickle.dumps({"text": GOOD}), b"", b"{", b'{"text": "x", "no_such_field": 1}', ["a list"]],
    ids=["no text", "a pickle", "nothing", "half a JSON", "another form", "a list"],
)
def test_a_corrupt_or_foreign_value_is_a_miss_and_is_written_over(
    foreign: Any, cache: RedisCache, raw: Any, make_settings: Any, make_request: Any
) -> None:
    connection = connect("openai/m1", make_settings(), cache=cache)
    name = REPLY + connection.key(make_request())
    if isinstance(foreign, list):
        raw.rpush(name, *foreign)
    else:
        raw.set(name, foreign)
    assert connection.hit(make_request()) is None
    connection.keep(make_request(), Reply(text=GOOD))
    assert connection.hit(make_request()).text == GOOD  # type: ignore[union-attr]
    assert cache.failures == 0


def test_a_reply_expires_only_where_days_are_given(server: RedisServer, cache: RedisCache, raw: Any) -> None:
    cache.put("ever", "text")
    brief = RedisCache(server.url, server.address, days=0.5)
    brief.put("brief", "text")
    brief.close()
    assert raw.ttl(f"{REPLY}ever") == -1
    assert 43_190 <= raw.ttl(f"{REPLY}brief") <= 43_200  # half a day in seconds


def test_stats_and_clear_touch_nothing_of_others(cache: RedisCache, raw: Any) -> None:
    raw.set("theirs", "x" * 1000)
    for number in range(1200):  # more than one page of a scan
        cache.put(str(number), "x" * 10)
    assert cache.stats() == {"path": cache.address, "entries": 1200, "bytes": 12_000}
    assert cache.clear() == 1200
    assert cache.stats()["entries"] == 0
    assert raw.get("theirs") == b"x" * 1000


# -- one call for equal requests ------------------------------------------------------------------------------------


def test_a_claim_is_one_processes_until_it_is_released(cache: RedisCache) -> None:
    mine = cache.claim("k", "mine")
    assert mine is not None
    assert cache.claim("k", "theirs") is None
    assert cache.claim("other", "theirs") is not None
    assert cache.claim("k", "mine") is not None  # a request that was sent twice does not lock its own sender out
    mine.release()
    assert cache.claim("k", "theirs") is not None


def test_who_was_overtaken_neither_releases_nor_renews_another_ones_claim(cache: RedisCache, raw: Any) -> None:
    lost = cache.claim("k", "lost")
    raw.delete(f"{CALL}k")  # it expired, or was evicted
    assert cache.claim("k", "next") is not None
    assert lost is not None
    before = raw.pttl(f"{CALL}k")
    lost.renew()
    lost.release()
    assert raw.get(f"{CALL}k") == b"next"
    assert raw.pttl(f"{CALL}k") <= before
    cache.put("k", "the reply of who was overtaken")  # paid for, and kept
    assert cache.get("k") == "the reply of who was overtaken"


@pytest.mark.parametrize("expiry_s", [None, 3600])
def test_a_lock_that_is_not_of_our_making_holds_nobody_up(expiry_s: int | None, cache: RedisCache, raw: Any) -> None:
    raw.set(f"{CALL}k", "set by hand", ex=expiry_s)
    assert cache.claim("k", "mine") is not None
    assert raw.get(f"{CALL}k") == b"mine"


def short(server: RedisServer, lease_s: float) -> RedisCache:
    return RedisCache(server.url, server.address, lease_s=lease_s)


async def ask(cache: RedisCache, work: list[str], name: str, *, seconds: float, keeps: bool = True) -> None:
    """What a process does for one reply: waits for its turn, looks, asks, keeps."""
    async with claimed(cache, "k", lambda: cache.get("k") is not None, sleep=asyncio.sleep, draw=lambda: 0.5):
        if cache.get("k") is not None:
            return
        work.append(name)
        await asyncio.sleep(seconds)
        if keeps:
            cache.put("k", name)


def test_who_waits_takes_the_reply(server: RedisServer, cache: RedisCache, raw: Any, run: Any) -> None:
    others = [short(server, 30.0) for _ in range(5)]
    work: list[str] = []

    async def together() -> None:
        await asyncio.gather(*(ask(each, work, f"p{n}", seconds=0.2) for n, each in enumerate(others)))

    run(together())
    assert work == ["p0"]
    assert not raw.exists(f"{CALL}k")
    for each in others:
        each.close()


def test_a_failed_call_lets_the_next_one_try(server: RedisServer, cache: RedisCache, run: Any) -> None:
    work: list[str] = []

    async def together() -> None:
        await asyncio.gather(
            ask(cache, work, "fails", seconds=0.1, keeps=False), ask(cache, work, "answers", seconds=0.0)
        )

    run(together())
    assert work == ["fails", "answers"]
    assert cache.get("k") == "answers"


def test_a_call_longer_than_the_lease_keeps_its_claim(server: RedisServer, raw: Any, run: Any) -> None:
    """Renewed at a third of the lease: only a loop that stands still for two thirds of it would lose the claim."""
    first, second = short(server, 4.0), short(server, 4.0)
    work: list[str] = []

    async def together() -> None:
        await asyncio.gather(ask(first, work, "long", seconds=5.0), ask(second, work, "waits", seconds=0.0))

    run(together())
    assert work == ["long"]
    first.close()
    second.close()


def test_a_process_that_died_is_overtaken_when_its_claim_expires(server: RedisServer, raw: Any, run: Any) -> None:
    cache = short(server, 0.5)
    work: list[str] = []
    begun = time.monotonic()
    assert cache.claim("k", "dead") is not None
    run(ask(cache, work, "heir", seconds=0.0))
    assert time.monotonic() - begun >= 0.49
    assert work == ["heir"]
    cache.close()


def test_a_wait_that_is_cancelled_leaves_no_claim(server: RedisServer, cache: RedisCache, raw: Any, run: Any) -> None:
    async def cancelled() -> None:
        task = asyncio.create_task(ask(cache, [], "p", seconds=60))
        await asyncio.sleep(0.05)
        assert raw.exists(f"{CALL}k")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(cancelled())
    assert not raw.exists(f"{CALL}k")


# -- where Redis is away --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["closed port", "wrong password", "no password"])
def test_a_run_refuses_to_begin_without_its_cache(how: str, make_settings: Any) -> None:
    with RedisServer("right-password") as running:
        address = "redis://127.0.0.1:1/0" if how == "closed port" else running.address
        url = address if how == "no password" else address.replace("//", f"//:{QUOTED}@")
        with pytest.raises(ConfigError) as caught:
            open_cache(make_settings(cache=url))
        message = str(caught.value)
        assert address in message
        assert "LEAK" not in message
        assert "--cache-optional" in message
        with pytest.warns(CacheWarning, match="goes on without it") as warned:
            cache = open_cache(make_settings(cache=url, cache_optional=True))
    assert isinstance(cache, RedisCache)
    assert "LEAK" not in str(warned[0].message)
    assert cache.get("k") is None
    cache.put("k", "text")
    assert cache.claim("k", new_token()) is not None  # nobody waits for a server that is away
    assert cache.failures == 2  # a read and a write
    cache.close()


@pytest.mark.parametrize("query", ["?no_such_option=LEAK", "?protocol=LEAK"])
def test_a_wrong_option_in_the_address_is_named_without_its_value(query: str, server: RedisServer) -> None:
    with pytest.raises(ConfigError, match="a setting in its URL is wrong") as caught:
        RedisCache(server.url + query, server.address)
    assert "LEAK" not in str(caught.value)


def test_it_warns_once_counts_and_comes_back(server: RedisServer, raw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(redis_cache, "TIMEOUT_S", 1.0)
    cache = RedisCache(server.url, server.address, clock=lambda: now[0])
    cache.put("k", "text")
    asked: list[Any] = []
    execute = cache._server.execute_command
    cache._server.execute_command = lambda *given, **options: asked.append(given) or execute(*given, **options)
    server.stop_answering()
    try:
        with pytest.warns(CacheWarning, match="failed while reading"):
            assert cache.get("k") is None
        for _ in range(100):
            assert cache.get("k") is None  # pytest makes a second warning an error
        cache.put("k", "lost")
        assert len(asked) == 1  # it is not asked while it is away
        assert cache.failures == 102
        now[0] += redis_cache.AWAY_S
        assert cache.get("k") is None  # asked again, in vain
        now[0] += redis_cache.AWAY_S  # too early: in vain twice, so twice as long
        assert cache.get("k") is None
        assert len(asked) == 2
    finally:
        server.answer_again()
    now[0] += redis_cache.AWAY_S
    assert cache.get("k") == "text"
    assert cache.failures == 104
    cache.close()


def test_a_server_that_takes_no_more_is_still_read(raw: Any, server: RedisServer, cache: RedisCache) -> None:
    cache.put("k", "text")
    raw.config_set("maxmemory", "1")  # with the policy noeviction
    try:
        with pytest.warns(CacheWarning, match="failed while writing"):
            cache.put("new", "text")
        assert cache.get("k") == "text"
        assert cache.claim("new", new_token()) is not None
        assert cache.failures == 1
    finally:
        raw.config_set("maxmemory", "0")


def test_without_the_package_the_extra_is_named(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(MissingExtra, match=r'pip install "trajudge\[redis\]"'):
        RedisCache(server.url, server.address)


# -- settings and commands ------------------------------------------------------------------------------------------


def test_the_password_is_in_no_dump_and_reaches_the_server(make_settings: Any) -> None:
    with RedisServer(PASSWORD) as running:
        url = running.address.replace("//", f"//:{QUOTED}@")
        settings = make_settings({"JUDGE_CACHE": url})
        cache = open_cache(pickle.loads(pickle.dumps(settings)))  # as workers get it
        assert isinstance(cache, RedisCache)
        cache.put("k", "text")
        assert cache.get("k") == "text"
        assert settings.cache == running.address == cache.address
        for shown in (repr(settings), settings.model_dump_json(), str(settings.to_json()), repr(cache)):
            assert "LEAK" not in shown
        assert {PASSWORD, QUOTED} <= set(settings.secrets())
        cache.close()


@pytest.mark.parametrize(
    "wrong", ["on", "http://u:LEAK@h/0", "redis://", "redis://:LEAK/7@h/0", "redis://h:99999/0", "memcached://LEAK"]
)
def test_an_address_of_another_form_is_refused_unseen(wrong: str, make_settings: Any) -> None:
    with pytest.raises(ConfigError, match="cache") as caught:
        make_settings(cache=wrong)
    assert "LEAK" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("true", True),
        ("false", False),
        ("rediss://u:p@h:6380/2?ssl_cert_reqs=none", "rediss://h:6380/2"),
        ("redis://[::1]:7", "redis://[::1]:7"),
        ("unix:///run/redis.sock?db=3", "unix:///run/redis.sock"),
    ],
)
def test_what_the_environment_may_say(given: str, shown: bool | str, make_settings: Any) -> None:
    settings = make_settings({"JUDGE_CACHE": given})
    assert settings.cache == shown
    assert settings.cache_url() == (given if isinstance(shown, str) else None)


def test_options_of_a_call_bring_their_own_address_and_password(make_settings: Any) -> None:
    from judge.engine.facade import settings_of

    settings = make_settings(cache="redis://:old@h:1/0")
    assert settings_of(settings, {"cache": "redis://:new@h:2/0"}).cache_url() == "redis://:new@h:2/0"
    assert settings_of(settings, {"cache": "redis://h:1/1"}).cache_url() == "redis://h:1/1"  # not the old password
    assert settings_of(settings, {"cache": False}).cache_url() is None


def test_the_commands_show_and_clear_it(
    server: RedisServer, cache: RedisCache, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.put("k", "text")
    assert command(["cache", "stats", "--cache", server.url]) == 0
    assert f"{server.address}: 1 replies" in capsys.readouterr().out
    assert command(["cache", "clear", "--yes", "--json", "--cache", server.url]) == 0
    assert capsys.readouterr().out.strip() == '{\n  "dropped": 1\n}'
    assert cache.get("k") is None
    assert command(["cache", "stats", "--cache", f"redis://:{QUOTED}@127.0.0.1:1/0"]) == 2
    said = capsys.readouterr().err
    assert "redis://127.0.0.1:1/0 does not answer" in said
    assert "LEAK" not in said
    assert command(["score", "no-file", "--cache", server.url, "--no-cache"]) == 2
    assert "--cache beside --no-cache" in capsys.readouterr().err


def test_the_command_line_refuses_or_goes_without_as_it_is_told(
    tmp_path: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = {"schema": "judge.trajectory/1", "id": "a", "source": {"format": "native"}}
    run["steps"] = [{"index": 1, "kind": "final", "text": "done"}]
    (tmp_path / "in.json").write_text(json.dumps(run), encoding="utf-8")
    monkeypatch.setenv("JUDGE_CACHE", f"redis://:{QUOTED}@127.0.0.1:1/0")
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps({"default": 3, "cache": True}), encoding="utf-8")
    arguments = ["score", str(tmp_path / "in.json"), "--judge", f"fake/{kept}", "--json"]
    assert command(arguments) == 2
    said = json.loads(capsys.readouterr().err)["error"]
    assert said["kind"] == "config_error"
    assert "redis://127.0.0.1:1/0 does not answer" in said["message"]
    assert "--cache-optional" in said["hint"]
    assert "LEAK" not in str(said)
    with pytest.warns(CacheWarning, match="goes on without it"):
        assert command([*arguments, "--cache-optional"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["scored"] == 1
    for judge in ("rules/process", "fake/always-3"):  # which keep nothing there
        with pytest.warns(CacheWarning, match=f"127.0.0.1:1/0 does not answer.*{judge} .*keeps nothing there"):
            assert command([*arguments[:3], judge, "--json"]) == 0
        assert "LEAK" not in capsys.readouterr().err


def test_a_judge_behind_it_asks_once_and_then_reads(
    server: RedisServer, cache: RedisCache, make_settings: Any, make_request: Any, run: Any
) -> None:
    async def twice(url: str) -> list[Reply]:
        settings = make_settings(providers={"openai": {"base_url": f"{url}/v1"}})
        replies = []
        for _ in range(2):
            connection = connect("openai/m1", settings, cache=cache)
            try:
                async with connection.alone(make_request()) as again:
                    assert again
                    reply = connection.hit(make_request()) or await connection.complete(make_request())
                    connection.keep(make_request(), reply)
                    replies.append(reply)
            finally:
                await connection.aclose()
        return replies

    with LoopbackServer([chat(GOOD)]) as judge:
        first, second = run(twice(judge.url))
        assert len(judge.requests) == 1
    assert (first.cached, second.cached) == (False, True)
    assert first.text == second.text == GOOD
