"""Langfuse traces and observations. See `judge.importers.dialects.langfuse`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "langfuse",
    "Langfuse traces and observations",
    versions="exports of 2025-06 to 2025-12: {trace, observations} and rows of observations",
    reads=(
        "observations in order of time, payloads of OpenAI, Anthropic, LangChain, Gemini, Vercel, "
        "OpenTelemetry and Responses shape"
    ),
    unknowable=(
        "the call that a tool observation without id answers: joined by name and arguments",
        "approvals",
        "messages that the tracer flattened to text",
    ),
)
