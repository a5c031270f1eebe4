"""Batches and calibrations as jobs: followed, cancelled, resumed after a kill, paged; and what opens the gate."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from held_judge import PATIENCE_S, HeldJudge, until
from running_service import Start, key_for, pages, service_behind, wait_for
from service_runs import RATERS, SCORES, run, runs

from judge.server.service import Deployment
from judge.store.database import open_database, sqlite_url
from judge.store.jobs import Jobs
from judge.store.label_queue import CHANGED, Entry


def test_a_batch_is_polled_followed_and_read_a_page_at_a_time(start: Start) -> None:
    client = start()
    begun = client.post("/v1/batches", json={"trajectories": runs()})
    assert begun.status_code == 202
    path = begun.headers["location"]
    job = wait_for(client, path)
    assert (job["state"], job["progress"]) == ("done", {"done": 10, "total": 10})
    assert job["result"]["summary"]["scored"] == 10
    found = pages(client, f"{path}/results", "results", limit=4)
    assert [len(page) for page in found] == [4, 4, 2]
    seen = [(verdict["trajectory_id"], verdict["score"]) for page in found for verdict in page]
    assert seen == list(SCORES.items())  # in the order of the input, nothing twice
    events = client.get(f"{path}/events").text.split("\n\n")
    assert events[0].startswith("event: progress\n")
    assert json.loads(events[-2].partition("\ndata: ")[2])["state"] == "done"


def test_a_batch_belongs_to_whoever_began_it(start: Start) -> None:
    client = start()
    mine, theirs, admin = (key_for(client, name, role) for name, role in
                           (("a", "score"), ("b", "score"), ("boss", "admin")))  # fmt: skip
    path = client.post("/v1/batches", json={"trajectories": runs(1)}, headers=mine).headers["location"]
    for suffix in ("", "/results", "/events"):
        assert client.get(path + suffix, headers=theirs).status_code == 404
    assert client.delete(path, headers=theirs).status_code == 404
    assert client.get("/v1/batches", headers=theirs).json()["jobs"] == []
    assert len(client.get("/v1/batches", headers=admin).json()["jobs"]) == 1
    wait_for(client, path, headers=mine)


def test_batches_are_listed_newest_first_a_page_at_a_time(start: Start) -> None:
    client = start()
    made = [client.post("/v1/batches", json={"trajectories": runs(1)}).json()["id"] for _ in range(3)]
    first = client.get("/v1/batches?limit=2").json()
    second = client.get(f"/v1/batches?limit=2&cursor={first['next']}").json()
    assert [job["id"] for job in first["jobs"] + second["jobs"]] == made[::-1]
    assert second["next"] is None
    for id in made:
        wait_for(client, f"/v1/batches/{id}")


def test_a_repeated_request_begins_no_second_batch(start: Start) -> None:
    client = start()
    body, headers = {"trajectories": runs(2)}, {"Idempotency-Key": "once"}
    first, again = (client.post("/v1/batches", json=body, headers=headers).json()["id"] for _ in range(2))
    assert first == again
    assert len(client.get("/v1/batches").json()["jobs"]) == 1
    wait_for(client, f"/v1/batches/{first}")


def test_a_cancelled_batch_keeps_what_it_has_and_begins_nothing_more(
    start: Start, held: HeldJudge, deployment: Any
) -> None:
    held.free = 2
    client = start(settings=deployment.settings.model_copy(update={"concurrency": 1, "samples": 1}))
    path = client.post("/v1/batches", json={"trajectories": runs(10)}).headers["location"]
    until(lambda: bool(client.get(f"{path}/results").json()["results"]), "a verdict is there")
    assert client.delete(path).json()["state"] == "cancelled"
    held.release()
    until(lambda: not client.app.state.workers._controls, "the job is over")  # type: ignore[attr-defined]
    judged = client.get(f"{path}/results").json()["results"]
    assert 1 <= len(judged) <= len(held.asked) < 10
    assert client.get(path).json()["state"] == "cancelled"


SERVER = """
import asyncio, sys, uvicorn
from pathlib import Path
from judge.config import load_settings
from judge.providers.fake import Fake
from judge.server.app import create_app
from judge.server.listening import listen
from judge.server.service import Deployment, open_service
folder, judge, most, complete = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Fake.complete
async def the_first_calls(self, request):
    while self.calls >= most:
        await asyncio.sleep(1)
    return await complete(self, request)
Fake.complete = the_first_calls
given = {"judge": judge, "cache_dir": folder / "cache", "certificates": folder / "c", "concurrency": 2, "samples": 1}
settings = load_settings(given, environment={}, folder=folder)
app, listener = create_app(open_service(Deployment(settings=settings, data=folder / "data"))), listen("127.0.0.1", 0)
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
"""
"""Serves a judge that answers so many calls, and no more of them ever; says its port."""


def test_a_batch_goes_on_after_kill_minus_9_and_judges_nothing_twice(script: str, tmp_path: Path) -> None:
    def server(most: int) -> tuple[subprocess.Popen[str], str]:
        command = [sys.executable, "-c", SERVER, str(tmp_path), script, str(most)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        return process, f"http://127.0.0.1:{int(process.stdout.readline())}"

    def ask(address: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address, data=data, headers={"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.load(answer)

    first, url = server(6)
    with first:
        try:
            id = ask(f"{url}/v1/batches", {"trajectories": runs(24)})["id"]
            until(lambda: len(ask(f"{url}/v1/batches/{id}/results")["results"]) >= 4, "four verdicts are there")
        finally:
            first.kill()
    results = tmp_path / "data" / "batches" / id / "run" / "results.jsonl"
    before = results.read_text().splitlines()
    assert 4 <= len(before) <= 6
    second, url = server(1000)
    with second:
        try:
            until(lambda: ask(f"{url}/v1/batches/{id}")["state"] in ("done", "failed"), "the batch is over")
            job = ask(f"{url}/v1/batches/{id}")
        finally:
            second.terminate()
    assert job["state"] == "done", job
    assert job["result"]["kept"] >= len(before) - 1  # the last line may have been torn by the kill
    ids = [json.loads(line)["trajectory_id"] for line in results.read_text().splitlines() if line.strip()]
    assert sorted(ids) == sorted(f"run-{k}" for k in range(1, 25))


def labelled(client: Any, kind: str, count: int = 160) -> None:
    """A queue of many runs that the judge and the rater agree on, half of them passed."""
    many = [run(f"r{k}") | {"group": f"g{k}"} for k in range(count)]
    asked = {"id": "desk", "rubric": "process", "pass_mark": 4, "verdicts": True, "trajectories": many}
    assert client.post("/v1/queues", json=asked).status_code == 201
    queues = service_behind(client).queues
    for k in range(count):
        queues.save("desk", Entry(trajectory_id=f"r{k}", rater="ana", rater_kind=kind, value=5 if k % 2 else 1))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "decision", "status", "state"),
    [("human", "certified", 200, "certified"), ("model", "undecided", 409, None)],
)
def test_only_labels_of_people_open_the_gate(
    start: Start, tmp_path: Path, kind: str, decision: str, status: int, state: str | None
) -> None:
    script = tmp_path / "agrees.json"
    script.write_text(json.dumps({"trajectories": {f"r{k}": 5 if k % 2 else 1 for k in range(160)}}), encoding="utf-8")
    client = start(judge=f"fake/{script}", max_items=500)
    labelled(client, kind)
    begun = client.post("/v1/calibrations", json={"queue": "desk", "claims": ["tpr", "tnr", "kappa"]})
    job = wait_for(client, f"/v1/calibrations/{begun.json()['id']}")
    assert job["state"] == "done", job["error"]
    certificate = job["result"]["certificate"]
    assert {claim["name"]: claim["met"] for claim in certificate["claims"] if claim["required"]} == {
        "tpr": True, "tnr": True, "kappa": True,
    }  # fmt: skip
    assert job["result"]["decision"] == decision, certificate["reasons"]
    assert ("do not open the gate" in " ".join(certificate["reasons"])) == (kind == "model")
    assert certificate["scope"]["label_kinds"] == [kind]
    answer = client.post("/v1/score", json={"trajectory": run("r1"), "require_trust": True})
    assert answer.status_code == status
    if state is not None:
        assert answer.json()["results"][0]["trust"]["state"] == state


def test_an_unfinished_job_is_found_by_the_next_server(start: Start, deployment: Deployment) -> None:
    deployment.data.mkdir()
    engine = open_database(sqlite_url(deployment.data / "service.sqlite"))
    jobs = Jobs(engine)
    asked = dict.fromkeys(("set", "judge", "samples", "criterion", "repeats", "profile", "claims"))
    left = jobs.add("calibration", "boss", {"queue": "gone", **asked})
    engine.dispose()
    later = start()
    job = wait_for(later, f"/v1/calibrations/{left.id}")
    assert job["state"] == "failed"
    assert "no queue 'gone'" in job["error"]["message"]


def test_the_export_is_a_labels_file(start: Start) -> None:
    from judge.types.label import Label

    client = start()
    client.post("/v1/queues", json={"id": "desk", "rubric": "process", "trajectories": runs(4), "n": 2, "seed": 1})
    queues = service_behind(client).queues
    drawn = [item.trajectory.id for item in queues.items("desk")]
    assert len(drawn) == 2
    for id in drawn:
        client.post("/v1/labels", json={"queue": "desk", "trajectory_id": id, "value": RATERS["ana"][id], "step": 2})
    lines = client.get("/v1/labels/export?queue=desk").text.splitlines()
    found = [Label.from_json(json.loads(line)) for line in lines]
    assert {label.trajectory_id for label in found} == set(drawn)
    assert {(x.rater, x.rater_kind, x.inclusion_probability, x.rubric_version) for x in found} == {
        ("local", "human", 0.5, "1")
    }
    off = client.post("/v1/labels", json={"queue": "desk", "trajectory_id": drawn[0], "value": 6})
    assert off.status_code == 422


def test_a_label_changed_after_the_verdict_was_shown_says_so(start: Start) -> None:
    client = start()
    client.post("/v1/queues", json={"id": "desk", "rubric": "process", "trajectories": runs(2), "verdicts": True})
    asked = {"queue": "desk", "trajectory_id": "run-1"}
    client.post("/v1/labels", json=asked | {"skipped": True})
    client.post("/v1/labels", json=asked | {"value": 2, "note": "first"})  # nothing was shown for a skipped run
    assert [entry.note for entry in service_behind(client).queues.entries("desk")] == ["first"]
    client.post("/v1/labels", json=asked | {"value": 4, "note": "second"})
    assert [entry.note for entry in service_behind(client).queues.entries("desk")] == [f"{CHANGED} second"]


def test_the_next_run_is_blind(start: Start) -> None:
    client = start()
    told = [run("run-1") | {"meta": {"secret": "gold-4"}}]
    client.post("/v1/queues", json={"id": "desk", "rubric": "process", "trajectories": told, "verdicts": True})
    client.post("/v1/labels", json={"queue": "desk", "trajectory_id": "run-1", "value": 2, "rater": "ben"})
    answer = client.get("/v1/queues/desk/next")
    assert answer.json()["trajectory"]["id"] == "run-1"
    assert "gold-4" not in answer.text
    assert "verdict" not in answer.text
    assert "ben" not in answer.text


def test_health_answers_while_judge_calls_run(start: Start, held: HeldJudge, deployment: Deployment) -> None:
    client = start(settings=deployment.settings.model_copy(update={"concurrency": 16}))
    with ThreadPoolExecutor(16) as pool:
        body = {"samples": 1}
        calls = [pool.submit(client.post, "/v1/score", json=body | {"trajectory": run(f"x{k}")}) for k in range(16)]
        try:
            until(lambda: len(held.asked) == 16, "the judge is asked for every request")
            assert client.get("/healthz").status_code == 200  # while none of them can end
            assert not any(call.done() for call in calls)
        finally:
            held.release()
        assert {call.result().status_code for call in calls} == {200}
