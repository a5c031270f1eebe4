"""Calibrations and comparisons are cancelled, resumed and followed; idempotency keys outlive a killed server."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from held_judge import HeldJudge, until
from running_service import Start, service_behind, wait_for
from service_runs import runs

from judge.store.jobs import KeptAnswers
from judge.store.label_queue import Entry


@pytest.fixture
def keeping(tmp_path: Path) -> str:
    """A judge whose replies are kept, as a model's are."""
    path = tmp_path / "keeping.json"
    path.write_text(json.dumps({"cache": True, "default": 4}), encoding="utf-8")
    return f"fake/{path}"


def labelled(client: Any, count: int) -> None:
    asked = {"id": "desk", "rubric": "process", "pass_mark": 4, "trajectories": runs(count)}
    assert client.post("/v1/queues", json=asked).status_code == 201
    for k in range(1, count + 1):
        service_behind(client).queues.save(
            "desk", Entry(trajectory_id=f"run-{k}", rater="ana", value=5 if k % 2 else 1)
        )


def one_at_a_time(judge: str, deployment: Any) -> dict[str, Any]:
    settings = deployment.settings.model_copy(update={"judge": judge, "concurrency": 1, "samples": 1})
    return {"settings": settings, "judges": (judge, "rules/process")}


def under_way(client: Any, path: str) -> None:
    until(lambda: bool(client.get(path).json()["progress"].get("done")), "progress is told")


@pytest.mark.parametrize("kind", ["calibrations", "comparisons"])
def test_a_cancelled_job_asks_nothing_more_and_certifies_nothing(
    start: Start, held: HeldJudge, keeping: str, deployment: Any, kind: str
) -> None:
    held.free = 3
    client = start(**one_at_a_time(keeping, deployment))
    labelled(client, 60)
    body = {"queue": "desk", **({"judges": [keeping, "rules/process"]} if kind == "comparisons" else {})}
    path = f"/v1/{kind}/{client.post(f'/v1/{kind}', json=body).json()['id']}"
    under_way(client, path)
    assert client.delete(path).json()["state"] == "cancelled"
    workers = client.app.state.workers
    held.release()
    until(lambda: not workers._controls, "the job is over")
    assert len(held.asked) < 10  # of 60: those under way, and those that were begun before the end was seen
    job = client.get(path).json()
    assert (job["state"], job["result"]) == ("cancelled", None)
    assert not deployment.settings.certificates.exists()
    assert client.delete(path).json()["state"] == "cancelled"
    other = "comparisons" if kind == "calibrations" else "calibrations"
    assert client.delete(path.replace(kind, other)).status_code == 404


def test_a_calibration_goes_on_after_a_stop_without_judging_twice(
    start: Start, held: HeldJudge, keeping: str, deployment: Any
) -> None:
    held.free = 3
    asked = one_at_a_time(keeping, deployment)
    client = start(**asked)
    labelled(client, 24)
    path = f"/v1/calibrations/{client.post('/v1/calibrations', json={'queue': 'desk'}).json()['id']}"
    under_way(client, path)
    workers = client.app.state.workers
    (control,) = workers._controls.values()
    held.let_go = lambda: control.reason is not None  # only a service that ends lets the first one go on
    later = start(**asked)
    assert not workers._controls
    job = wait_for(later, path)
    assert (job["state"], job["progress"]["done"]) == ("done", 24)
    assert job["result"]["certificate"]["n_labels"] == 24
    assert sorted(held.asked) == sorted(f"run-{k}" for k in range(1, 25))


def test_a_key_of_a_batch_that_was_begun_survives_a_server_that_never_answered(start: Start) -> None:
    client = start()
    body = {"trajectories": runs(2)}
    headers = {"Idempotency-Key": "k1"}
    first = client.post("/v1/batches", json=body, headers=headers).json()
    kept = KeptAnswers(service_behind(client).engine)
    # Between beginning a job and answering, a kill finds the key answered already: job and key are one transaction.
    workers = client.app.state.workers
    assert kept.begin("local", "k2", "batches", "b") is None
    job = workers.add_job("calibration", "local", {"queue": "gone"}, "k2")
    assert kept.begin("local", "k2", "batches", "b").answer["id"] == job.id  # type: ignore[union-attr]
    assert kept.begin("local", "k3", "score", "b") is None  # a request under way, whose server ends

    later = start()
    again = later.post("/v1/batches", json=body, headers=headers)
    assert (again.json()["id"], again.headers["idempotency-replayed"]) == (first["id"], "true")
    assert len(later.get("/v1/batches").json()["jobs"]) == 1
    found = KeptAnswers(service_behind(later).engine)
    assert found.begin("local", "k2", "batches", "b") is not None
    assert found.begin("local", "k3", "score", "b") is None  # free again


def test_one_key_at_the_same_time_is_done_once(start: Start, held: HeldJudge) -> None:
    client = start()
    answers: list[Any] = []

    def ask(samples: int) -> None:
        body = {"trajectory": runs(1)[0], "samples": samples}
        answers.append(client.post("/v1/score", json=body, headers={"Idempotency-Key": "one"}))

    threads = [threading.Thread(target=ask, args=(1,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    until(lambda: len(answers) == 5, "all but the first are answered")
    held.release()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in answers) == [200, *[409] * 5]
    assert {answer.headers.get("retry-after") for answer in answers if answer.status_code == 409} <= {"5"}
    assert 'judge_verdicts_total{status="ok"} 1' in client.get("/metrics").text
    ask(2)
    assert (answers[-1].status_code, answers[-1].json()["title"]) == (422, "key reused")


def test_who_follows_again_is_told_what_is_new_and_in_the_end_nothing(start: Start) -> None:
    client = start()
    path = f"/v1/batches/{client.post('/v1/batches', json={'trajectories': runs(2)}).json()['id']}"
    assert wait_for(client, path)["state"] == "done"
    text = client.get(f"{path}/events").text
    ids = [line.removeprefix("id: ") for line in text.splitlines() if line.startswith("id: ")]
    assert [line for line in text.splitlines() if line.startswith("event")] == ["event: progress", "event: end"]
    again = client.get(f"{path}/events", headers={"Last-Event-ID": ids[0]}).text
    assert [line for line in again.splitlines() if line.startswith("event")] == ["event: end"]
    assert client.get(f"{path}/events", headers={"Last-Event-ID": ids[1]}).status_code == 204
    labelled(client, 2)
    other = f"/v1/calibrations/{client.post('/v1/calibrations', json={'queue': 'desk'}).json()['id']}"
    assert "event: end" in client.get(f"{other}/events").text
    assert client.get(f"{other.replace('calibrations', 'comparisons')}/events").status_code == 404
