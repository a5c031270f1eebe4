"""Nobody sees the judge's verdict, another one's label, or the name of a run before the own answer is saved."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from running_service import Start, key_for, service_behind
from service_runs import run
from starlette.testclient import TestClient

from judge.store.access_keys import ADJUDICATED
from judge.store.label_queue import CHANGED, Entry

FORM = {"content-type": "application/x-www-form-urlencoded"}
ROLES = {"boss": "admin", "ana": "label", "ben": "label"}
TELLING = "broken-by-fault-42"
REASON = "The judge noticed the fault."
NOTE = "ana thinks it is fine"


@pytest.fixture
def client(start: Start, tmp_path: Path) -> TestClient:
    """A service with a queue of two runs that a judge has scored, and the keys of an admin and two raters."""
    script = tmp_path / "reasons.json"
    script.write_text(json.dumps({"default": {"score": 2, "reason": REASON}}), encoding="utf-8")
    client = start(judge=f"fake/{script}")
    marked = run(TELLING) | {"group": "faults-secret", "meta": {"note": "meta-secret"}}
    marked["source"] = {"format": "native", "path": "faults/path-secret.json"}
    marked["steps"][3]["arguments"] = {"order": 7}
    marked["steps"][1]["extra"] = {"hint": "extra-secret"}
    asked = {"id": "desk", "rubric": "process", "verdicts": True, "trajectories": [marked, run("plain")]}
    client.keys = {name: key_for(client, name, role) for name, role in ROLES.items()}  # type: ignore[attr-defined]
    assert client.post("/v1/queues", json=asked, headers=client.keys["boss"]).status_code == 201  # type: ignore[attr-defined]
    return client


def sign_in(client: TestClient, name: str) -> str:
    client.cookies.clear()
    key = client.keys[name]["Authorization"].removeprefix("Bearer ")  # type: ignore[attr-defined]
    client.post("/sign-in", content=f"key={key}", headers=FORM)
    return client.get("/label").text.partition('name="csrf" value="')[2].partition('"')[0]


def answer(client: TestClient, csrf: str, item: int, **form: Any) -> Any:
    fields = "&".join(f"{name}={value}" for name, value in {"csrf": csrf, "item": item, **form}.items())
    return client.post("/label/desk", content=fields, headers=FORM)


def test_before_saving_no_page_and_no_answer_tells_anything(client: TestClient) -> None:
    place = service_behind(client).queues.item("desk", TELLING).position
    csrf = sign_in(client, "ana")
    told = answer(client, csrf, place, value=4, note=NOTE)
    assert REASON in told.text  # ana has saved, and sees it
    assert "the judge said <b>2</b> (uncertified)" in told.text  # with the trust it had

    sign_in(client, "ben")
    headers = client.keys["ben"]  # type: ignore[attr-defined]
    seen = [
        client.get(path, headers=headers if path.startswith("/v1/") else {}).text
        for path in (
            "/label", "/label/desk", f"/label/desk?item={place}", f"/label/desk?saved={place}", "/certificates",
            "/v1/queues", "/v1/queues/desk/next", "/v1/rubrics",
        )
    ]  # fmt: skip
    assert all("<form" in text or "{" in text for text in seen)
    for secret in (REASON, NOTE, "faults-secret", "path-secret", "meta-secret", "extra-secret"):
        assert not [text for text in seen if secret in text], secret
    pages = [text for text in seen if text.startswith("<!doctype")]
    assert not [text for text in pages if TELLING in text]
    sign_in(client, "boss")
    assert "uncertified when it was asked" in client.get(f"/disagreements/desk/run?item={TELLING}").text
    sign_in(client, "ben")
    for path in ("/adjudicate/desk", "/disagreements/desk", f"/disagreements/desk/run?item={TELLING}", "/reports"):
        assert client.get(path).status_code == 403
    for path in ("/v1/labels?queue=desk", "/v1/labels/export?queue=desk", "/v1/calibrations"):
        assert client.get(path, headers=headers).status_code == 403


def test_a_page_loads_nothing_ahead(client: TestClient) -> None:
    sign_in(client, "ana")
    page = client.get("/label/desk").text
    assert re.findall(r"prefetch|prerender|preload|speculationrules", page) == []


def test_skipping_in_between_does_not_make_a_label_blind_again(client: TestClient) -> None:
    csrf = sign_in(client, "ana")
    for form in ({"value": 4, "note": "first"}, {"action": "skip"}, {"value": 2, "note": "second"}):
        answer(client, csrf, 1, **form)
    entry = service_behind(client).queues.entries("desk")[0]
    assert (entry.value, entry.note) == (2.0, f"{CHANGED} second")


def test_adjudication_needs_two_people(client: TestClient) -> None:
    queues = service_behind(client).queues
    csrf = sign_in(client, "boss")

    def settle(**form: Any) -> Any:
        fields = "&".join(f"{name}={value}" for name, value in {"csrf": csrf, "item": "plain", **form}.items())
        return client.post("/adjudicate/desk", content=fields, headers=FORM)

    assert settle(value=3).status_code == 409
    queues.save("desk", Entry(trajectory_id="plain", rater="ana", value=4))
    queues.save("desk", Entry(trajectory_id="plain", rater="gpt", rater_kind="model", value=1))
    assert settle(value=3).status_code == 409  # a model is nobody to differ with
    queues.save("desk", Entry(trajectory_id="plain", rater="ben", value=2))
    empty = settle()
    assert (empty.status_code, "No answer was chosen" in empty.text) == (422, True)
    assert settle(value=3).status_code == 200
    assert {e.rater: e.value for e in queues.entries("desk")}[ADJUDICATED] == 3.0


@pytest.mark.parametrize("item", ["0", "3", "-1", "1e3", TELLING, "²", "9" * 30])
def test_a_place_that_is_not_in_the_draw(client: TestClient, item: str) -> None:
    csrf = sign_in(client, "ana")
    assert client.get("/label/desk", params={"item": item}).status_code == 404
    assert answer(client, csrf, item, value=4).status_code == 404  # type: ignore[arg-type]
    assert service_behind(client).queues.entries("desk") == []
