"""What a user and an operator are told of calls in batches at a provider, and of their money."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from batch_items import GOOD, name_of
from loopback import Scripted, chat
from provider_runs import OPENAI, Batches, batches

from judge.cli.logs import logging_to
from judge.engine import batch_notes, observed
from judge.engine.telemetry import Telemetry
from judge.store.run_folder import RunFolder
from judge.types import Verdict
from judge.voting import WRAPPED_UP


def of_all_kinds(tmp_path: Path, **flags: Any) -> Batches:
    """Item 0 needs a second try, item 1 is answered, item 2 expires as often as it may."""

    def answer(item: str, before: int) -> Any:
        if item == name_of(2):
            return "expired"
        return chat("no JSON" if item == name_of(0) and before == 0 else GOOD, tokens=(100, 20))

    return batches(OPENAI, tmp_path, items=3, answer=answer, batch_api={"tries": 2}, **flags)


def test_each_call_in_a_batch_has_one_line_in_the_log(tmp_path: Path) -> None:
    run = of_all_kinds(tmp_path)
    with run.server, logging_to(str(tmp_path / "log.jsonl")):
        run.run()
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    calls = [line for line in lines if line["logger"] == "judge.call"]
    told = {(c["trajectory_id"], c["sample"], c["attempt"], c["event"], c["batch"], c.get("error")) for c in calls}
    assert told == {
        (name_of(0), 0, 0, "call", 1, None),
        (name_of(0), 0, 1, "call", 2, None),
        (name_of(1), 0, 0, "call", 1, None),
        (name_of(2), 0, 0, "call failed", 2, "batch_expired"),  # its second and last batch
    }
    assert len(calls) == 4  # each once, though every pass reads what is there
    answered = [call for call in calls if call["event"] == "call"]
    assert {(c["input_tokens"], c["output_tokens"], c["cost_usd"], c["id"][:6]) for c in answered} == {
        (100, 20, 0.06, "batch_")
    }
    assert not any("seconds" in call for call in calls)  # an answer waits for all others of its batch
    assert "no JSON" not in (tmp_path / "log.jsonl").read_text(encoding="utf-8")


def test_each_call_in_a_batch_has_a_span_and_counts_its_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers, meters = TracerProvider(), MeterProvider(metric_readers=[reader])
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    made = Telemetry(tracers.get_tracer("test"), meters.get_meter("test"))
    for module in (batch_notes, observed):
        monkeypatch.setattr(module, "telemetry", lambda: made)
    run = of_all_kinds(tmp_path)
    with run.server:
        run.run(telemetry=True)
    found = [(dict(span.attributes or {}), span) for span in spans.get_finished_spans()]
    assert sorted((a["judge.trajectory.id"], a["judge.attempt"]) for a, _ in found) == [
        (name_of(0), 0),
        (name_of(0), 1),
        (name_of(1), 0),
        (name_of(2), 0),
    ]
    assert {str(a["judge.batch.id"])[:6] for a, _ in found} == {"batch_"}
    assert all(span.start_time < span.end_time for _, span in found)  # from when the batch was handed in
    assert [a["error.type"] for a, _ in found if "error.type" in a] == ["batch_expired"]
    data = reader.get_metrics_data()
    metrics = {m.name: m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics}  # type: ignore[union-attr]
    tokens = metrics["gen_ai.client.token.usage"].data.data_points
    assert {p.attributes["gen_ai.token.type"]: p.count for p in tokens} == {"input": 3, "output": 3}
    assert "gen_ai.client.operation.duration" not in metrics


def differing(item: str, before: int) -> Scripted:
    """4, then 2, then 4: a third vote is wanted. 70 cents each, of 1000 and 400 tokens at $1000 a million, and half."""
    return chat(json.dumps({"reason": "fine", "score": 2 if before == 1 else 4}), tokens=(1000, 400))


def the_verdict(folder: Path) -> Verdict:
    with RunFolder.read(folder) as run:
        (verdict,) = run.verdicts()
    return verdict


@pytest.mark.parametrize(("cap", "sizes", "score"), [(5.0, [2, 1], 4.0), (1.7, [2], 3.0)])
def test_the_last_fifth_of_the_money_buys_no_vote_that_can_be_done_without(
    cap: float, sizes: list[int], score: float, tmp_path: Path
) -> None:
    """Two votes cost $1.40, which is more than 80 % of $1.70."""
    run = batches(OPENAI, tmp_path, items=1, answer=differing, samples=None, max_usd=cap)
    with run.server as server:
        outcome = run.run()
    verdict = the_verdict(run.folder)
    wraps = cap < 5
    assert (server.sizes, verdict.score, outcome.error) == (sizes, score, None)
    assert (WRAPPED_UP in verdict.warnings, outcome.result.summary.wrapped_up) == (wraps, int(wraps))
    told = "Most of max_usd is spent ($1.4000 of $1.7)"
    assert sum(told in said for said in run.said) == int(wraps)


def test_a_vote_that_was_asked_for_before_is_taken_and_earlier_money_is_told(tmp_path: Path) -> None:
    run = batches(OPENAI, tmp_path, items=1, answer=differing, samples=None, max_usd=5.0)
    with run.server as server:
        while len(server.made) < 2:
            assert run.run(detach=True).result.stopped == "detached"
        run.said.clear()
        run.run(max_usd=1.7)
    verdict = the_verdict(run.folder)
    assert (server.sizes, verdict.score, WRAPPED_UP in verdict.warnings) == ([2, 1], 4.0, False)
    assert run.said[0] == "Earlier batches of this run cost $1.4000; they count towards max_usd = 1.7."


def test_what_the_cache_failed_to_do_is_counted(tmp_path: Path) -> None:
    run = batches(OPENAI, tmp_path, items=2)
    with run.server:
        assert run.run().result.summary.cache_failures == 0
