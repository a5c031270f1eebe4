"""OpenTelemetry spans and metrics of judge calls, by the GenAI conventions; off unless an exporter is configured.

One span "chat MODEL" for each call with all its tries, and the histograms ``gen_ai.client.operation.duration``
(seconds) and ``gen_ai.client.token.usage`` (tokens). Prompts and replies are never put into them.

Source: OpenTelemetry semantic conventions for generative AI, client spans and metrics.
"""

from __future__ import annotations

import importlib.util
import warnings
from functools import cache
from typing import Any

from judge.engine.connection import Connection
from judge.types.request import Reply, Request

SCOPE = "trajudge"
SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
"""Bucket bounds that the conventions ask for."""


class TelemetryWarning(UserWarning):
    """Calls are to be traced, and cannot be."""


class Telemetry:
    """Spans and metrics of one tracer and one meter."""

    def __init__(self, tracer: Any, meter: Any) -> None:
        self._tracer = tracer
        self._seconds = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="Duration of a judge call with all its tries.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Tokens of a judge call.",
            explicit_bucket_boundaries_advisory=TOKENS,
        )

    def begin(
        self, connection: Connection, request: Request, *, since_s: float | None = None, batch: str | None = None
    ) -> Any:
        """The span of a call.

        Args:
            since_s: When it began, in seconds since the epoch; None for now.
            batch: Id of the provider's batch that it was a request of.
        """
        from opentelemetry.trace import SpanKind

        sampling = request.sampling
        attributes = {
            **_common(connection),
            "gen_ai.output.type": "json",
            "gen_ai.request.max_tokens": sampling.max_output_tokens,
            "judge.trajectory.id": request.subject.trajectory_id,
            "judge.rubric": request.subject.rubric,
            "judge.sample": request.sample,
            "judge.attempt": request.attempt,
        }
        for name in ("temperature", "top_p", "seed"):
            value = getattr(sampling, name)
            if value is not None:
                attributes[f"gen_ai.request.{name}"] = value
        if batch is not None:
            attributes["judge.batch.id"] = batch
        start = None if since_s is None else int(since_s * 1e9)
        name = f"chat {connection.model}"
        return self._tracer.start_span(name, kind=SpanKind.CLIENT, attributes=attributes, start_time=start)

    def answered(self, span: Any, connection: Connection, reply: Reply, seconds: float | None) -> None:
        """Ends the span of a call that was answered; no `seconds` where it has no duration of its own."""
        common = _common(connection)
        if reply.model is not None:
            common["gen_ai.response.model"] = reply.model
            span.set_attribute("gen_ai.response.model", reply.model)
        if reply.finish_reason is not None:
            span.set_attribute("gen_ai.response.finish_reasons", [reply.finish_reason])
        span.set_attribute("judge.http_requests", reply.attempts)
        for kind in ("input", "output"):
            count = getattr(reply.usage, f"{kind}_tokens", None)
            if count is not None:
                span.set_attribute(f"gen_ai.usage.{kind}_tokens", count)
                self._tokens.record(count, {**common, "gen_ai.token.type": kind})
        if seconds is not None:
            self._seconds.record(seconds, common)
        span.end()

    def failed(self, span: Any, connection: Connection, reason: str, seconds: float | None) -> None:
        """Ends the span of a call that failed for `reason`."""
        from opentelemetry.trace import Status, StatusCode

        span.set_attribute("error.type", reason)
        span.set_status(Status(StatusCode.ERROR, reason))
        if seconds is not None:
            self._seconds.record(seconds, {**_common(connection), "error.type": reason})
        span.end()


def _common(connection: Connection) -> dict[str, Any]:
    out: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": connection.provider,
        "gen_ai.request.model": connection.model,
    }
    if connection.host is not None:
        name, _, port = connection.host.rpartition(":")
        out["server.address"] = name or connection.host
        if name and port.isdecimal():
            out["server.port"] = int(port)
    return out


@cache
def telemetry() -> Telemetry | None:
    """Telemetry by the providers of this process, else by OTLP exporters; None where the SDK is not installed."""
    if importlib.util.find_spec("opentelemetry") is None or importlib.util.find_spec("opentelemetry.sdk") is None:
        warnings.warn(
            'An OpenTelemetry exporter is configured, and the SDK is not installed: pip install "trajudge[otel]".',
            TelemetryWarning,
            stacklevel=2,
        )
        return None
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        trace.set_tracer_provider(_tracers())
    if not isinstance(metrics.get_meter_provider(), MeterProvider):
        metrics.set_meter_provider(_meters())
    return Telemetry(trace.get_tracer(SCOPE), metrics.get_meter(SCOPE))


def flush(seconds: float) -> None:
    """Sends what still waits to be sent, for a process that will be ended from outside."""
    if telemetry() is None:
        return
    from opentelemetry import metrics, trace

    for provider in (trace.get_tracer_provider(), metrics.get_meter_provider()):
        send = getattr(provider, "force_flush", None)
        if send is not None:
            send(int(seconds * 1000))


def _tracers() -> Any:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=_resource())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _meters() -> Any:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    return MeterProvider(metric_readers=[PeriodicExportingMetricReader(OTLPMetricExporter())], resource=_resource())


def _resource() -> Any:
    """Who sends: the service that the environment names (the SDK reads it), else this package."""
    from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource

    named = SERVICE_NAME in OTELResourceDetector().detect().attributes
    return Resource.create({} if named else {SERVICE_NAME: SCOPE})
