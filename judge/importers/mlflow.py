"""MLflow traces. See `judge.importers.dialects.otlp`."""

from __future__ import annotations

from judge.importers.format import Format

importer = Format("mlflow", "MLflow traces")
