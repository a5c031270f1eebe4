"""Several samples in one request: `n` of chat completions, its answer choice by choice, and servers without it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from judge.providers.failures import server_error
from judge.types.trajectory import Usage

CACHED_FROM = 1024
"""Tokens from which a prompt can be read from a provider's cache: the least of any model of OpenAI and Anthropic. Some
need more; for a prompt in between, the first sample is then asked alone for nothing but time."""
_OF_THE_PROMPT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_ABOUT_N = re.compile(
    r"(?<![\w.\\-])[\"'`]?\bn[\"'`]?(?![\w-])|completion choice|multiple (?:choices|completions)", re.IGNORECASE
)


def refuses_choices(body: Any) -> bool:
    """Whether an error's body complains about `n`: its ``param`` says so, or its message names it."""
    said = server_error(body)
    param = str(said.get("param") or "")
    return param == "n" if param else bool(_ABOUT_N.search(str(said.get("message") or "")))


def choices_of(decoded: Mapping[str, Any], asked: int) -> tuple[Mapping[str, Any] | None, ...]:
    """The choices of a chat completion by their own index; None in the place of one that is missing.

    Choices that do not number themselves 0, 1, … without repeats count in the order they came. More than were
    asked for are left out. A single choice, or none, stands for itself: the tuple then has one place.
    """
    given = decoded.get("choices")
    found = [choice for choice in given if isinstance(choice, dict)] if isinstance(given, list) else []
    if asked == 1 or len(found) < 2:
        return (found[0] if found else {},)
    places = [choice.get("index") for choice in found]
    if any(type(place) is not int or place < 0 for place in places) or len(set(places)) < len(places):
        places = list(range(len(found)))
    by_place = dict(zip(places, found, strict=True))
    return tuple(by_place.get(place) for place in range(asked))


def shares(usage: Usage | None, parts: int) -> tuple[Usage | None, ...]:
    """What each of `parts` replies to one request added to its `usage`; every count adds up to what the server said.

    The prompt is billed once, so it counts with the first reply and with 0 for the others. Output is told as one
    number for all: what one reply took is not known, so it counts in equal shares, a remainder with the first ones.
    What is not known of the whole is not known of a part.
    """
    if usage is None or parts == 1:
        return (usage,) * parts
    out = []
    for place in range(parts):
        counts = {
            name: (value if place == 0 else 0) if name in _OF_THE_PROMPT else value // parts + (place < value % parts)
            for name, value in usage
            if value is not None and name != "cost_usd"
        }
        out.append(Usage(**counts, cost_usd=None if usage.cost_usd is None else usage.cost_usd / parts))
    return tuple(out)
