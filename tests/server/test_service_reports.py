"""Calibrations and comparisons on queues, on sets of the deployment and on shipped ones, and the pages about them."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from held_judge import HeldJudge
from running_service import Start, wait_for
from service_runs import RATERS, runs

import judge
from judge.calibration.sets import load_set
from judge.engine.calibrating import calibrate_set
from judge.server.service import Deployment
from judge.store.certificates import save_revocation
from judge.store.set_folder import write_set
from judge.types.calibration_set import RequiredClaim
from judge.types.certificate import Revocation

FORM = {"content-type": "application/x-www-form-urlencoded"}
BOTH = ("rules/process", "fake/always-4")


@pytest.fixture
def own_set(tmp_path: Path) -> Path:
    """A set of the deployment's own: the shipped refunds under another name, whose labels people gave."""
    shipped = load_set("refunds")
    settings = shipped.settings.model_copy(update={"name": "ours", "label_kinds_allowed": ("human",)})
    labels = tuple(label.model_copy(update={"rater_kind": "human", "rater": "ana"}) for label in shipped.labels)
    folder = tmp_path / "ours"
    write_set(folder, shipped.model_copy(update={"name": "ours", "settings": settings, "labels": labels}))
    return folder


def signed_in(client: Any) -> str:
    client.post("/sign-in", content="key=boss", headers=FORM)
    return str(client.get("/reports").text.partition('name="csrf" value="')[2].partition('"')[0])


def test_judges_are_compared_on_a_queue_and_the_report_is_a_page(start: Start) -> None:
    client = start(judges=BOTH)
    client.post("/v1/queues", json={"id": "desk", "rubric": "process", "pass_mark": 4, "trajectories": runs()})
    for rater, values in RATERS.items():
        for run, value in values.items():
            body = {"queue": "desk", "trajectory_id": run, "value": value, "rater": rater}
            assert client.post("/v1/labels", json=body).status_code == 201
    begun = client.post("/v1/comparisons", json={"queue": "desk", "judges": list(BOTH), "criterion": "process"})
    job = wait_for(client, f"/v1/comparisons/{begun.json()['id']}")
    assert job["state"] == "done", job["error"]
    assert {row["judge"] for row in job["result"]["judges"]} == set(BOTH)
    assert job["result"]["label_set"] == "desk"
    assert job["progress"] == {"done": 10}
    signed_in(client)
    assert f"/reports/{job['id']}" in client.get("/reports").text
    report = client.get(f"/reports/{job['id']}")
    assert "rules/process" in report.text
    assert "sandbox" in report.headers["content-security-policy"]


def test_a_set_of_the_deployment_is_calibrated_on_and_its_certificate_listed(start: Start, own_set: Path) -> None:
    client = start(judges=BOTH, sets=(own_set,))
    listed = {row["name"]: row for row in client.get("/v1/sets").json()["sets"]}
    assert set(listed) == {"ours", "refunds", "returns", "docs_search"}
    assert listed["ours"]["label_kinds"] == ["human"]
    assert listed["refunds"]["label_kinds"] == ["policy"]
    token = signed_in(client)
    assert '<option value="set:ours">' in client.get("/reports").text
    body = f"csrf={token}&on=set:ours&judge=rules/process"
    assert client.post("/reports/calibration", content=body, headers=FORM).status_code == 200
    body = f"csrf={token}&on=set:ours&judge=rules/process&judge=fake/always-4"
    assert client.post("/reports/comparison", content=body, headers=FORM).status_code == 200
    (calibration,) = client.get("/v1/calibrations").json()["jobs"]
    (comparison,) = client.get("/v1/comparisons").json()["jobs"]
    done = wait_for(client, f"/v1/calibrations/{calibration['id']}")
    assert done["state"] == "done", done["error"]
    assert done["result"]["certificate"]["scope"]["label_set"] == "ours"
    assert wait_for(client, f"/v1/comparisons/{comparison['id']}")["state"] == "done"
    page = client.get("/reports").text
    assert done["result"]["decision"] in page
    assert f"/reports/{comparison['id']}" in page
    certificates = client.get("/certificates").text
    assert done["result"]["certificate"]["id"] in certificates
    assert "ours, " in certificates


def test_what_a_comparison_refuses(start: Start, own_set: Path) -> None:
    client = start(judges=BOTH, sets=(own_set,))
    fine = {"set": "ours", "judges": list(BOTH)}
    for change, title in (
        ({"judges": ["rules/process", "replay/etc"]}, "unknown name"),
        ({"judges": ["rules/process"] * 2}, "invalid request"),
        ({"judges": ["rules/process"]}, "invalid request"),
        ({"set": str(own_set)}, "unknown name"),
        ({"set": None}, "invalid request"),
        ({"queue": "nowhere"}, "invalid request"),
        ({"set": None, "queue": "nowhere"}, "unknown name"),
    ):
        answer = client.post("/v1/comparisons", json=fine | change)
        assert (answer.status_code, answer.json()["title"]) == (422, title), change
    token = signed_in(client)
    html = FORM | {"accept": "text/html"}
    for body, said in (("on=set:ours&judge=rules/process", "1 were chosen"), ("judge=a&judge=b", "No queue or set")):
        answer = client.post("/reports/comparison", content=f"csrf={token}&{body}", headers=html)
        assert answer.status_code == 422
        assert said in answer.text
    assert client.post("/reports/batch", content=f"csrf={token}&on=set:ours", headers=html).status_code == 404
    assert client.post("/reports/comparison", content="on=set:ours", headers=html).status_code == 403
    one = start(judges=("rules/process",))
    signed_in(one)
    assert "offers one judge" in one.get("/reports").text


def test_every_certificate_is_listed_with_its_state_today(start: Start, own_set: Path, deployment: Deployment) -> None:
    client = start()
    folder, now = deployment.settings.certificates, datetime.now(UTC)

    def certify(at: datetime) -> str:
        settings = deployment.settings.model_copy(update={"judge": "rules/process"})
        claims = (RequiredClaim(name="tpr", threshold=0.01),)
        found = calibrate_set(
            own_set, settings=settings, now=at, terms=lambda terms: replace(terms, save=folder, claims=claims)
        )
        assert found.certificate.decision == "certified", found.certificate.reasons
        return found.certificate.id

    old, revoked, valid = certify(now - timedelta(days=2000)), certify(now - timedelta(days=1)), certify(now)
    refused = judge.calibrate(own_set, judge="rules/process", settings=deployment.settings, save=folder).certificate
    save_revocation(
        Revocation(certificate=revoked, at=now.isoformat(), reasons=("The labels were wrong.",)),
        folder,
    )
    signed_in(client)
    page = client.get("/certificates").text
    rows = dict(re.findall(r"<code>(\w+)</code>.*?class=\"state (\w+)\"", page))
    assert rows == {old: "expired", revoked: "revoked", valid: "certified", refused.id: refused.decision}


def test_a_job_is_cancelled_on_the_page(start: Start, held: HeldJudge) -> None:
    client = start()
    token = signed_in(client)
    client.post("/reports/calibration", content=f"csrf={token}&on=set:refunds", headers=FORM)
    job = client.get("/v1/calibrations").json()["jobs"][0]
    assert f'action="/reports/{job["id"]}/cancel"' in client.get("/reports").text
    assert client.post(f"/reports/{job['id']}/cancel", content="csrf=wrong", headers=FORM).status_code == 403
    assert (
        "Cancel</button>" not in client.post(f"/reports/{job['id']}/cancel", content=f"csrf={token}", headers=FORM).text
    )
    assert client.get(f"/v1/calibrations/{job['id']}").json()["state"] == "cancelled"
    long = f"csrf={token}&on=queue:{'q' * 100}"
    for kind, more in (("calibration", "&judge=rules/process"), ("comparison", "&judge=a&judge=b")):
        assert client.post(f"/reports/{kind}", content=long + more, headers=FORM).status_code == 422
