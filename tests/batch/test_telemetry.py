"""Spans, metrics and logs of judge calls: by the GenAI conventions, off by default, never a text of a run."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from batch_items import GOOD, RUBRIC, JudgeServer, name_of, settings_of, write_items
from loopback import Scripted, chat

from judge.cli.logs import JsonLines
from judge.config import load_settings
from judge.engine import observed as observed_module
from judge.engine.batch import judge_batch
from judge.engine.telemetry import Telemetry

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("environment", "on"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_SERVICE_NAME": "x"}, False),
    ],
)
def test_telemetry_is_on_only_where_an_exporter_is_configured(
    environment: dict[str, str], on: bool, tmp_path: Path
) -> None:
    assert load_settings({}, environment=environment, folder=tmp_path).telemetry is on


def test_spans_and_metrics_of_judge_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(observed_module, "telemetry", lambda: made)
    source = write_items(tmp_path / "in.jsonl", 3, said={name_of(0): "item-0000 SECRET TEXT"})
    bad = Scripted(400, {"error": {"message": "no"}})
    with JudgeServer(lambda item, before: bad if item == name_of(2) else chat(GOOD, tokens=(100, 20))) as server:
        settings = settings_of(tmp_path, server.url, telemetry=True, temperature=0.0)
        judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings)
        port = server.server.port
    finished = spans.get_finished_spans()
    by_item: dict[Any, Any] = {span.attributes["judge.trajectory.id"]: span for span in finished if span.attributes}
    assert len(finished) == len(by_item) == 3
    good = by_item[name_of(0)]
    assert (good.name, good.kind.name, good.status.status_code.name) == ("chat m1", "CLIENT", "UNSET")
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m1",
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.max_tokens": 100,
        "gen_ai.response.model": "served-model",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "server.address": "127.0.0.1",
        "server.port": port,
    }
    assert {name: good.attributes.get(name) for name in expected} == expected
    failed = by_item[name_of(2)]
    assert (failed.status.status_code.name, failed.attributes["error.type"]) == ("ERROR", "request_refused")
    assert "SECRET" not in "".join(span.to_json() for span in finished)
    data = reader.get_metrics_data()
    metrics = {m.name: m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics}  # type: ignore[union-attr]
    tokens = {
        point.attributes["gen_ai.token.type"]: (point.count, point.sum)
        for point in metrics["gen_ai.client.token.usage"].data.data_points
    }
    assert tokens == {"input": (2, 200), "output": (2, 40)}
    durations = metrics["gen_ai.client.operation.duration"]
    assert durations.unit == "s"
    assert sum(point.count for point in durations.data.data_points) == 3


def test_a_configured_exporter_sends_by_itself(tmp_path: Path) -> None:
    """In a process of its own, since the SDK's providers are set once: the collector gets traces and metrics."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    from loopback import LoopbackServer

    write_items(tmp_path / "in.jsonl", 2)
    program = (
        "import sys; sys.path[:0] = sys.argv[3:]\n"
        "from pathlib import Path\nfrom batch_items import *\nfrom judge.engine.batch import judge_batch\n"
        "work = Path(sys.argv[1])\n"
        "settings = settings_of(work, sys.argv[2]).model_copy(update={'telemetry': True})\n"
        "judge_batch([work / 'in.jsonl'], RUBRIC, out=work / 'run', settings=settings)\n"
    )
    with JudgeServer() as server, LoopbackServer([Scripted(200, {})]) as collector:
        paths = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "batch")]
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path), server.url, *paths],
            env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        paths_called = {received.path for received in collector.requests}
        bodies = b"".join(received.body for received in collector.requests if isinstance(received.body, bytes))
    assert paths_called == {"/v1/traces", "/v1/metrics"}
    assert b"chat m1" in bodies
    assert b"the answer of" not in bodies


def test_nothing_is_watched_where_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(observed_module, "ObservedConnection", lambda *given: made.append(given))
    source = write_items(tmp_path / "in.jsonl", 1)
    with JudgeServer() as server:
        judge_batch([source], RUBRIC, out=tmp_path / "run", settings=settings_of(tmp_path, server.url))
    assert made == []


def test_a_log_line_is_json_with_its_facts() -> None:
    record = logging.LogRecord("judge.call", logging.WARNING, "x.py", 1, "call failed", (), None)
    record.facts = {"error": "rate_limit", "seconds": 1.5}
    line = json.loads(JsonLines().format(record))
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "warning",
        "logger": "judge.call",
        "event": "call failed",
        "error": "rate_limit",
        "seconds": 1.5,
    }
