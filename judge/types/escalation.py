"""Escalation: which verdicts are sent on, to whom, and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from judge.types.record import Record

EscalationReason = Literal[
    "no_score",
    "split_votes",
    "low_confidence",
    "invalid_evidence",
    "pass_with_wrong_step",
    "near_the_cut",
    "truncated_trace",
    "second_look_at_a_pass",
    "random_audit",
]
Mode = Literal["balanced", "screen", "cheap_first"]
PERSON = "person"
"""The name under which verdicts are sent to people."""
AUDIT = 0.05
"""Share of unanimous passes that a person looks at for ever: they hide failures, and nothing else would show it."""
NEAR = 0.15


REASON_WORDS: Mapping[EscalationReason, str] = {
    "no_score": "there is no score",
    "split_votes": "the votes are split",
    "low_confidence": "too few votes are on its side",
    "invalid_evidence": "evidence does not check out",
    "pass_with_wrong_step": "a pass names a wrong step",
    "near_the_cut": "the calibrated probability is near the cut",
    "truncated_trace": "the trace was shortened",
    "second_look_at_a_pass": "every pass is looked at twice",
    "random_audit": "it was drawn for the audit of unanimous passes",
}


class EscalationRules(Record):
    """What sends a verdict on, and to whom.

    Attributes:
        to: A judge, "person", or a judge and then "person"; empty for nobody.
        mode: "balanced" lets every clean verdict stand. "screen" sends every pass on, so that either judge may fail
            it. "cheap_first" does the same where the first judge is the cheaper one, whose fails then stand alone: it
            needs a `guarantee`.
        audit: Share of unanimous passes without any other reason that are sent on at random, under `seed`. Above 0:
            errors that all votes share show in no other way.
        near: Distance of the calibrated probability from `cut` below which it counts as near.
        cut: Probability from which people's pass is expected.
        pass_mark: Lowest score that passes, on the scale of the verdict; None for that of the `guarantee`, else the top
            of the scale.
        least_confidence: Share of the votes that must be on the verdict's side; None to ask for none but `guarantee`'s.
        guarantee: File that `judge escalate --out` wrote for this judge and rubric: pass mark, least confidence, and
            whether the judge may go first.
        queue: File that verdicts for a person are appended to, as JSON Lines.
    """

    to: tuple[str, ...] = ()
    mode: Mode = "balanced"
    audit: float = Field(default=AUDIT, gt=0, le=1)
    seed: int = 0
    near: float = Field(default=NEAR, ge=0, le=0.5)
    cut: float = Field(default=0.5, gt=0, lt=1)
    pass_mark: float | None = None
    least_confidence: float | None = Field(default=None, ge=0, le=1)
    guarantee: Path | None = None
    queue: Path | None = None

    @field_validator("to")
    @classmethod
    def _steps(cls, to: tuple[str, ...]) -> tuple[str, ...]:
        judges = [name for name in to if name != PERSON]
        if len(judges) > 1 or to.count(PERSON) > 1 or PERSON in to[:-1]:
            raise ValueError(f'{", ".join(to)} is not a judge, "{PERSON}", or a judge and then "{PERSON}"')
        if judges and "/" not in judges[0]:
            raise ValueError(f'{judges[0]!r} is neither "{PERSON}" nor a judge, which is named PROVIDER/MODEL')
        return to

    @property
    def second(self) -> str | None:
        """The judge that verdicts are sent to, or None."""
        return next((name for name in self.to if name != PERSON), None)
