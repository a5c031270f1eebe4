"""What a batch of the service costs is counted call by call, also where the bill of one is not known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from loopback import LoopbackServer, Received, Scripted, chat
from running_service import Start, wait_for
from service_runs import runs

from judge.config import load_settings

HALF = Scripted(200, '{"choices": [{"mess', {"content-type": "application/json"})
PRICE = {"input_usd_per_million": 1000.0, "output_usd_per_million": 1000.0}
GOOD = json.dumps({"reason": "It is so.", "evidence": [{"step": 1, "quote": ""}], "score": 4})


def test_an_unknown_bill_leaves_the_bills_before_and_after_it_counted(start: Start, tmp_path: Path) -> None:
    """100 + 20 tokens at $1,000 a million are 12 cents; of three runs, judged one by one, the second breaks off."""
    calls = 0

    def serve(received: Received) -> Scripted:
        nonlocal calls
        calls += 1
        return HALF if calls == 2 else chat(GOOD, tokens=(100, 20))

    with LoopbackServer(serve) as server:
        values: dict[str, Any] = {
            "judge": "openai/m1",
            "providers": {"openai": {"base_url": f"{server.url}/v1"}},
            "models": {"openai/m1": PRICE},
            "cache_dir": tmp_path / "cache",
            "certificates": tmp_path / "certificates",
            "samples": 1,
            "retries": 0,
            "http_retries": 0,
            "concurrency": 1,
        }
        settings = load_settings(values, environment={}, folder=tmp_path)
        client = start(settings=settings, judges=("openai/m1",))
        job = wait_for(client, client.post("/v1/batches", json={"trajectories": runs(3)}).headers["location"])
        counted = dict(
            line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if not line.startswith("#")
        )
    summary = job["result"]["summary"]
    assert (summary["errors"], summary["known_usd"], summary["unpriced"]) == ({"bad_response": 1}, 0.24, 1)
    assert float(counted["judge_cost_usd_total"]) == 0.24
    assert (counted["judge_calls_total"], counted["judge_calls_unpriced_total"]) == ("3", "1")
