"""Lists a page at a time: rows that come, change or go meanwhile neither repeat nor hide another one."""

from __future__ import annotations

from typing import Any

import pytest
from held_judge import HeldJudge, until
from running_service import Start, pages, service_behind, wait_for
from service_runs import runs
from sqlalchemy import delete

from judge.server.cursors import read_cursor, write_cursor
from judge.server.problems import Problem
from judge.store.tables import JOBS


def label(client: Any, run: str, value: int = 4, rater: str = "ana") -> None:
    body = {"queue": "desk", "trajectory_id": run, "value": value, "rater": rater}
    assert client.post("/v1/labels", json=body).status_code == 201


def test_labels_that_change_while_they_are_read(start: Start) -> None:
    client = start()
    client.post("/v1/queues", json={"id": "desk", "rubric": "process", "trajectories": runs(6)})
    for k in range(1, 6):
        label(client, f"run-{k}")
    first = client.get("/v1/labels?queue=desk&limit=2").json()
    assert [row["trajectory_id"] for row in first["labels"]] == ["run-1", "run-2"]
    label(client, "run-1", 2)  # changed: it moves to the end, and nobody else moves for it
    label(client, "run-6")
    rest, cursor = [], first["next"]
    while cursor is not None:
        page = client.get("/v1/labels", params={"queue": "desk", "limit": 2, "cursor": cursor}).json()
        rest += [(row["trajectory_id"], row["value"]) for row in page["labels"]]
        cursor = page["next"]
    assert rest == [("run-3", 4), ("run-4", 4), ("run-5", 4), ("run-1", 2), ("run-6", 4)]


def test_jobs_that_come_and_go_while_they_are_read(start: Start) -> None:
    client = start()

    def begin() -> str:
        return str(client.post("/v1/batches", json={"trajectories": runs(1)}).json()["id"])

    made = [begin() for _ in range(4)]
    first = client.get("/v1/batches?limit=2").json()
    assert [job["id"] for job in first["jobs"]] == [made[3], made[2]]
    more = begin()
    for id in (*made, more):
        wait_for(client, f"/v1/batches/{id}")
    with service_behind(client).engine.begin() as connection:  # the very row that the cursor points at
        connection.execute(delete(JOBS).where(JOBS.c.id == made[2]))
    second = client.get("/v1/batches", params={"limit": 2, "cursor": first["next"]}).json()
    assert [job["id"] for job in second["jobs"]] == [made[1], made[0]]
    assert second["next"] is None


def test_verdicts_read_while_the_batch_runs_come_once_and_all(start: Start, held: HeldJudge, deployment: Any) -> None:
    client = start(settings=deployment.settings.model_copy(update={"concurrency": 3, "samples": 1}))
    path = client.post("/v1/batches", json={"trajectories": runs(10)}).headers["location"]
    seen: list[str] = []
    asked: dict[str, Any] = {"limit": 4}
    sizes: list[int] = []

    def read() -> bool:
        """The next page; whether it was the last."""
        page = client.get(f"{path}/results", params=asked).json()
        seen.extend(verdict["trajectory_id"] for verdict in page["results"])
        sizes.append(len(page["results"]))
        asked["cursor"] = page["next"]
        held.free += 1  # one more verdict may come
        return page["next"] is None

    until(read, "the last page is read")
    assert seen == [f"run-{k}" for k in range(1, 11)]
    assert sizes[0] == 0  # it was asked before anything was there
    assert client.get(path).json()["state"] == "done"
    assert [len(page) for page in pages(client, f"{path}/results", "results", limit=1000)] == [10]


CURSORS = ["", "x", "%00", "bnVsbA", write_cursor(1, 2), write_cursor("a"), write_cursor(-1), write_cursor(2**31), "ä"]


@pytest.mark.parametrize("cursor", CURSORS)
def test_what_is_no_cursor_of_the_list_is_refused(start: Start, cursor: str) -> None:
    client = start()
    client.post("/v1/queues", json={"id": "desk", "rubric": "process", "trajectories": runs(1)})
    path = client.post("/v1/batches", json={"trajectories": runs(1)}).headers["location"]
    wait_for(client, path)
    for list_ in ("/v1/batches", f"{path}/results", "/v1/labels?queue=desk", "/v1/calibrations", "/v1/comparisons"):
        answer = client.get(list_, params={"cursor": cursor, "queue": "desk"})
        assert (answer.status_code, answer.json()["title"]) == (422, "bad cursor"), list_


def test_a_cursor_gives_back_its_key_and_fits_the_longest_id() -> None:
    longest = "🙂" * 500
    assert read_cursor(write_cursor("t", longest, "ana"), str, str, str) == ("t", longest, "ana")
    assert len(write_cursor("2026-11-30T12:00:00.000000+00:00", longest, "r" * 64)) <= 4000
    assert read_cursor(None, str) is None
    with pytest.raises(Problem, match="no cursor"):
        read_cursor(write_cursor("\x00"), str)
