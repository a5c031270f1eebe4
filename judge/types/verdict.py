"""Judge spec, vote and verdict: what a judge said, how sure, and whether it may be trusted."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from judge.types.escalation import EscalationReason
from judge.types.jury import Jury
from judge.types.record import Record, empty_dict
from judge.types.reference import ReferenceStatus
from judge.types.request import Sampling
from judge.types.rubric import Scale
from judge.types.stop_rule import StopRule
from judge.types.trajectory import Usage

VoteStatus = Literal[
    "ok",
    "abstain",
    "not_applicable",
    "refusal",
    "content_filter",
    "truncated",
    "unparsed",
    "ambiguous",
    "out_of_range",
    "empty",
    "invalid_evidence",
    "missing_criterion",
    "context_overflow",
    "provider_error",
]
VoteRule = Literal["auto", "median", "mean", "majority", "trimmed_mean", "expected"]
VerdictStatus = Literal["ok", "inconclusive", "error", "not_applicable"]
TrustState = Literal["uncertified", "certified", "expired", "out_of_scope", "refused"]


class JudgeSpec(Record):
    """Exactly what is certified: change any part and it is another judge.

    Attributes:
        name: As given, e.g. "openai/gpt-4o".
        host: Host that a `base_url` points at, or None for the provider's own. No path, no user, no key.
        samples: Votes for one verdict; None for the default of the scale
            (one for binary; two and a third if they differ for ordinal).
        stop: Votes are drawn until the outcome is decided; None for a fixed number.
        view, template, parser: sha256 or version of what turns a trajectory into a prompt and a reply into votes.
        jury, members: Seats and rule of a jury, and the spec of every judge on it; None for a single judge.
    """

    name: str
    provider: str
    model: str
    host: str | None = None
    sampling: Sampling = Sampling()
    samples: int | None = Field(default=None, ge=1)
    vote: VoteRule = "auto"
    stop: StopRule | None = None
    view: str = ""
    template: str = ""
    parser: str = ""
    jury: Jury | None = None
    members: tuple[JudgeSpec, ...] | None = None


class Quote(Record):
    """Words that the judge copied from a step."""

    step: int
    text: str


class Vote(Record):
    """One sample's answer to one criterion. A vote that failed has a status and no score.

    Attributes:
        score: On the criterion's scale; None unless `status` is "ok".
        evidence: Indices of cited steps, in the judge's order, without repeats.
        repaired: Whether the reply needed a documented repair before it parsed.
        expected: Mean of the score under the model's own probabilities, where they were given.
        illegal_mass: Probability that fell on tokens outside the scale, with `expected`.
        raw_head: First part of the reply of a failed vote, secrets removed.
    """

    omit_none: ClassVar[bool] = False

    status: VoteStatus
    score: float | None = None
    reason: str = ""
    evidence: tuple[int, ...] = ()
    quotes: tuple[Quote, ...] = ()
    sample: int = Field(default=0, ge=0)
    attempts: int = Field(default=1, ge=0)
    cached: bool = False
    repaired: bool = False
    served_model: str | None = None
    expected: float | None = None
    illegal_mass: float | None = None
    message: str | None = None
    raw_head: str | None = None
    detail: dict[str, Any] | None = None
    usage: Usage | None = None


class CriterionResult(Record):
    """The vote on one criterion.

    Attributes:
        score: On the criterion's scale, or None.
        spread: Highest minus lowest valid score; None with fewer than two.
        agreement: Share of valid votes equal to the most common one; None without a valid vote.
        rule: The vote rule that was used.
    """

    omit_none: ClassVar[bool] = False

    id: str
    status: VerdictStatus
    score: float | None
    scale: Scale
    reason: str = ""
    evidence: tuple[int, ...] = ()
    votes: tuple[Vote, ...] = ()
    n_ok: int = Field(ge=0)
    n_failed: int = Field(ge=0)
    n_not_applicable: int = Field(default=0, ge=0)
    spread: float | None = None
    agreement: float | None = None
    rule: VoteRule
    tie: bool = False
    gate: bool = False
    passed: bool | None = None


class Calibrated(Record):
    """Probability that people would pass this run, given the judge's score, with its interval."""

    probability: float = Field(ge=0, le=1)
    low: float = Field(ge=0, le=1)
    high: float = Field(ge=0, le=1)


class Trust(Record):
    """Whether a certificate covers this verdict, and why not."""

    omit_none: ClassVar[bool] = False

    state: TrustState = "uncertified"
    certificate: str | None = None
    calibrated: Calibrated | None = None
    reasons: tuple[str, ...] = ()


class JudgementError(Record):
    """A judgement that failed, with what is needed to find out why."""

    omit_none: ClassVar[bool] = False

    kind: str
    message: str
    attempts: int = Field(default=1, ge=0)
    raw_head: str | None = None
    criterion: str | None = None
    sample: int | None = None
    finish_reason: str | None = None


class JudgeResult(Record):
    """What one judge said of a trajectory that was sent on.

    Attributes:
        reasons: Why its verdict did not stand; empty where it did.
    """

    omit_none: ClassVar[bool] = False

    judge: str
    status: VerdictStatus
    score: float | None
    scale: Scale
    passed: bool | None = None
    reason: str = ""
    criteria: tuple[CriterionResult, ...] = ()
    trust: Trust = Trust()
    usage: Usage = Usage()
    cost_usd: float | None = None
    calls: int = Field(default=0, ge=0)
    cached: int = Field(default=0, ge=0)
    errors: tuple[JudgementError, ...] = ()
    fingerprints: dict[str, str] = empty_dict()
    reasons: tuple[EscalationReason, ...] = ()


class Escalated(Record):
    """How a verdict came to be when the first judge's did not stand alone.

    Attributes:
        to: Who decides: the judge whose verdict stands, or "person".
        results: What each judge said, in the order in which they were asked, each whole.
    """

    to: str
    results: tuple[JudgeResult, ...] = Field(min_length=1)


class Verdict(Record):
    """What one judge says of one trajectory under one rubric.

    Attributes:
        rubric, judge: Names; `fingerprints` binds them to exact content.
        score: Of a rubric with one criterion, its score on its scale. Of several, 0 when a gate failed, else
            the weighted aggregate in [0, 1]. None unless `status` is "ok".
        scale: The scale of `score`.
        passed: False when a gate failed, True when all gates passed; None where the rubric has none.
        reference: Whether the judge was given a reference.
        truncated: Whether text of the trajectory was left out of the prompt.
        escalation: Set where the verdict of `judge` did not stand: then status, score, reason, criteria and trust are
            those of the judge that it was sent to, or, where a person decides, there is no score; usage, calls and
            cost are of all judges.
        cost_usd: None where the bill of a call is not known; `at_most_usd` then counts it with its whole estimate, and
            is None where its price is not known either.
        fingerprints: "trajectory", "rubric", "judge", "prompt", "reference", "policy" to sha256.
    """

    omit_none: ClassVar[bool] = False

    schema_: Literal["judge.verdict/1"] = Field(default="judge.verdict/1", alias="schema")
    trajectory_id: str
    group: str | None = None
    rubric: str
    judge: str
    status: VerdictStatus
    score: float | None
    scale: Scale
    passed: bool | None = None
    reason: str = ""
    criteria: tuple[CriterionResult, ...] = ()
    trust: Trust = Trust()
    reference: ReferenceStatus = "none"
    usage: Usage = Usage()
    cost_usd: float | None = None
    at_most_usd: float | None = None
    seconds: float | None = None
    calls: int = Field(default=0, ge=0)
    cached: int = Field(default=0, ge=0)
    truncated: bool = False
    cuts: tuple[str, ...] = ()
    dropped_params: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    errors: tuple[JudgementError, ...] = ()
    escalation: Escalated | None = None
    fingerprints: dict[str, str] = empty_dict()
