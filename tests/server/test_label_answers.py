"""An answer to a queue is taken as it was meant or refused, and tells raters nothing of each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from running_service import Start, key_for, service_behind
from service_runs import run
from starlette.testclient import TestClient

from judge.cli import serve as serving
from judge.errors import JudgeError, UnknownName
from judge.server.progress import share
from judge.server.service import Deployment, open_service
from judge.store.access_keys import add_key, has_keys, revoke_key
from judge.store.database import open_database, sqlite_url


@pytest.fixture
def client(start: Start) -> TestClient:
    client = start()
    asked = {"id": "desk", "rubric": "process", "trajectories": [run("run-1"), run("run-2")]}
    client.keys = {name: key_for(client, name, role) for name, role in ROLES.items()}  # type: ignore[attr-defined]
    assert client.post("/v1/queues", json=asked, headers=client.keys["boss"]).status_code == 201  # type: ignore[attr-defined]
    return client


ROLES = {"boss": "admin", "ana": "label", "ben": "label"}


def give(client: TestClient, name: str, **body: Any) -> Any:
    keys = client.keys  # type: ignore[attr-defined]
    return client.post("/v1/labels", json={"queue": "desk", "trajectory_id": "run-1", **body}, headers=keys[name])


def test_a_forgotten_value_is_no_not_applicable(client: TestClient) -> None:
    refused = give(client, "ana")
    assert refused.status_code == 422
    assert "null says not applicable" in refused.json()["detail"]
    assert service_behind(client).queues.entries("desk") == []
    assert give(client, "ana", value=None).status_code == 201
    assert give(client, "ben", skipped=True).status_code == 201


def test_true_is_not_the_worst_level_of_a_scale(client: TestClient) -> None:
    refused = give(client, "ana", value=True)
    assert refused.status_code == 422
    assert "true and false are no values" in refused.json()["detail"]
    assert service_behind(client).queues.entries("desk") == []


def test_a_label_of_a_model_takes_no_label_of_a_person_away(client: TestClient) -> None:
    assert give(client, "ana", value=4).status_code == 201
    refused = give(client, "ana", value=1, rater_kind="model")
    assert refused.status_code == 422
    assert "a label of the kind human" in refused.json()["detail"]
    (kept,) = service_behind(client).queues.entries("desk")
    assert (kept.value, kept.rater_kind) == (4.0, "human")


def test_a_rater_does_not_hear_that_another_one_answered_otherwise(client: TestClient) -> None:
    assert give(client, "ana", value=4).status_code == 201
    assert give(client, "ben", value=1).status_code == 201
    keys = client.keys  # type: ignore[attr-defined]
    (told,) = client.get("/v1/queues", headers=keys["ana"]).json()["queues"]
    assert set(told) == {"queue", "drawn", "by_rater", "judge"}
    assert told["by_rater"] == {"ana": 1}
    (known,) = client.get("/v1/queues", headers=keys["boss"]).json()["queues"]
    assert (known["disputed"], known["by_rater"]) == (1, {"ana": 1, "ben": 1})
    for name, sees in (("ana", False), ("boss", True)):
        client.cookies.clear()
        key = keys[name]["Authorization"].removeprefix("Bearer ")
        client.post("/sign-in", data={"key": key})
        assert ("disputed" in client.get("/label").text) is sees


def test_one_label_that_speaks_for_the_judge_is_not_said_to_be_hopeless() -> None:
    found = share([(True, 1.0)], "none")
    assert (found.value, found.more) == (1.0, None)
    assert "too early" in (found.reason or "")
    assert share([(True, 1.0)] * 8, "none").more is not None  # 8.5 of 9 is above four in five


def test_only_a_service_without_keys_says_that_anybody_is_admin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], deployment: Deployment
) -> None:
    engine = open_database(sqlite_url(tmp_path / "keys.sqlite"))
    serving._say_where(deployment, 8000, has_keys(engine), as_json=False)
    assert "whoever can use this machine is admin" in capsys.readouterr().err
    add_key(engine, "boss", "admin")
    serving._say_where(deployment, 8000, has_keys(engine), as_json=False)
    said = capsys.readouterr().err
    assert "http://127.0.0.1:8000/openapi.json" in said
    assert "admin" not in said
    engine.dispose()


def test_revoking_the_last_key_opens_nothing(start: Start) -> None:
    client = start()
    assert client.get("/v1/rubrics").status_code == 200  # loopback, no key was made
    engine = service_behind(client).engine
    add_key(engine, "boss", "admin")
    revoke_key(engine, "boss")
    assert client.get("/v1/rubrics").status_code == 401
    assert (has_keys(engine), has_keys(engine, valid=True)) == (True, False)


def test_a_queue_that_is_gone_is_named_and_not_its_run(client: TestClient) -> None:
    queues = service_behind(client).queues
    with pytest.raises(UnknownName, match="no run 9"):
        queues.at("desk", 9)
    queues.remove("desk")
    with pytest.raises(UnknownName, match="There is no queue 'desk'"):
        queues.at("desk", 1)


@pytest.mark.parametrize("judge", ["nope/x", "rules", "jury/nobody", "fake/missing.yaml"])
def test_a_judge_that_cannot_be_asked_is_refused_before_the_service_says_it_is_ready(
    deployment: Deployment, judge: str
) -> None:
    with pytest.raises(JudgeError, match=judge.rpartition("/")[2]):
        open_service(replace(deployment, judges=("rules/process", judge)))
