"""Deterministic metrics: trajectory → numbers, no model. Nothing to measure is never 0."""

from judge.metrics.expected import parse_reference
from judge.metrics.matching import Match, match_calls, match_metric
from judge.metrics.measure import measure

__all__ = ["Match", "match_calls", "match_metric", "measure", "parse_reference"]
