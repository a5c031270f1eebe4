"""The same requests to a service on SQLite and to one on PostgreSQL get the same answers, times and new ids aside."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from running_service import Start, key_for, service_behind, wait_for, wait_for_first_purge
from service_runs import RATERS, runs
from sqlalchemy import update

from judge.server.service import Deployment
from judge.store.database import stamp
from judge.store.retention import Retention
from judge.store.tables import JOBS, LABELS

FORM = {"content-type": "application/x-www-form-urlencoded"}
TIMES = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00)?)?")
IDS = re.compile(r"\b(?:(?:batch|calibration|comparison)-[0-9a-z-]+|[0-9a-f]{16}\b)")
"""Of jobs, and of certificates, which follow from their time."""
FLEETING = ("seconds", "csrf", "cursor", "latency_s", "rows_per_s", "next", "duration_s", "elapsed_s", "seal")


class Asked:
    """Requests to one service, with every answer written down."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.answers: list[Any] = []

    def __call__(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """The answer, once it is written down."""
        answer = self.client.request(method, path, json=body, follow_redirects=False, **options)
        kind = answer.headers.get("content-type", "")
        said = answer.json() if kind.endswith("json") and answer.content else answer.text
        self.answers.append((method, still(path), answer.status_code, still(said)))
        return said

    def job(self, path: str, **options: Any) -> None:
        """Waits for a job to end, and writes down how it ended."""
        self.answers.append(("JOB", still(path), 200, still(wait_for(self.client, path, **options))))


def still(value: Any) -> Any:
    """What must be the same: without times, durations and ids of jobs."""
    if isinstance(value, dict):
        return {key: "…" if key in FLEETING and item is not None else still(item) for key, item in value.items()}
    if isinstance(value, list):
        return [still(item) for item in value]
    if isinstance(value, str):
        text = re.sub(r'(name="csrf" value="|"seconds": )[^",}]*', r"\1…", value)
        return IDS.sub("ID", TIMES.sub("TIME", text))
    return value


def difference(mine: Any, theirs: Any, where: str = "") -> str:
    """Where two answers differ first, and how."""
    if isinstance(mine, dict) and isinstance(theirs, dict) and mine.keys() == theirs.keys():
        return next(difference(mine[key], theirs[key], f"{where}.{key}") for key in mine if mine[key] != theirs[key])
    if isinstance(mine, list | tuple) and isinstance(theirs, list | tuple) and len(mine) == len(theirs):
        place = next(k for k, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1])
        return difference(mine[place], theirs[place], f"{where}[{place}]")
    return f"{where}: {str(mine)[:400]!r} on SQLite, {str(theirs)[:400]!r} on PostgreSQL"


def everything(client: Any) -> list[Any]:
    """Every kind of request: scores, jobs, labels, pages, export, calibration, roles, deleting by age."""
    ask = Asked(client)
    ask("POST", "/v1/score", {"trajectory": runs(1)[0]}, headers={"Idempotency-Key": "one"})
    for _ in range(2):
        ask("POST", "/v1/score", {"trajectories": runs(3)}, headers={"Idempotency-Key": "k"})
    ask("POST", "/v1/score", {"trajectories": runs(2)}, headers={"Idempotency-Key": "k"})

    batch = ask("POST", "/v1/batches", {"trajectories": runs(10)})["id"]
    ask.job(f"/v1/batches/{batch}")
    cursor: str | None = None
    for _ in range(3):
        page = ask("GET", f"/v1/batches/{batch}/results", params={"limit": 4} | ({"cursor": cursor} if cursor else {}))
        cursor = page["next"]
    ask("GET", f"/v1/batches/{batch}/events")
    for _ in range(2):
        ask.job(f"/v1/batches/{ask('POST', '/v1/batches', {'trajectories': runs(1)})['id']}")
    following = ask("GET", "/v1/batches?limit=2")["next"]
    ask("GET", "/v1/batches", params={"limit": 2, "cursor": following})
    ask("DELETE", f"/v1/batches/{batch}")
    ask("GET", "/v1/batches/batch-nowhere")

    queue = {"id": "desk", "rubric": "process", "pass_mark": 4, "trajectories": runs(10), "seed": 7}
    ask("POST", "/v1/queues", queue | {"order": "uncertainty", "n": 9})
    ask("DELETE", "/v1/queues/desk")
    ask("POST", "/v1/queues", queue | {"verdicts": True})
    ask("POST", "/v1/queues", queue)
    for rater, values in RATERS.items():
        for run, value in values.items():
            body = {"queue": "desk", "trajectory_id": run, "value": value, "rater": rater, "note": "naïve 🙂 \u202e"}
            ask("POST", "/v1/labels", body)
    ask("POST", "/v1/labels", {"queue": "desk", "trajectory_id": "run-1", "skipped": True, "rater": "cleo"})
    ask("POST", "/v1/labels", {"queue": "desk", "trajectory_id": "run-9", "value": 1, "rater_kind": "model"})
    ask("POST", "/v1/labels", {"queue": "desk", "trajectory_id": "run-9", "value": 9})
    ask("GET", "/v1/queues/desk/next")
    following = ask("GET", "/v1/labels?queue=desk&limit=15")["next"]
    ask("GET", "/v1/labels", params={"queue": "desk", "limit": 15, "cursor": following})

    client.post("/sign-in", content="key=boss", headers=FORM)
    token = client.get("/label").text.partition('name="csrf" value="')[2].partition('"')[0]
    for run, value in (("run-4", 4), ("run-7", 2)):
        client.post("/adjudicate/desk", content=f"item={run}&value={value}&csrf={token}", headers=FORM)
    for path in ("/label", "/label/desk", "/label/desk?saved=1", "/adjudicate/desk", "/disagreements/desk"):
        ask("GET", path)
    ask("GET", "/v1/queues")
    ask("GET", "/v1/labels/export?queue=desk")

    with service_behind(client).engine.begin() as connection:  # fingerprints of labels hold their times
        connection.execute(update(LABELS).values(labelled_at="2026-11-30T12:00:00.000000+00:00"))
    ask.job(f"/v1/calibrations/{ask('POST', '/v1/calibrations', {'queue': 'desk'})['id']}")
    ask("GET", "/v1/calibrations")
    for path in ("/reports", "/certificates"):
        ask("GET", path)

    wait_for_first_purge(client)
    ask("GET", "/v1/retention")
    with service_behind(client).engine.begin() as connection:
        connection.execute(update(JOBS).where(JOBS.c.id == batch).values(updated_at=stamp().replace("20", "19", 1)))
    for dry in (True, False, False):
        ask("POST", "/v1/retention/purge", {"dry_run": dry})
    ask("GET", f"/v1/batches/{batch}/results")

    keys = {role: key_for(client, role, role) for role in ("score", "label", "admin")}
    for key in (*keys.values(), {}):
        ask("GET", "/v1/labels/export?queue=desk", headers=key)
        ask("GET", "/v1/batches", headers=key)
    return ask.answers


def test_the_answers_are_the_same_on_both(start: Start, postgres: str, tmp_path: Path, deployment: Deployment) -> None:
    kept = Retention(verdicts=30)
    told = {}
    for name, database in (("sqlite", None), ("postgresql", postgres)):
        own = {"cache_dir": tmp_path / name / "cache", "certificates": tmp_path / name / "certificates"}
        settings = deployment.settings.model_copy(update=own)
        client = start(database=database, data=tmp_path / name, settings=settings, retention=kept)
        assert service_behind(client).engine.dialect.name == name
        told[name] = everything(client)
    assert len(told["sqlite"]) == len(told["postgresql"]) > 70
    for mine, theirs in zip(told["sqlite"], told["postgresql"], strict=True):
        assert mine == theirs, f"{mine[:2]}: {difference(mine, theirs)}"
    statuses = {answer[2] for answer in told["sqlite"]}
    assert statuses == {200, 201, 202, 204, 401, 403, 404, 409, 410, 422}
