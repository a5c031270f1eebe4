"""The reply cache: text only, the sample in the key, every setting in the key, damage survived."""

from __future__ import annotations

import os
import pickle
import sqlite3
import statistics
import sys
from pathlib import Path
from typing import Any

import pytest
from loopback import LoopbackServer, Scripted, chat

from judge.config import Settings
from judge.providers import CacheWarning, TextCache, connect
from judge.providers.key import cache_key
from judge.types.request import Reply

GOOD = '{"reason":"ok","evidence":[],"score":%d}'


@pytest.fixture
def cache(tmp_path: Path) -> Any:
    made = TextCache(tmp_path / "replies")
    yield made
    made.close()


def test_what_is_put_comes_back_in_another_process_too(cache: TextCache) -> None:
    cache.put("k", "héllo \U0001f642 \n")
    assert cache.get("k") == "héllo \U0001f642 \n"
    assert cache.get("other") is None
    again = TextCache(cache.directory)
    assert again.get("k") == "héllo \U0001f642 \n"
    again.close()


@pytest.mark.parametrize("value", [b"bytes", 4, None, {"a": 1}, ["x"]])
def test_only_text_is_taken(value: Any, cache: TextCache) -> None:
    with pytest.raises(TypeError, match="text"):
        cache.put("k", value)
    with pytest.raises(TypeError, match="text"):
        cache.put(value, "text")


class Bomb:
    """Sets a mark when it is unpickled."""

    gone_off = False

    def __reduce__(self) -> Any:
        return (setattr, (Bomb, "gone_off", True))


@pytest.mark.parametrize("as_key", [False, True])
def test_a_pickle_in_the_database_is_never_read(as_key: bool, cache: TextCache, tmp_path: Path) -> None:
    cache.put("k", "text")
    bomb = pickle.dumps(Bomb())
    with sqlite3.connect(cache.directory / "cache.db") as database:
        if as_key:
            database.execute("UPDATE Cache SET key = ?, raw = 0", (bomb,))
        else:
            database.execute("UPDATE Cache SET mode = 4, value = ?", (bomb,))
    database.close()
    assert cache.get("k") is None
    assert not Bomb.gone_off
    cache.put("k", "new")
    assert cache.get("k") == "new"


def test_a_row_cannot_name_a_file_to_read(cache: TextCache, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    cache.put("k", "text")
    with sqlite3.connect(cache.directory / "cache.db") as database:
        database.execute("UPDATE Cache SET mode = 3, value = NULL, filename = '../secret'")
    database.close()
    assert cache.get("k") is None


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_the_folder_is_the_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    made = TextCache(tmp_path / "open")
    made.close()
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o700


def test_nothing_is_evicted(cache: TextCache) -> None:
    assert cache._cache.eviction_policy == "none"
    assert cache._cache.size_limit >= 2**62


def test_stats_and_clear(cache: TextCache) -> None:
    for number in range(5):
        cache.put(str(number), "x" * 100)
    assert cache.stats()["entries"] == 5
    assert cache.stats()["bytes"] > 500
    assert cache.clear() == 5
    assert cache.stats()["entries"] == 0


@pytest.mark.parametrize("content", [b"this is no database, " * 300, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_database_is_moved_aside(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_bytes(content)
    with pytest.warns(CacheWarning, match=r"damaged.*cache\.db\.corrupt-1"):
        made = TextCache(tmp_path)
    made.put("k", "text")
    assert made.get("k") == "text"
    made.close()
    assert (tmp_path / "cache.db.corrupt-1").read_bytes() == content


def test_a_read_is_one_statement_and_writes_nothing(cache: TextCache) -> None:
    """So that the calls of a run that are kept cost next to nothing."""
    for number in range(200):
        cache.put(f"key-{number}", "x" * 2000)
    said: list[str] = []
    cache._cache._con.set_trace_callback(said.append)
    assert all(cache.get(f"key-{number}") for number in range(200))
    assert len(said) == 200
    assert {statement.split()[0] for statement in said} == {"SELECT"}


def opened(server: LoopbackServer, make_settings: Any, cache: TextCache, model: str = "m1", **flags: Any) -> Any:
    settings = make_settings(providers={"openai": {"base_url": f"{server.url}/v1"}}, **flags)
    return connect(f"openai/{model}", settings, cache=cache)


async def votes(connection: Any, requests: list[Any]) -> tuple[list[Reply], int]:
    """Replies by the rule of the run: from the cache where kept, else asked and kept; and the calls made."""
    replies = []
    try:
        for request in requests:
            reply = connection.hit(request)
            if reply is None:
                reply = await connection.complete(request)
                connection.keep(request, reply)
            replies.append(reply)
        return replies, connection.requests
    finally:
        await connection.aclose()


def score(reply: Reply) -> int:
    return int((reply.text or "")[-2])


def test_case_d15_samples_are_kept_apart(
    case: Any, cache: TextCache, make_settings: Any, make_request: Any, run: Any
) -> None:
    given = case("G-D15")
    exact = given["right"]["exact"]
    live = [chat(GOOD % value) for value in given["input"]["live_replies_in_order"]]
    samples = [make_request(sample=k) for k in range(5)]
    with LoopbackServer([*live, chat(GOOD % 1)]) as server:
        first, calls_1 = run(votes(opened(server, make_settings, cache), samples[:3]))
        second, calls_2 = run(votes(opened(server, make_settings, cache), samples[:3]))
        _, calls_3 = run(votes(opened(server, make_settings, cache), samples))
    assert ([score(reply) for reply in first], calls_1) == (exact["run_1"]["votes"], exact["run_1"]["calls"])
    assert ([score(reply) for reply in second], calls_2) == (exact["run_2"]["votes"], exact["run_2"]["calls"])
    assert statistics.median(map(score, second)) == exact["run_2"]["median"]
    assert calls_3 == exact["run_3_samples_5"]["calls"]
    assert [reply.cached for reply in second] == [True] * 3
    assert [reply.attempts for reply in second] == [1] * 3  # as they were drawn; `cached` says that they cost nothing
    assert [reply.usage for reply in second] == [reply.usage for reply in first]


def test_case_d16_any_change_of_what_is_sent_is_another_key(case: Any, make_settings: Any, make_request: Any) -> None:
    given = case("G-D16")
    exact = given["right"]["exact"]
    base = given["input"]["base"]

    def key(config: dict[str, Any], **more: Any) -> str:
        settings: Settings = make_settings(providers={"openai": {"base_url": config["base_url"]}})
        request = make_request(
            config["prompt"],
            system=config["system"],
            rubric=config["rubric_text"],
            max_output_tokens=config["max_tokens"],
            versions={"schema": str(config["schema_version"])},
            **more,
        )
        return connect(f"openai/{config['model']}", settings).key(request)

    keys = [key(base)] + [key({**base, **change}) for change in given["input"]["one_change_each"]]
    assert len(set(keys)) == exact["distinct_keys"] == 7
    turned = {name: base[name] for name in reversed(base)}
    schema = make_request().reply_schema
    reordered = {name: schema[name] for name in reversed(schema)}
    assert (key(turned, schema=reordered) == keys[0]) is exact["hit_on_reordered_dict"]
    assert key(base, trajectory_id="renamed") == keys[0]  # a renamed file is the same question


@pytest.mark.parametrize(
    "sampling", [{"temperature": 0.0}, {"top_p": 0.5}, {"seed": 1}, {"reasoning_effort": "low"}, {"logprobs": True}]
)
def test_every_parameter_and_the_sample_are_in_the_key(
    sampling: dict[str, Any], make_settings: Any, make_request: Any
) -> None:
    connection = connect("openai/m1", make_settings())
    assert connection.key(make_request(**sampling)) != connection.key(make_request())
    assert connection.key(make_request(sample=1)) != connection.key(make_request())
    assert connection.key(make_request(attempt=1)) == connection.key(make_request())


def test_a_key_is_the_same_whether_or_not_the_parts_in_common_were_hashed_before(
    make_settings: Any, make_request: Any
) -> None:
    connection = connect("openai/m1", make_settings())
    runs = ["one", 'he said "1e400"\n\\ and 0.00001, NaN, null', "\x00\x1f\x7f \u2028 \U0001f642", ""]
    changes: list[dict[str, Any]] = [
        {},
        {"sample": 1},
        {"temperature": 1e-7},  # a number that the two ways to write JSON write unlike each other
        {"system": "Be brief."},
        {"rubric": "Be kind."},
        {"versions": {"parser": "2"}},
        {"schema": {"type": "object", "properties": {"score": {"type": "number", "minimum": 1e-9}}}},
    ]
    requests = [make_request(run, **change) for change in changes for run in runs]
    for request in [*requests, *reversed(requests)]:
        assert connection.key(request) == cache_key(connection.payload, request)
    assert len({connection.key(request) for request in requests}) == len(requests)


def test_a_small_model_has_the_steps_of_the_run_in_its_key(make_settings: Any, make_request: Any) -> None:
    connection = connect("openai/m1", make_settings(models={"openai/m1": {"small": True}}))
    request = make_request()
    other = request.model_copy(update={"subject": request.subject.model_copy(update={"steps": (1, 2, 3)})})
    assert connection.key(other) == cache_key(connection.payload, other) != connection.key(request)


def test_the_order_of_properties_is_part_of_what_is_sent(make_settings: Any, make_request: Any) -> None:
    """Canonical JSON sorts keys, so a schema that asks for the score first needs a version of its own."""
    connection = connect("openai/m1", make_settings())
    assert connection.key(make_request(versions={"template": "2"})) != connection.key(make_request())


def test_case_d17_a_failed_reply_is_not_kept_and_the_retry_bypasses_the_cache(
    case: Any, cache: TextCache, make_settings: Any, make_request: Any, run: Any
) -> None:
    given = case("G-D17")
    exact = given["right"]["exact"]
    call_1, call_2 = given["input"]["call_1"], given["input"]["call_2"]

    async def vote(connection: Any) -> Reply:
        try:
            first = connection.hit(make_request())
            assert first is None
            first = await connection.complete(make_request())
            assert first.status == "content_filter"  # no valid vote: not kept
            again = make_request(attempt=1)
            assert connection.hit(again) is None
            reply: Reply = await connection.complete(again)
            connection.keep(again, reply)
            return reply
        finally:
            await connection.aclose()

    with LoopbackServer([chat(call_1["content"], finish=call_1["finish_reason"]), chat(call_2["content"])]) as server:
        connection = opened(server, make_settings, cache)
        reply = run(vote(connection))
        assert len(server.requests) == exact["calls"]
        kept = connection.hit(make_request())
    assert score(reply) == exact["score"]
    assert cache.stats()["entries"] == exact["cache_entries"]
    assert kept is not None
    assert kept.text == call_2["content"]


def test_a_retry_never_reads_even_what_is_there(cache: TextCache, make_settings: Any, make_request: Any) -> None:
    with LoopbackServer([Scripted()]) as server:
        connection = opened(server, make_settings, cache)
        connection.keep(make_request(), Reply(text="{}"))
        assert connection.hit(make_request()) is not None
        assert connection.hit(make_request(attempt=1)) is None


def test_a_reply_is_kept_under_its_own_key_however_many_others_were_missed(
    cache: TextCache, make_settings: Any, make_request: Any
) -> None:
    settings = make_settings(concurrency=2)
    connection = connect("openai/m1", settings, cache=cache)
    requests = [make_request(f"run {number}") for number in range(20)]
    assert [connection.hit(request) for request in requests] == [None] * 20
    for number, request in enumerate(requests):
        connection.keep(request, Reply(text=f"reply {number}"))
    again = connect("openai/m1", settings, cache=cache)
    found = [again.hit(make_request(f"run {number}")) for number in range(20)]
    assert [reply.text if reply else None for reply in found] == [f"reply {number}" for number in range(20)]


def test_an_entry_of_another_form_is_a_miss(cache: TextCache, make_settings: Any, make_request: Any) -> None:
    connection = connect("openai/m1", make_settings(), cache=cache)
    cache.put(connection.key(make_request()), '{"text": "x", "no_such_field": 1}')
    assert connection.hit(make_request()) is None


def test_the_cache_can_be_turned_off(cache: TextCache, make_settings: Any, make_request: Any) -> None:
    connection = connect("openai/m1", make_settings(cache=False), cache=cache)
    connection.keep(make_request(), Reply(text="{}"))
    assert cache.stats()["entries"] == 0


def test_no_key_holds_a_secret_or_changes_with_it(make_settings: Any, make_request: Any) -> None:
    url = "https://user:pw-LEAK@host.example/v1?api_key=LEAK2"
    plain, secret = (
        connect("openai/m1", make_settings({"OPENAI_API_KEY": key}, providers={"openai": {"base_url": where}}))
        for key, where in (("sk-one-1234567", "https://host.example/v1"), ("sk-two-1234567", url))
    )
    assert plain.payload(make_request()) == secret.payload(make_request())
    assert "LEAK" not in str(secret.payload(make_request()))


@pytest.mark.skipif(sys.platform == "win32", reason="a folder without write permission is POSIX")
def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    from judge.errors import ConfigError

    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"cache folder.*JUDGE_CACHE_DIR"):
        TextCache(tmp_path / "file" / "inside")
