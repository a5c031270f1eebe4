"""Pair verdict: which of two runs of one task a judge finds better, asked in both orders."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from judge.types.record import Record
from judge.types.reference import ReferenceStatus
from judge.types.trajectory import Usage
from judge.types.verdict import JudgementError, Trust, VoteStatus

Side = Literal["a", "b"]
Preferred = Literal["a", "b", "tie"]
PairWinner = Literal["a", "b", "tie", "inconclusive", "failed", "not_applicable"]
Place = Literal["X", "Y"]
"""Name of a run in the prompt: X stands first. It goes with the place and not with the run."""


class PairCite(Record):
    """A step of one of the two runs that the judge cited, with the words it copied, or ""."""

    run: Side
    step: int
    quote: str = ""


class PairVote(Record):
    """One sample's answer to one criterion in one order. A vote that failed has a status and prefers nothing.

    Attributes:
        preferred: By the pair's own names, whatever place the run had; None unless `status` is "ok".
        reason: As the judge wrote it: there X is the run that stood first, Y the other.
        evidence: In the judge's order, without repeats.
        raw_head: First part of the reply of a failed vote, secrets removed.
    """

    omit_none: ClassVar[bool] = False

    status: VoteStatus
    preferred: Preferred | None = None
    reason: str = ""
    evidence: tuple[PairCite, ...] = ()
    sample: int = Field(default=0, ge=0)
    attempts: int = Field(default=1, ge=0)
    cached: bool = False
    repaired: bool = False
    served_model: str | None = None
    message: str | None = None
    raw_head: str | None = None
    usage: Usage | None = None


class PairOrder(Record):
    """One criterion in one order.

    Attributes:
        first: The run that stood first, X in the prompt and in the reasons.
        winner: Of the votes in this order. "inconclusive": they are split, or the judge could not tell. "failed": none
            is an answer.
    """

    first: Side
    winner: PairWinner
    votes: tuple[PairVote, ...]


class PairCriterion(Record):
    """One criterion in both orders; the winner is the one that both name, else it is inconclusive or failed."""

    id: str
    winner: PairWinner
    why: str
    orders: tuple[PairOrder, PairOrder]


class PairVerdict(Record):
    """What one judge says of two runs of one task under one rubric.

    Attributes:
        a, b: Ids of the runs.
        task: What both are runs of: the group, or else the text of the task.
        contestants: Who made them, as far as that is ranked: agents, or the ids again. Never told to the judge.
        winner: "a", "b" or "tie" where both orders say so; "inconclusive" where they disagree or a vote is split;
            "failed" where an order has no answer. Never half a point.
        why: The winner in words, with the cause where there is none.
        orders: Winner when `a` stood first, and when `b` did.
        trust: No certificate is of pairs: always uncertified, and says so.
    """

    omit_none: ClassVar[bool] = False

    schema_: Literal["judge.pair_verdict/1"] = Field(default="judge.pair_verdict/1", alias="schema")
    a: str
    b: str
    task: str
    contestants: tuple[str, str]
    rubric: str
    judge: str
    winner: PairWinner
    why: str
    orders: tuple[PairWinner, PairWinner]
    criteria: tuple[PairCriterion, ...]
    trust: Trust = Trust()
    reference: ReferenceStatus = "none"
    usage: Usage = Usage()
    cost_usd: float | None = None
    seconds: float | None = None
    calls: int = Field(default=0, ge=0)
    cached: int = Field(default=0, ge=0)
    truncated: bool = False
    cuts: tuple[str, ...] = ()
    dropped_params: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    errors: tuple[JudgementError, ...] = ()
    fingerprints: dict[str, str] = {}
