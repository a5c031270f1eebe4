"""Request and reply: the one seam between a rendered prompt and any model."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from judge.types.metric import MetricResult
from judge.types.record import Record, empty_dict
from judge.types.trajectory import Usage

ReplyStatus = Literal["ok", "truncated", "refusal", "content_filter", "empty", "missing"]
Sharing = Literal["together", "first_alone", "apart"]
"""How samples of one prompt are asked so that the prompt is paid once: in one request; the first alone, so that the
others read the prefix from the provider's cache; or each for itself, where nothing is shared."""


class Sampling(Record):
    """Parameters of a call. None means: not sent, the provider's own default."""

    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: int | None = None
    max_output_tokens: int = Field(default=1024, ge=1)
    thinking_tokens: int | None = Field(default=None, ge=0)
    reasoning_effort: str | None = None
    logprobs: bool = False


class Subject(Record):
    """What a request is about. Never sent, never part of a cache key; offline judges answer from it.

    Attributes:
        facts: Deterministic metrics of the trajectory by name.
        criteria: Criterion id to (low, high) of its scale, in the order of the rubric.
        steps: Indices of the steps that may be cited.
        against: Id of the run that stands second, where two are compared; `trajectory_id` is that of the first.
    """

    trajectory_id: str
    against: str | None = None
    group: str | None = None
    rubric: str
    criteria: dict[str, tuple[float, float]]
    facts: dict[str, MetricResult] = empty_dict()
    steps: tuple[int, ...] = ()


class Request(Record):
    """One judge call, the same for every provider.

    Attributes:
        system: Fixed rules; equal for every trajectory.
        segments: User text in order: rubric, trajectory, closing task. All but the last are
            shared by the samples of one trajectory, so a provider's prompt cache can serve them.
        reply_schema: JSON Schema of the reply; `reply_name` names it.
        sample: Index from 0 of this draw; part of the cache key, not sent.
        attempt: 0 for the first try of this sample; retries bypass the cache.
        versions: Versions of template, view and parser; part of the cache key, not sent.
        repeated: Whether further samples of the same prompt may follow, so that keeping its prefix in the
            provider's cache pays. It says how to send, not what: neither sent nor part of the cache key.
    """

    system: str
    segments: tuple[str, ...]
    reply_schema: dict[str, Any]
    reply_name: str = "verdict"
    sampling: Sampling = Sampling()
    sample: int = Field(default=0, ge=0)
    attempt: int = Field(default=0, ge=0)
    versions: dict[str, str] = empty_dict()
    repeated: bool = False
    subject: Subject


class TokenLogprob(Record):
    """One generated token with its alternatives, most likely first, as (token, natural-log probability)."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class Reply(Record):
    """What came back, whole.

    Attributes:
        text: The visible answer; for a forced tool call, the JSON text of its arguments.
        status: Provider finish reasons mapped to one vocabulary. "missing": one of several replies asked for in
            one request, that the answer left out.
        finish_reason: As the provider said it.
        model: The model that the provider says it served.
        usage: What the reply added to the bill. Of several that came by one request, the prompt counts with the first,
            and output, which is told as one number, in equal shares.
        dropped: Parameters that the model refused and that were left out.
        attempts: HTTP requests spent, retries included.
        untold: Of those, the ones before it that may have been billed, and nobody says; never kept.
        cached: Whether it came from our cache: then it is no new draw.
        host: Host that was contacted, or None for an offline judge.
        limit: `max_output_tokens` in force, named when a reply is truncated.
        quota: Headers in which the provider told its quotas; never kept.
    """

    text: str | None = None
    status: ReplyStatus = "ok"
    finish_reason: str | None = None
    refusal: str | None = None
    model: str | None = None
    usage: Usage | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    dropped: tuple[str, ...] = ()
    attempts: int = Field(default=1, ge=0)
    untold: int = Field(default=0, ge=0, exclude=True)
    seconds: float | None = None
    cached: bool = False
    host: str | None = None
    limit: int | None = None
    quota: dict[str, str] = Field(default_factory=dict, exclude=True, json_schema_extra={"default": {}})
