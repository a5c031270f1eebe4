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
    "num_redundant_calls": "Pairs of calls of one tool whose arguments overlap",
}
_FLAGS = {
    "answered_without_tool": ("The run ended without any tool call.", ""),
    "matches_reference": ("The run follows the expected sequence.", "The run departs from the expected sequence."),
    "match_any_order": ("Every expected call was made and no other.", "The calls made are not the calls expected."),
}
_WORDS = {
    "error_recovery": "After failed or empty results the agent",
    "stop_behaviour": "How the run stopped",
}


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
    for name, words in _WORDS.items():
        fact = facts.get(name)
        if fact is not None and isinstance(fact.value, str) and fact.value.isprintable() and len(fact.value) <= 80:
            out.append(f"{words}: {fact.value.replace('_', ' ')}{_where(fact)}.")
    return out


def _where(fact: MetricResult) -> str:
    if not fact.steps:
        return ""
    named = ", ".join(f"S{index}" for index in fact.steps[:_MOST])
    more = len(fact.steps) - _MOST
    return f" ({named} and {more} more)" if more > 0 else f" ({named})"
