"""Who may do what, and what keeps others out."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest
from running_service import Start, key_for, service_behind
from service_runs import run
from sqlalchemy import text
from starlette.testclient import TestClient

from judge.errors import ConfigError, UsageError
from judge.server.failures import FailureLimit
from judge.server.rates import RequestLimit
from judge.server.service import Deployment, open_service
from judge.store.access_keys import add_key, revoke_key
from judge.store.database import open_database, sqlite_url

SCORE = {"trajectory": run("run-1")}
QUEUE = {"id": "desk", "rubric": "process", "trajectories": [run("run-1")]}
LABEL = {"queue": "desk", "trajectory_id": "run-1", "value": 4}


def test_a_public_address_without_a_key_is_refused(deployment: Deployment) -> None:
    public = replace(deployment, host="0.0.0.0")
    with pytest.raises(ConfigError, match="for everyone, and no API key"):
        open_service(public)
    engine = open_database(sqlite_url(deployment.data / "service.sqlite"))
    add_key(engine, "boss", "admin")
    opened = open_service(public)
    opened.release()
    opened.engine.dispose()


def test_each_role_does_its_own_and_nothing_else(start: Start) -> None:
    client = start()
    keys = {role: key_for(client, f"the-{role}", role) for role in ("score", "label", "admin")}
    asked: list[tuple[str, str, Any, dict[str, int]]] = [
        ("POST", "/v1/queues", QUEUE, {"score": 403, "label": 403, "admin": 201}),
        ("POST", "/v1/score", SCORE, {"score": 200, "label": 403, "admin": 200}),
        ("POST", "/v1/metrics", SCORE, {"score": 200, "label": 403, "admin": 200}),
        ("POST", "/v1/labels", LABEL, {"score": 403, "label": 201, "admin": 201}),
        ("GET", "/v1/queues/desk/next", None, {"score": 403, "label": 200, "admin": 200}),
        ("GET", "/v1/labels?queue=desk", None, {"score": 403, "label": 403, "admin": 200}),
        ("GET", "/v1/labels/export?queue=desk", None, {"score": 403, "label": 403, "admin": 200}),
        ("GET", "/v1/calibrations", None, {"score": 403, "label": 403, "admin": 200}),
        ("GET", "/v1/batches", None, {"score": 200, "label": 403, "admin": 200}),
        ("GET", "/v1/rubrics", None, {"score": 200, "label": 200, "admin": 200}),
        ("DELETE", "/v1/queues/desk", None, {"score": 403, "label": 403, "admin": 204}),
    ]
    for method, path, body, expected in asked:
        assert client.request(method, path, json=body).status_code == 401, path
        got = {role: client.request(method, path, json=body, headers=keys[role]).status_code for role in expected}
        assert got == expected, path


def test_a_rater_cannot_label_in_the_name_of_another(start: Start) -> None:
    client = start()
    admin, rater = key_for(client, "boss", "admin"), key_for(client, "ana", "label")
    client.post("/v1/queues", json=QUEUE, headers=admin)
    assert client.post("/v1/labels", json=LABEL | {"rater": "ben"}, headers=rater).status_code == 403
    assert client.post("/v1/labels", json=LABEL | {"rater": "adjudicated"}, headers=rater).status_code == 403
    with pytest.raises(UsageError, match="cannot be a name"):
        add_key(service_behind(client).engine, "adjudicated", "label")


def test_guessing_keys_is_limited_and_ends_after_a_while() -> None:
    now = [0.0]
    limit = FailureLimit(most=3, window_s=60, clock=lambda: now[0])
    for second in (0, 10, 20):
        now[0] = second
        assert limit.wait("a") is None
        limit.failed("a")
    assert limit.wait("a") == 40.0  # the oldest of three leaves the window at 60
    assert limit.wait("b") is None
    now[0] = 60.0
    assert limit.wait("a") is None


def test_a_caller_has_its_requests_of_a_minute_and_gets_them_back_one_by_one() -> None:
    now = [0.0]
    limit = RequestLimit(3, clock=lambda: now[0])
    assert [limit.take("a") for _ in range(3)] == [None] * 3
    assert limit.take("a") == pytest.approx(20.0)  # three a minute: one in twenty seconds
    assert limit.take("b") is None
    now[0] = 20.0
    assert limit.take("a") is None
    assert limit.take("a") == pytest.approx(20.0)
    now[0] = 500.0
    assert [limit.take("a") for _ in range(4)] == [None] * 3 + [pytest.approx(20.0)]  # never more than of a minute
    with pytest.raises(ValueError, match="at least 1"):
        RequestLimit(0)


def test_too_many_requests_of_one_key_wait_and_others_do_not(start: Start) -> None:
    client = start(requests_per_minute=5)
    service_behind(client).requests._clock = lambda: 0.0
    busy, other = key_for(client, "busy", "score"), key_for(client, "other", "label")
    answers = [client.get("/v1/rubrics", headers=busy) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert answers[-1].json()["title"] == "too many requests"
    assert int(answers[-1].headers["retry-after"]) == 12
    assert client.get("/v1/rubrics", headers=other).status_code == 200
    assert client.get("/healthz").status_code == 200


def test_after_ten_wrong_keys_even_the_right_one_waits(start: Start) -> None:
    client = start()
    service_behind(client).failures._clock = lambda: 0.0
    right = key_for(client, "bot", "score")
    tries = [client.get("/v1/rubrics", headers={"Authorization": f"Bearer tj_x_{k}"}) for k in range(12)]
    assert [answer.status_code for answer in tries] == [401] * 10 + [429] * 2
    assert int(tries[-1].headers["retry-after"]) == 60
    assert client.get("/v1/rubrics", headers=right).status_code == 429
    assert client.post("/sign-in", content="key=tj_x_y", headers=FORM).status_code == 429


def test_keys_are_stored_as_hashes_and_a_revoked_one_opens_nothing(start: Start, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    client = start()
    headers = key_for(client, "bot", "score")
    secret = headers["Authorization"].removeprefix("Bearer ")
    assert client.get("/v1/rubrics", headers=headers).status_code == 200
    engine = service_behind(client).engine
    with engine.connect() as connection:
        rows = str(connection.execute(text("select * from keys")).all())
    assert secret not in rows
    assert secret.rpartition("_")[2] not in rows + caplog.text
    revoke_key(engine, "bot")
    assert client.get("/v1/rubrics", headers=headers).status_code == 401


FORM = {"content-type": "application/x-www-form-urlencoded"}


def signed_in(client: TestClient, key: dict[str, str]) -> str:
    """Signs the client in and returns the CSRF token of its session."""
    text = key["Authorization"].removeprefix("Bearer ")
    assert client.post("/sign-in", content=f"key={text}", headers=FORM, follow_redirects=False).status_code == 303
    page = client.get("/label").text
    return page.partition('name="csrf" value="')[2].partition('"')[0]


def test_a_form_needs_the_token_of_its_session_and_comes_from_this_site(start: Start) -> None:
    client = start()
    admin, rater = key_for(client, "boss", "admin"), key_for(client, "ana", "label")
    client.post("/v1/queues", json=QUEUE, headers=admin)
    token = signed_in(client, rater)
    body = "item=1&value=4"
    assert client.post("/label/desk", content=body, headers=FORM).status_code == 403
    assert client.post("/label/desk", content=f"{body}&csrf=wrong", headers=FORM).status_code == 403
    foreign = FORM | {"origin": "http://evil.example"}
    assert client.post("/label/desk", content=f"{body}&csrf={token}", headers=foreign).status_code == 403
    assert service_behind(client).queues.entries("desk") == []
    client.post("/label/desk", content=f"{body}&csrf={token}", headers=FORM)
    assert [entry.rater for entry in service_behind(client).queues.entries("desk")] == ["ana"]


def test_the_cookie_and_the_headers_are_strict(start: Start) -> None:
    client = start()
    key = key_for(client, "ana", "label")["Authorization"].removeprefix("Bearer ")
    answer = client.post("/sign-in", content=f"key={key}", headers=FORM, follow_redirects=False)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    policy = client.get("/label").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert client.get("/label").headers["cache-control"] == "no-store"


def test_a_foreign_host_name_and_a_form_in_place_of_json_are_refused(start: Start) -> None:
    client = start()
    assert client.get("/healthz", headers={"host": "evil.example"}).status_code == 421
    assert client.post("/v1/score", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415


def test_a_session_by_name_alone_ends_when_the_first_key_is_made(start: Start) -> None:
    client = start()
    client.post("/sign-in", content="key=ana", headers=FORM)
    assert client.get("/label", follow_redirects=False).status_code == 200
    key_for(client, "boss", "admin")
    assert client.get("/label", follow_redirects=False).headers["location"] == "/sign-in"
