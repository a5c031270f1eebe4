"""Scoring over HTTP: what is taken, what is refused, and that a failed judgement is never a number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from running_service import Start, key_for, wait_for
from service_runs import run, runs

from judge.server.counters import Counters
from judge.server.service import Deployment
from judge.types.stop_rule import StopRule

CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]


def score(client: Any, **body: Any) -> Any:
    return client.post("/v1/score", json=body)


def test_a_native_run_and_a_chat_are_scored_with_their_trust(start: Start) -> None:
    client = start()
    answer = score(client, trajectories=[run("run-5"), CHAT])
    assert answer.status_code == 200
    first, second = answer.json()["results"]
    assert (first["trajectory_id"], first["score"], first["trust"]["state"]) == ("run-5", 1.0, "uncertified")
    assert (second["status"], second["score"]) == ("ok", 3.0)  # the script's default
    assert answer.json()["summary"]["scored"] == 2


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"labels": {"reward": 1}}, "labels"),
        ({"outcome": {"status": "completed"}}, "outcome"),
        ({"reward": 0}, "reward"),
    ],
)
def test_a_run_that_tells_the_answer_is_refused(start: Start, change: dict[str, Any], named: str) -> None:
    given = run("run-1") | change if named != "reward" else {"messages": CHAT} | change
    answer = score(start(), trajectory=given)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["title"] == "answer in request"
    assert named in answer.json()["detail"]


@pytest.mark.parametrize(
    ("given", "where"),
    [
        (run("a") | {"meta": {"outcome": "passed"}}, "meta.outcome"),
        (run("a") | {"meta": {"bench": {"gold": 4}}}, "meta.bench.gold"),
        (run("a") | {"steps": [*run("a")["steps"][:-1], {**run("a")["steps"][-1], "extra": {"reward": 1}}]}, "reward"),
        ([{**CHAT[0], "reward": 0.5}, *CHAT[1:]], "0.reward"),
        ({"messages": CHAT, "info": {"reward_info": {"reward": 1}}}, "info.reward_info"),
        ({"messages": CHAT, "metadata": {"label": "good"}}, "metadata.label"),
        ({"trajectories": [{"messages": CHAT, "expected_score": 4}]}, "expected_score"),
        ({"messages": CHAT, "score": 1}, "score"),
    ],
)
def test_an_answer_deep_inside_is_found_and_named(start: Start, given: Any, where: str) -> None:
    for path, body in (("/v1/score", {"trajectory": given}), ("/v1/batches", {"trajectories": [given]})):
        answer = start().post(path, json=body)
        assert (answer.status_code, answer.json()["title"]) == (422, "answer in request")
        assert where in answer.json()["detail"]


def test_words_of_agent_and_tools_may_be_called_labels_or_reward(start: Start) -> None:
    given = run("a")
    given["steps"][1]["arguments"] = {"labels": ["INBOX"], "reward": 5, "outcome": "won"}
    given["steps"][2]["content"] = [{"type": "json", "value": {"labels": ["SPAM"], "gold": 3}}]
    assert score(start(), trajectory=given).status_code == 200


def test_no_path_of_a_request_is_opened(start: Start, tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_text(json.dumps(run("leaked")), encoding="utf-8")
    client = start()
    for body in (
        {"trajectory": str(secret)},
        {"trajectory": run("a"), "rubric": str(secret)},
        {"trajectory": run("a"), "judge": f"replay/{secret}"},
        {"trajectory": run("a"), "rubric": "../process"},
    ):
        answer = score(client, **body)
        assert answer.status_code == 422, body
        assert "leaked" not in answer.text
    policy = client.post("/v1/check", json={"trajectory": run("a"), "policy": str(secret)})
    assert policy.status_code == 422


FAILURES = {
    "slow": ({"error": "timeout"}, 504, True),
    "overloaded": ({"error": 429, "retry_after": 0}, 503, True),
    "broken": ({"error": 500}, 502, True),
    "no key": ({"error": 401}, 502, False),
    "no use": ({"text": "no JSON here"}, 502, True),
}


@pytest.mark.parametrize(("reply", "status", "wait"), FAILURES.values(), ids=FAILURES)
def test_a_failed_judgement_is_a_problem_by_cause(
    start: Start, tmp_path: Path, deployment: Any, reply: dict[str, Any], status: int, wait: bool
) -> None:
    script = tmp_path / "fails.json"
    script.write_text(json.dumps({"default": reply}), encoding="utf-8")
    quick = deployment.settings.model_copy(update={"http_retries": 0, "retries": 0})
    client = start(settings=quick, judge=f"fake/{script}")
    answer = score(client, trajectory=run("run-1"))
    assert answer.status_code == status, answer.text
    assert ("retry-after" in answer.headers) == wait
    assert '"score": 1' not in answer.text
    assert all(result["score"] is None for result in answer.json().get("results", []))


def test_one_failure_among_others_is_a_verdict_without_a_score(start: Start, tmp_path: Path) -> None:
    script = tmp_path / "mixed.json"
    script.write_text(json.dumps({"trajectories": {"run-1": 4, "run-2": {"text": "?"}}}), encoding="utf-8")
    answer = score(start(judge=f"fake/{script}"), trajectories=runs(2))
    assert answer.status_code == 200
    assert [(r["status"], r["score"]) for r in answer.json()["results"]] == [("ok", 4.0), ("error", None)]
    assert answer.json()["summary"]["errors"] == {"unparsed": 1}


def test_trust_that_was_required_and_is_missing_is_a_conflict_that_says_why(start: Start) -> None:
    answer = score(start(), trajectory=run("run-1"), require_trust=True)
    assert answer.status_code == 409
    assert "No certificate" in answer.json()["detail"]
    strict = score(start(require_trust=True), trajectory=run("run-1"))
    assert strict.status_code == 409  # whatever the request says


def test_limits_of_steps_items_and_body(start: Start) -> None:
    client = start(max_steps=4, max_items=2, max_body=20_000)
    assert score(client, trajectory=run("a")).status_code == 413  # five steps
    assert score(client, trajectories=[CHAT] * 3).json()["title"] == "too many trajectories"
    assert score(client, trajectory=[{"role": "user", "content": "x" * 30_000}]).json()["title"] == "body too large"
    chunks = client.post("/v1/score", content=iter([b"x" * 15_000] * 2), headers={"content-type": "application/json"})
    assert chunks.status_code == 413  # no length was stated: counted as it comes


@pytest.mark.parametrize("body", [b"{", b'{"trajectory": NaN}', b'{"trajectory": "\\ud800"}', b"\xff", b"[" * 5000])
def test_what_is_no_json_is_a_problem_and_no_crash(start: Start, body: bytes) -> None:
    answer = start().post("/v1/score", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400


def test_a_repeated_idempotency_key_gets_the_first_answer(start: Start) -> None:
    client = start()
    headers = {"Idempotency-Key": "k1"}
    first = client.post("/v1/score", json={"trajectory": run("run-1")}, headers=headers)
    again = client.post("/v1/score", json={"trajectory": run("run-1")}, headers=headers)
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"
    other = client.post("/v1/score", json={"trajectory": run("run-2")}, headers=headers)
    assert other.json()["title"] == "key reused"
    failed = client.post("/v1/score", json={"trajectory": "x"}, headers={"Idempotency-Key": "k2"})
    assert failed.status_code == 422
    assert client.post("/v1/score", json={"trajectory": CHAT}, headers={"Idempotency-Key": "k2"}).status_code == 200


def test_metrics_and_checks_are_those_of_the_command_line(start: Start) -> None:
    client = start()
    found = client.post("/v1/metrics", json={"trajectory": run("run-1")}).json()["results"][0]
    assert found["metrics"]["num_tool_calls"]["value"] == 2
    checks = [
        {"id": "read-first", "before": {"first": "get_order", "then": "refund"}},
        {"id": "never", "must_not_call": "refund"},
    ]
    policy = {"id": "p", "title": "P", "checks": checks}
    checked = client.post("/v1/check", json={"trajectory": run("run-1"), "policy": policy}).json()["results"][0]
    assert [check["status"] for check in checked["checks"]] == ["passed", "failed"]
    assert checked["passed"] is False


def test_a_schema_of_a_request_is_never_fetched(start: Start) -> None:
    policy = {
        "id": "p",
        "title": "P",
        "checks": [{"id": "s", "arguments": {"tools": "refund", "schema": {"$ref": "http://127.0.0.1:9/x"}}}],
    }
    answer = start().post("/v1/check", json={"trajectory": run("run-1"), "policy": policy})
    assert answer.status_code == 422
    assert "nothing is fetched" in answer.json()["detail"]


def test_health_answers_and_counts_name_nobody(start: Start) -> None:
    client = start()
    score(client, trajectory=run("very-secret-run"))
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    text = client.get("/metrics").text
    assert 'judge_verdicts_total{status="ok"} 1' in text
    assert 'judge_requests_total{route="/v1/score",status="200"} 1' in text
    assert "very-secret-run" not in text


def test_counts_keep_every_digit_and_an_unknown_cost_is_no_zero() -> None:
    counters = Counters()
    counters.add("judge_calls_total", 12_345_678)
    counters.spend(1, 0.1 + 0.2)
    counters.spend(3, None)
    found = dict(line.rsplit(" ", 1) for line in counters.text().splitlines() if not line.startswith("#"))
    assert found["judge_calls_total"] == "12345682"
    assert found["judge_cost_usd_total"] == "0.30000000000000004"
    assert found["judge_calls_unpriced_total"] == "3"


def test_calls_of_a_batch_are_counted_and_what_is_spent_is_for_those_with_a_key(start: Start) -> None:
    client = start()
    job = wait_for(client, client.post("/v1/batches", json={"trajectories": runs(3)}).headers["location"])
    calls = job["result"]["summary"]["calls"]
    assert calls >= 3
    assert f"judge_calls_total {calls}" in client.get("/metrics").text.splitlines()
    headers = [key_for(client, role, role) for role in ("score", "label", "admin")]
    assert client.get("/metrics").status_code == 401
    assert {client.get("/metrics", headers=one).status_code for one in headers} == {200}
    assert client.get("/metrics", headers={"Authorization": "Bearer tj_wrong"}).status_code == 401


def test_votes_that_a_stop_rule_left_out_are_in_the_summary(start: Start, deployment: Deployment) -> None:
    client = start(settings=deployment.settings.model_copy(update={"stop": StopRule()}))
    stopping = score(client, trajectories=runs(2)).json()["summary"]["stopping"]
    assert 0 < stopping["drawn"] < stopping["most"]
    assert score(client, trajectories=runs(2), samples=3).json()["summary"]["stopping"] is None
