"""What a run does with every trajectory: one frozen record, checked before the first call."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from judge.config import Settings
from judge.engine.connection import Connection
from judge.engine.standing import Standing, standing_of
from judge.errors import ConfigError, UsageError
from judge.prompt import PARSER_VERSION, VIEW_VERSION, template_version
from judge.types.record import fingerprint
from judge.types.request import Sampling
from judge.types.rubric import Rubric
from judge.types.trajectory import Usage
from judge.types.verdict import JudgeSpec, VoteRule
from judge.voting import even_label_vote


@dataclass(frozen=True, slots=True)
class Setup:
    """Judge, rubric, sampling and vote of one run.

    Attributes:
        samples: Votes for one verdict; None for the default of the scale.
        retries: Tries after the first for a sample whose reply is unusable.
        policy: Policy text for rubrics that need one.
        max_usd: Spend cap of the run in US dollars, or None.
        fingerprints: Those that are equal for every verdict of the run.
        warnings: Those that hold for every verdict of the run.
        shared: Whether equal requests of the run share one call through the cache.
        standing: What certificates say of this judge.
        secrets: Texts that must not reach a verdict.
    """

    rubric: Rubric
    spec: JudgeSpec
    sampling: Sampling
    samples: int | None
    vote: VoteRule
    retries: int
    policy: str | None
    max_usd: float | None
    fingerprints: dict[str, str]
    warnings: tuple[str, ...]
    shared: bool
    standing: Standing
    secrets: tuple[str, ...] = field(default=(), repr=False)


def make_setup(
    rubric: Rubric,
    connection: Connection,
    settings: Settings,
    *,
    policy: str | None = None,
    now: datetime | None = None,
) -> Setup:
    """The setup of a run.

    Args:
        now: What expiry dates are held against; the present when None.

    Raises:
        ConfigError: A spend cap is set and the judge's price is not known.
        UsageError: The rubric needs a policy text and none is given.
    """
    if settings.max_usd is not None and _price_unknown(connection):
        raise ConfigError(
            f"max_usd is {settings.max_usd!r}, but the price of {connection.name!r} is not known.",
            hint=f'Set input_usd_per_million and output_usd_per_million under [models."{connection.name}"] in '
            "judge.toml, or leave out max_usd.",
        )
    if rubric.policy and not policy:
        raise UsageError(
            f"Rubric {rubric.id!r} judges against a policy, and no policy text was given.",
            hint="Give one with --policy-text FILE, or policy=TEXT in Python.",
        )
    sampling = Sampling(
        temperature=settings.temperature,
        top_p=settings.top_p,
        seed=settings.seed,
        max_output_tokens=settings.max_output_tokens,
        thinking_tokens=settings.thinking_tokens,
        reasoning_effort=settings.reasoning_effort,
        logprobs=settings.logprobs or settings.vote == "expected",
    )
    spec = JudgeSpec(
        name=connection.name,
        provider=connection.provider,
        model=connection.model,
        host=connection.host,
        sampling=sampling,
        samples=settings.samples,
        vote=settings.vote,
        view=VIEW_VERSION,
        template=template_version(rubric),
        parser=PARSER_VERSION,
    )
    prints = {"rubric": rubric.fingerprint, "judge": spec.fingerprint}
    if policy:
        prints["policy"] = fingerprint(policy)
    even = even_label_vote(rubric, settings.samples)
    return Setup(
        rubric=rubric,
        spec=spec,
        sampling=sampling,
        samples=settings.samples,
        vote=settings.vote,
        retries=settings.retries,
        policy=policy,
        max_usd=settings.max_usd,
        fingerprints=prints,
        warnings=(even,) if even else (),
        shared=settings.cache,
        standing=standing_of(spec, rubric, settings.certificates, now or datetime.now(UTC)),
        secrets=settings.secrets(),
    )


def _price_unknown(connection: Connection) -> bool:
    return not connection.offline and connection.price(Usage(input_tokens=1000, output_tokens=1000)) is None
