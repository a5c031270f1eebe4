"""Deterministic metrics in words: what code counted, told to the judge as evidence. What is not known is not told."""

from __future__ import annotations

from collections.abc import Mapping

from judge.types.metric import MetricResult

_MOST = 12
"""Step numbers listed for one fact."""

_COUNTS = {
    "num_tool_calls": "Tool calls",
    "num_failed_calls": "Calls whose result is an error",
    "num_exact_repeats": "Calls that repeat an earlier call exactly",
    "num_redundant_calls": "Calls whose arguments overlap an earlier call of the same tool",
}
_FLAGS = {
    "answered_without_tool": ("The run ended without any tool call.", ""),
    "matches_reference": ("The run follows the expected sequence.", "The run departs from the expected sequence."),
    "match_any_order": ("Every expected call was made and no other.", "The calls made are not the calls expected."),
}

TOLD = (*_COUNTS, *_FLAGS, "error_recovery", "stop_behaviour")
"""Names of the metrics that `in_words` reads."""


def in_words(facts: Mapping[str, MetricResult]) -> list[str]:
    """One line for each fact that helps a judge, in a fixed order; none for a metric without a value."""
    out: list[str] = []
    for name, words in _COUNTS.items():
        fact = facts.get(name)
        if fact is not None and isinstance(fact.value, int | float) and not isinstance(fact.value, bool):
            where = _where(fact) if name != "num_tool_calls" else ""
            out.append(f"{words}: {fact.value:g}{where}.")
    for name, (yes, no) in _FLAGS.items():
        fact = facts.get(name)
        if fact is not None and isinstance(fact.value, bool) and (sentence := yes if fact.value else no):
            out.append(sentence[:-1] + ("" if fact.value else _where(fact)) + ".")
    out += _recovery(facts.get("error_recovery"))
    stop = facts.get("stop_behaviour")
    if stop is not None and stop.value == "stopped_without_answer":
        out.append("The run stopped without an answer.")
    return out


def _recovery(fact: MetricResult | None) -> list[str]:
    """How often a failure was followed by a changed attempt; nothing unless the metric names the steps."""
    detail = (fact.detail if fact is not None and fact.value is not None else None) or {}
    recovered, stalled = detail.get("recovered"), detail.get("stalled")
    if not isinstance(recovered, list) or not isinstance(stalled, list) or not recovered + stalled:
        return []
    line = "Failed or empty results after which the next attempt was changed: "
    line += f"{len(recovered)} of {len(recovered) + len(stalled)}"
    if stalled:
        line += "; not after " + ", ".join(f"S{index}" for index in stalled[:_MOST])
    return [line + "."]


def _where(fact: MetricResult) -> str:
    if not fact.steps:
        return ""
    named = ", ".join(f"S{index}" for index in fact.steps[:_MOST])
    more = len(fact.steps) - _MOST
    return f" ({named} and {more} more)" if more > 0 else f" ({named})"
