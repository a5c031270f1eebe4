"""MLflow traces. See `judge.importers.dialects.otlp`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format(
    "mlflow",
    "MLflow traces",
    versions="trace schema 3 (3.x); 2.x by its documented keys, not seen",
    reads="spans with attributes decoded, exceptions as errors, chat payloads of any shape",
    unknowable=(
        "the call that a tool span answers: joined by name and arguments",
        "approvals",
    ),
)
