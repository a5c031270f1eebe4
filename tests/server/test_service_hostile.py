"""Requests that are meant to do harm: broken addresses, slow and large bodies, a crash, numbers out of range."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
from held_judge import PATIENCE_S
from running_service import Listening, Start, key_for, service_behind
from service_runs import run
from starlette.testclient import TestClient
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from judge.cli.main import run as judge_command
from judge.server import scoring
from judge.server.apart import Apart
from judge.server.callers import Callers
from judge.server.service import Deployment
from judge.store.access_keys import add_key, revoke_key

PROBLEM = "application/problem+json"
FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "[::1"}, 400),
        ({"host": "localhost:port"}, 400),
        ({"origin": "http://[", "host": "localhost"}, 400),
        ({"origin": "null", "host": "localhost"}, 403),
        ({"origin": "http://localhost:1", "host": "localhost"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
    ],
)
def test_a_broken_or_foreign_address_is_a_problem(start: Start, headers: dict[str, str], status: int) -> None:
    answer = start().post("/v1/score", json={"trajectory": run("run-1")}, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == PROBLEM


@pytest.mark.parametrize("path", ["/label/a%00b", "/v1/batches/%00", "/v1/labels?queue=%00", "/enter?ticket=%00"])
def test_an_address_with_a_nul_is_refused_before_a_database_sees_it(start: Start, path: str) -> None:
    answer = start().get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (400, PROBLEM)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/nothing", None, 404),
        ("GET", "/static/../app.py", None, 404),
        ("PUT", "/v1/score", {}, 405),
        ("POST", "/v1/score", {}, 422),
        ("POST", "/v1/score", {"trajectory": run("a"), "labels": {"process": 4}}, 422),
        ("POST", "/v1/score", {"trajectory": run("a"), "samples": 10**30}, 422),
        ("POST", "/v1/score", {"trajectory": "http://169.254.169.254/latest"}, 422),
        ("POST", "/v1/score", {"trajectory": run("a"), "judge": "replay/../../etc/passwd"}, 422),
        ("POST", "/v1/score", {"trajectory": run("a"), "judge": "jury:/etc/passwd"}, 422),
        ("POST", "/v1/score", {"trajectory": run("a"), "judge": "fake/always-5"}, 422),
        ("POST", "/v1/score", {"trajectory": run("a"), "rubric": "../../rubric.yaml"}, 422),
        ("POST", "/v1/metrics", {"trajectory": run("a"), "reference": "/etc/passwd"}, 422),
        ("GET", "/v1/rubrics/..%2F..%2Fsecret", None, 404),
    ],
)
def test_every_refusal_is_a_problem_document(start: Start, method: str, path: str, body: Any, status: int) -> None:
    answer = start().request(method, path, json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM)
    assert answer.json()["status"] == status
    assert "root:" not in answer.text


def test_a_number_of_many_digits_is_no_crash(start: Start) -> None:
    body = b'{"trajectory": [], "samples": 1' + b"0" * 5000 + b"}"
    answer = start().post("/v1/score", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.headers["content-type"]) == (400, PROBLEM)


def test_many_fields_in_a_form_and_a_long_one(start: Start) -> None:
    client = start()
    many = "&".join(f"a{k}=1" for k in range(200))
    assert client.post("/sign-in", content=many, headers=FORM).status_code == 400
    assert client.post("/sign-in", content="key=" + "a" * 300_000, headers=FORM).status_code == 413
    assert client.post("/sign-in", content="key=%00%1b[2J", headers=FORM).status_code == 422


def test_a_crash_tells_neither_the_client_nor_the_log_what_the_request_held(
    start: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ValueError("the text of a customer")

    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(scoring, "judge_and_rubric", broken)
    client = start()
    answer = client.post("/v1/score", json={"trajectory": run("run-1")})
    assert (answer.status_code, answer.headers["content-type"]) == (500, PROBLEM)
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "customer" not in answer.text + caplog.text
    assert "ValueError at" in caplog.text
    assert 'route="/v1/score",status="500"} 1' in client.get("/metrics").text


def _said(url: str, head: str, *more: bytes, seconds: float = PATIENCE_S) -> str:
    """What a server answers to a request that is sent in pieces and never ended."""
    address = urlsplit(url)
    with socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=seconds) as wire:
        wire.sendall(head.encode())
        for piece in more:
            wire.sendall(piece)
            time.sleep(0.05)
        return wire.recv(4000).decode("latin-1")


HEAD = "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n"


def test_a_body_that_does_not_come_is_not_waited_for(deployment: Deployment) -> None:
    server = Listening(replace(deployment, body_s=0.3))
    try:
        answer = _said(server.url, HEAD.format(path="/v1/score", size=1000), b"{", b'"')
        assert answer.startswith("HTTP/1.1 408 ")
        assert "was not whole after 0.3 s" in answer
    finally:
        server.close()


def test_who_has_no_key_is_turned_away_before_the_body_is_read(deployment: Deployment) -> None:
    server = Listening(deployment)
    try:
        add_key(server.service.engine, "bot", "score")
        head = HEAD.format(path="/v1/score", size=30_000_000)
        assert _said(server.url, head).startswith("HTTP/1.1 401 ")
        wrong = head.replace("Content-Type", "Authorization: Bearer tj_a_b\r\nContent-Type")
        assert _said(server.url, wrong).startswith("HTTP/1.1 401 ")
    finally:
        server.close()


def test_counts_have_no_series_for_what_a_client_made_up(start: Start) -> None:
    client = start()
    for k in range(30):
        client.get(f"/v1/made-up-{k}")
        client.get(f"/v1/batches/made-up-{k}")
    text = client.get("/metrics").text
    assert "made-up" not in text
    assert 'route="unmatched",status="404"} 30' in text


def test_a_remembered_key_is_forgotten_when_it_is_revoked_and_none_is_remembered_long(start: Start) -> None:
    client = start()
    headers = key_for(client, "bot", "score")
    service = service_behind(client)
    assert [client.get("/v1/rubrics", headers=headers).status_code for _ in range(3)] == [200] * 3
    revoke_key(service.engine, "bot")
    assert client.get("/v1/rubrics", headers=headers).status_code == 401


def test_what_was_remembered_ends_after_a_second(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    now, asked = [0.0], []
    engine = service_behind(start()).engine
    monkeypatch.setattr("judge.server.callers.has_keys", lambda engine: asked.append(engine) or False)
    callers = Callers(engine, clock=lambda: now[0])

    async def ask() -> None:
        for at in (0.0, 0.5, 0.9, 1.1, 1.2):
            now[0] = at
            assert await callers.any_key() is False

    asyncio.run(ask())
    assert len(asked) == 2  # at 0.0 and, a second later, at 1.1


@pytest.mark.parametrize("pattern", [r"^(a+)+$", "^ok$"])
def test_a_pattern_that_never_ends_stops_neither_the_service_nor_the_next_check(start: Start, pattern: str) -> None:
    client = start()
    # What never ends takes longer than any limit, and what ends has as long as a slow machine needs.
    service_behind(client).apart = Apart(seconds=1.0 if pattern != "^ok$" else PATIENCE_S)
    given = run("a")
    given["steps"][1]["arguments"] = {"order": "a" * 40 + "!"}
    schema = {"properties": {"order": {"type": "string", "pattern": pattern}}}
    policy = {
        "id": "p",
        "title": "P",
        "checks": [{"id": "fits", "arguments": {"tools": "get_order", "schema": schema}}],
    }
    answer = client.post("/v1/check", json={"trajectory": given, "policy": policy})
    if pattern == "^ok$":
        assert answer.json()["results"][0]["checks"][0]["status"] == "failed"
    else:
        assert (answer.status_code, answer.json()["title"]) == (422, "policy too slow")
        service_behind(client).apart._seconds = PATIENCE_S
        broken = client.post("/v1/check", json={"trajectory": given, "policy": policy | {"checks": [{"pattern": 1}]}})
        assert (broken.status_code, broken.headers["content-type"]) == (422, PROBLEM)
        assert broken.json()["title"] != "policy too slow"


def test_a_proxy_that_was_named_is_believed_and_no_other(
    start: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: dict[str, Any] = {}

    def served(self: uvicorn.Server, sockets: Any) -> None:
        asked.update(vars(self.config))
        service = self.config.app.state.service  # type: ignore[union-attr]
        service.release()
        service.engine.dispose()

    monkeypatch.setattr(uvicorn.Server, "run", served)
    command = ["serve", "--judge", "rules/process", "--data", str(tmp_path / "d"), "--port", "0"]
    assert judge_command([*command, "--proxy", "10.0.0.9"]) == 0
    assert (asked["proxy_headers"], asked["forwarded_allow_ips"]) == (True, ["10.0.0.9"])

    behind = start()
    headers = key_for(behind, "ana", "label")
    believed = ProxyHeadersMiddleware(behind.app, trusted_hosts=asked["forwarded_allow_ips"])  # type: ignore[arg-type]

    def client(address: str) -> TestClient:
        return TestClient(believed, base_url="http://localhost", client=(address, 1), follow_redirects=False)

    def wrong(address: str, forwarded: str) -> int:
        tries = {"Authorization": "Bearer tj_x_y", "X-Forwarded-For": forwarded}
        return max(client(address).get("/v1/rubrics", headers=tries).status_code for _ in range(11))

    assert wrong("10.0.0.9", "192.0.2.1") == 429
    assert client("10.0.0.9").get("/v1/rubrics", headers=headers | {"X-Forwarded-For": "192.0.2.2"}).status_code == 200
    assert [wrong("10.0.0.8", f"192.0.2.{k}") for k in (3, 4)] == [429, 429]  # counted at its own address
    key = headers["Authorization"].removeprefix("Bearer ")
    for address, secure in (("10.0.0.9", True), ("10.0.0.7", False)):
        sent = FORM | {"X-Forwarded-Proto": "https"}
        cookie = client(address).post("/sign-in", content=f"key={key}", headers=sent).headers["set-cookie"]
        assert ("Secure" in cookie) is secure
