"""Claim, certificate and gate decision: what was shown of a judge, for whom, and until when."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from judge.types.calibration_set import Population, Profile
from judge.types.estimate import Statistic
from judge.types.record import Record
from judge.types.verdict import JudgeSpec

Decision = Literal["certified", "refused", "undecided"]
ClaimState = Literal["met", "missed", "undecided", "not_tested"]


class Claim(Record):
    """One statistic against its threshold.

    Attributes:
        estimate: None when the claim was not tested.
        bound: The unfavourable one-sided bound that was compared.
        favourable: The other one; a judge is refused only when even this misses.
        met: Whether the unfavourable bound passes; None when not tested.
        more_labels: How many more labels the bound needs to pass if the estimate stays, where that is known.
    """

    omit_none: ClassVar[bool] = False

    name: str
    title: str
    required: bool
    estimate: Statistic | None
    threshold: float
    direction: Literal["at_least", "at_most"] = "at_least"
    bound: float | None = None
    favourable: float | None = None
    met: bool | None = None
    state: ClaimState
    reason: str = ""
    more_labels: int | None = None


class Scope(Record):
    """Exactly what was measured. A change in any part puts a verdict out of scope."""

    omit_none: ClassVar[bool] = False

    judge: JudgeSpec
    rubric: str
    rubric_version: str
    rubric_fingerprint: str
    criterion: str
    label_set: str
    labels_fingerprint: str
    label_kinds: tuple[str, ...]
    population: Population = Population()
    served_models: tuple[str, ...] = ()


class CalibratedScore(Record):
    """Chance that people pass a run that the judge gave this score, with its interval."""

    score: float
    probability: float = Field(ge=0, le=1)
    low: float = Field(ge=0, le=1)
    high: float = Field(ge=0, le=1)
    n: int = Field(ge=0)


class Certificate(Record):
    """What was shown of one judge, bound to exactly that judge.

    Attributes:
        id: First 16 hex digits of `seal`.
        required: Names of the claims that had to pass.
        not_tested: Claims of the profile that were not tested; they are printed wherever the certificate is.
        label_uses: How often these test labels had been used for selection when this was issued.
        pass_mark: Lowest score that counts as passed, where the scale is not binary.
        calibrated: What a score means as a probability; empty where it could not be measured.
        canary: Frozen verdicts to re-run: trajectory id to score.
        issued_at, expires_at: ISO 8601, UTC.
        seal: sha256 of the canonical JSON of everything but `id`, `seal` and `signature`.
        signature: Optional ed25519 signature of the seal, hex, with the public key.
    """

    omit_none: ClassVar[bool] = False

    schema_: Literal["judge.certificate/1"] = Field(default="judge.certificate/1", alias="schema")
    id: str = ""
    scope: Scope
    profile: Profile
    claims: tuple[Claim, ...]
    required: tuple[str, ...]
    not_tested: tuple[str, ...] = ()
    decision: Decision
    reasons: tuple[str, ...] = ()
    n_labels: int = Field(ge=0)
    n_groups: int = Field(ge=0)
    label_uses: int = Field(default=1, ge=1)
    pass_mark: float | None = None
    calibrated: tuple[CalibratedScore, ...] = ()
    canary: dict[str, float] = {}
    fingerprints: dict[str, str] = {}
    versions: dict[str, str] = {}
    issued_at: str
    expires_at: str
    seal: str = ""
    signature: dict[str, str] | None = None


class GateDecision(Record):
    """Whether something may go on."""

    omit_none: ClassVar[bool] = False

    decision: Literal["pass", "fail", "undecided"]
    reasons: tuple[str, ...] = ()
    certificate: str | None = None
    detail: dict[str, Any] = {}


class Revocation(Record):
    """A certificate that no longer holds, and why: a canary re-run raised the alarm, or a person withdrew it."""

    certificate: str
    at: str
    reasons: tuple[str, ...] = Field(min_length=1)
