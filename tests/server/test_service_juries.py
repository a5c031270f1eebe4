"""A jury is offered and asked by its name, like any judge: it scores, and runs a batch."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from running_service import wait_for
from service_runs import run, runs
from starlette.testclient import TestClient

from judge.server.app import create_app
from judge.server.service import Deployment, open_service


def test_a_jury_scores_and_runs_a_batch_by_name(deployment: Deployment, tmp_path: Path) -> None:
    (tmp_path / "juries").mkdir()
    seats = {"members": ["fake/always-5", "fake/always-4", "fake/always-2"], "rule": "median"}
    (tmp_path / "juries" / "bench.yaml").write_text(json.dumps(seats), encoding="utf-8")
    settings = deployment.settings.model_copy(update={"juries": tmp_path / "juries", "judge": "jury/bench"})
    offered = replace(deployment, settings=settings, judges=("jury/bench", "fake/always-1"))
    with TestClient(create_app(open_service(offered)), base_url="http://localhost") as client:
        answer = client.post("/v1/score", json={"trajectory": run("run-1"), "judge": "jury/bench"})
        assert answer.status_code == 200
        (verdict,) = answer.json()["results"]
        assert (verdict["judge"], verdict["score"]) == ("jury/bench", 4)
        assert [vote["detail"]["judge"] for vote in verdict["criteria"][0]["votes"]] == seats["members"]
        begun = client.post("/v1/batches", json={"trajectories": runs(), "judge": "jury/bench"})
        job = wait_for(client, begun.headers["location"])
        assert (job["state"], job["result"]["judge"], job["result"]["summary"]["scored"]) == ("done", "jury/bench", 10)
        stranger = client.post("/v1/score", json={"trajectory": run("run-1"), "judge": "jury/other"})
        assert stranger.status_code in (404, 422)
