"""What a run of many trajectories takes, from what one of them takes. Pure arithmetic; nothing is measured here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

How = Literal["together", "first_alone", "apart"]
"""How samples of one prompt are asked: in one request; the first alone, so that the others read the provider's prompt
cache; each for itself."""


CACHED_FROM = 1024
"""Tokens from which providers keep a prefix in their prompt cache."""


@dataclass(frozen=True)
class Item:
    """One trajectory under one rubric, asked of one provider.

    Attributes:
        prompt: Tokens of its prompt; `shared` of them are the same in all of its samples.
        reply: Tokens of one reply.
        samples: Replies for one verdict.
        request_bytes: Of one request as it is sent.
    """

    prompt: float
    shared: float
    reply: float
    samples: float
    request_bytes: float
    how: How

    @property
    def requests(self) -> float:
        """HTTP requests for one verdict."""
        return 1 if self.how == "together" else self.samples


Mix = Sequence[Item]
"""Trajectories that stand for those of a run, each as often as any other."""


@dataclass(frozen=True)
class Prices:
    """US dollars for one token; None where the price table has none."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    batch_input: float | None = None
    batch_output: float | None = None
    batch_cache_read: float | None = None
    batch_cache_write: float | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Prices:
        """From a row of litellm's table."""

        def price(name: str) -> float | None:
            value = row.get(name)
            return float(value) if isinstance(value, int | float) else None

        return cls(
            input=float(row["input_cost_per_token"]),
            output=float(row["output_cost_per_token"]),
            cache_read=price("cache_read_input_token_cost"),
            cache_write=price("cache_creation_input_token_cost"),
            batch_input=price("input_cost_per_token_batches"),
            batch_output=price("output_cost_per_token_batches"),
            batch_cache_read=price("cache_read_input_token_cost_batches"),
            batch_cache_write=price("cache_creation_input_token_cost_batches"),
        )


@dataclass(frozen=True)
class Costs:
    """US dollars of a run.

    Attributes:
        plain: Every sample pays its whole prompt.
        shared: Samples share the prompt, as the engine asks them of this provider.
        batch: By the provider's batch API, every sample a request of its own; None where it has no price.
        batch_cached: The same, if every sample but the first of a trajectory finds its prefix in the provider's prompt
            cache: the least that it can cost, since nothing promises the hits.
    """

    plain: float
    shared: float
    batch: float | None
    batch_cached: float | None


def costs(mix: Mix, trajectories: int, prices: Prices) -> Costs:
    """What the run costs, each way."""
    each = [_costs(item, prices) for item in mix]

    def total(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return trajectories * fmean(known) if len(known) == len(values) else None

    return Costs(
        plain=trajectories * fmean(one.plain for one in each),
        shared=trajectories * fmean(one.shared for one in each),
        batch=total([one.batch for one in each]),
        batch_cached=total([one.batch_cached for one in each]),
    )


def _costs(item: Item, prices: Prices) -> Costs:
    """Of one trajectory."""
    prompts, replies = item.samples * item.prompt, item.samples * item.reply
    plain = prompts * prices.input + replies * prices.output
    shared = plain
    if item.how == "together":
        shared = item.prompt * prices.input + replies * prices.output
    elif item.how == "first_alone" and prices.cache_read is not None:
        shared = _prompts(item, prices.input, prices.cache_write, prices.cache_read) + replies * prices.output
    if prices.batch_input is None or prices.batch_output is None:
        return Costs(plain, shared, None, None)
    out = replies * prices.batch_output
    cached = None
    if prices.batch_cache_read is not None:
        cached = _prompts(item, prices.batch_input, prices.batch_cache_write, prices.batch_cache_read) + out
    return Costs(plain, shared, prompts * prices.batch_input + out, cached)


def _prompts(item: Item, full: float, written: float | None, read: float) -> float:
    """Dollars of a trajectory's prompts: the first sample writes the prefix that all share, the others read it.

    A prefix that is too short to be kept is paid in full each time.
    """
    if item.shared < CACHED_FROM or item.samples <= 1:
        return item.samples * item.prompt * full
    first = item.shared * (full if written is None else written)
    rest = item.prompt - item.shared
    return first + (item.samples - 1) * item.shared * read + item.samples * rest * full


def requests(mix: Mix, trajectories: int) -> float:
    """HTTP requests of a run."""
    return trajectories * fmean(item.requests for item in mix)


def tokens(mix: Mix, trajectories: int) -> tuple[float, float]:
    """Tokens in and out that a provider's quota counts; what its cache serves is counted too."""
    return (
        trajectories * fmean(item.requests * item.prompt for item in mix),
        trajectories * fmean(item.samples * item.reply for item in mix),
    )


def hours(mix: Mix, trajectories: int, *, per_minute: float, tokens_per_minute: float) -> float:
    """Hours at quotas of requests and of tokens (in and out together): the slower of the two decides."""
    return max(requests(mix, trajectories) / per_minute, sum(tokens(mix, trajectories)) / tokens_per_minute) / 60


def batches(mix: Mix, trajectories: int, *, most_requests: int, most_bytes: int) -> int:
    """Batches of a provider's batch API that hold the run, by both of its limits; each sample is a request there."""
    total = trajectories * fmean(item.samples for item in mix)
    size = trajectories * fmean(item.samples * item.request_bytes for item in mix)
    return max(math.ceil(total / most_requests), math.ceil(size / most_bytes))


def batch_hours(mix: Mix, trajectories: int, *, queued_tokens: float, window_hours: float = 24.0) -> float:
    """Most hours by the batch API, where so many prompt tokens may be queued at once and a batch ends in its window."""
    return math.ceil(trajectories * fmean(item.samples * item.prompt for item in mix) / queued_tokens) * window_hours


def workers(per_second: float, *, cpu_s: float, load: float) -> int:
    """Worker processes of one processor that keep up with a rate, each busy for the share `load` in (0, 1].

    `cpu_s`: processor seconds that one of the things takes that come `per_second`.
    """
    return max(1, math.ceil(per_second * cpu_s / load))


def under_way(per_second: float, *, latency_s: float) -> float:
    """Requests under way at once on average (Little's law)."""
    return per_second * latency_s
