"""Processes that share a Redis: each reply is paid for once, in plain text and over TLS."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import LoopbackServer, Received, Scripted, chat
from redis import Redis
from redis_server import RedisServer

from judge.cli.main import run as command
from judge.errors import ConfigError
from judge.providers import CacheWarning
from judge.providers.caches import open_cache
from judge.providers.redis_cache import RedisCache

ROOT = Path(__file__).resolve().parents[2]
ITEMS, SAMPLES = 6, 3
PASSWORD = "pw-LEAK-99"


def write_traces(path: Path) -> Path:
    lines = [
        {"schema": "judge.trajectory/1", "id": f"item-{n}", "source": {"format": "native"},
         "steps": [{"index": 1, "kind": "final", "text": f"the answer of item-{n}"}]}
        for n in range(ITEMS)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def score(traces: Path, work: Path, judge: str, cache: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "judge.cli.main", "score", str(traces), "--rubric", "process", "--json"]
    command += ["--judge", "openai/m1", "--base-url", f"{judge}/v1", "--samples", str(SAMPLES)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(work), "JUDGE_CACHE": cache}
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=work, env=environment
    )


def test_two_processes_pay_once_for_each_sample(tmp_path: Path) -> None:
    """6 items of 3 samples are 18 calls, however many processes judge them at the same moment.

    Nothing is answered before both processes are connected to Redis and have had a second to ask for what is claimed.
    """
    asked: Counter[str] = Counter()
    counting = threading.Lock()
    redis = RedisServer(PASSWORD)

    def answer(received: Received) -> Scripted:
        end = time.monotonic() + 60
        with contextlib.closing(Redis.from_url(redis.url, client_name="watcher")) as watcher:
            while sum(client["name"] != "watcher" for client in watcher.client_list()) < 2 and time.monotonic() < end:
                time.sleep(0.05)
        time.sleep(1)
        text = received.body["messages"][1]["content"]
        with counting:
            asked[next(f"item-{n}" for n in range(ITEMS) if f"item-{n}" in text)] += 1
        reply = {"reason": "fine", "evidence": [{"step": 1, "quote": "the answer of"}], "score": 4}
        return chat(json.dumps(reply))

    traces = write_traces(tmp_path / "in.jsonl")
    with redis, LoopbackServer(answer) as judge:
        works = [tmp_path / name for name in ("one", "two")]
        for work in works:
            work.mkdir()
        running = [score(traces, work, f"{judge.url}", redis.url) for work in works]
        ended = [process.communicate(timeout=600) for process in running]
        cache = RedisCache(redis.url, redis.address)
        entries = cache.stats()["entries"]
        cache.close()
    assert [process.returncode for process in running] == [0, 0], ended
    summaries = [json.loads(out)["summary"] for out, _ in ended]
    assert [summary["scored"] for summary in summaries] == [ITEMS, ITEMS]
    assert asked == dict.fromkeys((f"item-{n}" for n in range(ITEMS)), SAMPLES)
    assert sum(summary["calls"] for summary in summaries) == ITEMS * SAMPLES
    assert sum(summary["cached"] for summary in summaries) == ITEMS * SAMPLES
    assert [summary["cache_failures"] for summary in summaries] == [0, 0]
    assert entries == ITEMS * SAMPLES
    assert all("LEAK" not in out + err for out, err in ended)


def test_the_summary_counts_what_a_cache_that_died_did_not_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    redis, asked = RedisServer(PASSWORD), []

    def answer(received: Received) -> Scripted:
        asked.append(received)
        if len(asked) == 2:
            redis.kill()
        reply = {"reason": "fine", "evidence": [{"step": 1, "quote": "the answer of"}], "score": 4}
        return chat(json.dumps(reply))

    monkeypatch.chdir(tmp_path)
    arguments = ["score", str(write_traces(tmp_path / "in.jsonl")), "--judge", "openai/m1", "-n", "1", "-c", "1"]
    with redis, LoopbackServer(answer) as judge:
        monkeypatch.setenv("JUDGE_CACHE", redis.url)
        with pytest.warns(CacheWarning, match="failed while"):
            assert command([*arguments, "--base-url", f"{judge.url}/v1"]) == 0
    told = capsys.readouterr()
    assert len(asked) == ITEMS
    assert f"{ITEMS} of {ITEMS} scored, mean 4 of 1-5" in told.out
    assert re.search(r"the cache failed: \d+ reads and writes not done", told.out)
    assert "LEAK" not in told.out + told.err


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of 127.0.0.1 that it signed itself, with its key, in one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = tmp_path / "server.pem"
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


@contextlib.contextmanager
def tls_front(certificate: Path, port: int) -> Iterator[int]:
    """A port that takes TLS and passes what is in it on to `port`; the server build of the tests speaks none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                client = context.wrap_socket(client, server_side=True)
            except (ssl.SSLError, OSError):
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", port))
            back = threading.Thread(target=pump, args=(server, client), daemon=True)
            back.start()
            pump(client, server)
            back.join(timeout=60)
            client.close()
            server.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(timeout=60)


def test_a_cache_over_tls(certificate: Path, make_settings: Any) -> None:
    with RedisServer(PASSWORD) as redis, tls_front(certificate, redis.port) as port:
        address = f"rediss://127.0.0.1:{port}/0"
        url = address.replace("//", f"//:{PASSWORD}@")
        cache = open_cache(make_settings(cache=f"{url}?ssl_ca_certs={certificate}"))
        assert isinstance(cache, RedisCache)
        cache.put("k", "text")
        assert cache.get("k") == "text"
        assert cache.address == address
        cache.close()
        with pytest.raises(ConfigError, match="certificate verify failed") as caught:  # nobody vouches for it here
            open_cache(make_settings(cache=url))
        assert "LEAK" not in str(caught.value)
