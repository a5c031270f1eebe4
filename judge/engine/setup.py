"""What a run does with every trajectory: one frozen record, checked before the first call."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from judge.config import Settings
from judge.engine.connection import Connection
from judge.engine.standing import Standing, standing_of
from judge.errors import ConfigError, UsageError
from judge.prompt import PARSER_VERSION, VIEW_VERSION, parse, template_version
from judge.types.record import fingerprint
from judge.types.request import Reply, Sampling
from judge.types.rubric import BinaryScale, Rubric
from judge.types.stop_rule import StopRule
from judge.types.trajectory import Trajectory, Usage
from judge.types.verdict import JudgeSpec, Vote, VoteRule
from judge.voting import even_label_vote


class Parser(Protocol):
    """Reply → one vote for every criterion of the rubric, failed votes included."""

    def __call__(self, reply: Reply, rubric: Rubric, trajectory: Trajectory, *, sample: int = 0) -> dict[str, Vote]: ...


@dataclass(frozen=True, slots=True)
class Setup:
    """Judge, rubric, sampling and vote of one run.

    Attributes:
        samples: Votes for one verdict; None for the default of the scale.
        stop: When a verdict has votes enough; None for a number of votes that is fixed or follows the scale.
        retries: Tries after the first for a sample whose reply is unusable.
        policy: Policy text for rubrics that need one.
        max_usd: Spend cap of the run in US dollars, or None; max_usd_per_item of one trajectory, max_usd_per_day
            of everything on one day.
        fingerprints: Those that are equal for every verdict of the run.
        warnings: Those that hold for every verdict of the run.
        shared: Whether equal requests of the run share one call through the cache.
        standing: What certificates say of this judge.
        secrets: Texts that must not reach a verdict.
        parse: Turns a reply into votes by criterion; another than `judge.prompt.parse` where another question is asked.
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
    max_usd_per_item: float | None = None
    max_usd_per_day: float | None = None
    stop: StopRule | None = None
    parse: Parser = parse

    @property
    def capped(self) -> bool:
        """Whether any spend cap is set, so that calls need an estimate."""
        return any(cap is not None for cap in (self.max_usd, self.max_usd_per_item, self.max_usd_per_day))

    @property
    def draws(self) -> tuple[int, int]:
        """Fewest and most samples that one verdict takes."""
        if self.samples is not None:
            return self.samples, self.samples
        if self.stop is not None:
            return self.stop.least, self.stop.most
        if all(isinstance(criterion.scale, BinaryScale) for criterion in self.rubric.criteria):
            return 1, 1
        return 2, 3


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
    caps = {name: getattr(settings, name) for name in ("max_usd", "max_usd_per_item", "max_usd_per_day")}
    set_cap = next((f"{name} is {cap!r}" for name, cap in caps.items() if cap is not None), None)
    if set_cap is not None and _price_unknown(connection):
        raise ConfigError(
            f"{set_cap}, but the price of {connection.name!r} is not known.",
            hint=f'Set input_usd_per_million and output_usd_per_million under [models."{connection.name}"] in '
            "judge.toml, or leave out the cap.",
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
    stop = settings.stop if settings.samples is None else None
    spec = JudgeSpec(
        name=connection.name,
        provider=connection.provider,
        model=connection.model,
        host=connection.host,
        sampling=sampling,
        samples=settings.samples,
        vote=settings.vote,
        stop=stop,
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
        **caps,
        fingerprints=prints,
        warnings=(even,) if even else (),
        shared=bool(settings.cache),
        standing=standing_of(spec, rubric, settings.certificates, now or datetime.now(UTC)),
        secrets=settings.secrets(),
        stop=stop,
    )


def _price_unknown(connection: Connection) -> bool:
    return not connection.offline and connection.price(Usage(input_tokens=1000, output_tokens=1000)) is None
