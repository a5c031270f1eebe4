"""Token counts of a model call, in the one convention of our records: input is all-in, cache included."""

from __future__ import annotations

from typing import Any

from judge.importers.fields import count, mapping, number
from judge.types.trajectory import Usage


def read_usage(value: Any, *, cost_usd: Any = None) -> Usage | None:
    """Usage from the counts that OpenAI, Anthropic, ATIF and plain event logs write; None where there is none.

    `prompt_tokens` holds cached tokens already. `input_tokens` beside `cache_creation_input_tokens` is
    Anthropic's, which leaves them out: they are added.
    """
    raw = mapping(value)
    if not raw and cost_usd is None:
        return None
    if "prompt_tokens" in raw or "completion_tokens" in raw:
        details = mapping(raw.get("prompt_tokens_details"))
        total = count(raw.get("prompt_tokens"))
        cached = _first(details.get("cached_tokens"), raw.get("cached_tokens"), raw.get("cache_read_input_tokens"))
        created = _first(details.get("cache_write_tokens"), raw.get("cache_creation_input_tokens"))
        output = count(raw.get("completion_tokens"))
        reasoning = count(mapping(raw.get("completion_tokens_details")).get("reasoning_tokens"))
    else:
        total = count(raw.get("input_tokens"))
        cached = count(raw.get("cache_read_input_tokens"))
        created = count(raw.get("cache_creation_input_tokens"))
        if total is not None and "cache_creation_input_tokens" in raw:
            total += (cached or 0) + (created or 0)
        details = mapping(raw.get("input_tokens_details"))
        cached = cached if cached is not None else count(details.get("cached_tokens"))
        output = count(raw.get("output_tokens"))
        detail = mapping(raw.get("output_tokens_details"))
        reasoning = _first(detail.get("reasoning_tokens"), detail.get("thinking_tokens"))
    price = number(raw.get("cost_usd") if cost_usd is None else cost_usd)
    price = price if price is not None and price >= 0 else None
    if all(part is None for part in (total, cached, created, output, reasoning, price)):
        return None
    return Usage(
        input_tokens=total,
        output_tokens=output,
        cache_read_input_tokens=cached,
        cache_creation_input_tokens=created,
        reasoning_output_tokens=reasoning,
        cost_usd=price,
    )


def _first(*values: Any) -> int | None:
    return next((n for n in map(count, values) if n is not None), None)
