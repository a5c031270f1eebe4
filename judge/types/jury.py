"""Jury: several judges that answer as one."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from judge.types.record import Record

JuryRule = Literal["majority", "median", "mean", "weighted", "minimum", "dawid_skene", "stacked"]
Seating = Literal["all", "on_split", "screen"]


class Jury(Record):
    """Which judges sit, and how their votes become one verdict.

    Attributes:
        members: Names of judges, in the order in which they are called.
        rule: "majority", "median", "mean"; "weighted" by the log odds of each member's agreement on dev labels;
            "minimum": passed when at least `passes` members pass; "dawid_skene": each member's confusion, estimated
            from verdicts alone; "stacked": a logistic regression on dev labels. The last two need recorded verdicts.
        seating: "all"; "on_split": the third and further members vote only where the first two differ; "screen": the
            second is called only after a pass, and the lower of both scores stands: the run fails if either fails it.
        passes: Passes that "minimum" needs.
        pass_mark: Lowest score that "screen" takes for a pass; 1 when None, which fits a binary scale alone.
        weights: Of every member and reserve, for rule "weighted"; empty to learn them from dev labels of recorded
            verdicts.
        quorum: Valid votes that a verdict needs; None for more than half of the seats that were called.
        on_tie: "inconclusive" leaves a tie without a score; "fail" takes the lowest of the tied values.
        reserves: Judges that take, in order, the seat of a member that gave no score on a run.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._:/-]*$")
    members: tuple[str, ...] = Field(min_length=2)
    rule: JuryRule = "majority"
    seating: Seating = "all"
    passes: int | None = Field(default=None, ge=1)
    pass_mark: float | None = None
    weights: dict[str, float] = {}
    quorum: int | None = Field(default=None, ge=1)
    on_tie: Literal["inconclusive", "fail"] = "inconclusive"
    reserves: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        seats = [*self.members, *self.reserves]
        twice = sorted({name for name in seats if seats.count(name) > 1})
        if twice:
            raise ValueError(f"{twice[0]!r} sits twice: two copies of one judge are one judge (use samples instead)")
        if (self.rule == "minimum") != (self.passes is not None):
            raise ValueError("`passes` goes with rule minimum, and rule minimum needs it")
        if self.passes is not None and self.passes > len(self.members):
            raise ValueError(f"passes is {self.passes}, and {len(self.members)} members sit")
        if self.weights and self.rule != "weighted":
            raise ValueError(f"weights go with rule weighted, and the rule is {self.rule}")
        if self.weights and (set(self.weights) != set(seats) or min(self.weights.values()) < 0):
            raise ValueError("weights name every member and reserve, each with 0 or more")
        if self.quorum is not None and self.quorum > len(self.members):
            raise ValueError(f"quorum is {self.quorum}, and {len(self.members)} members sit")
        if self.seating == "on_split" and len(self.members) < 3:
            raise ValueError("seating on_split needs a third member for the splits")
        if self.seating == "screen" and (len(self.members) != 2 or self.rule != "majority"):
            raise ValueError("seating screen takes exactly two members and no other rule than the default")
        if self.seating != "all" and self.rule in ("dawid_skene", "stacked"):
            raise ValueError(f"rule {self.rule} needs every member's vote: seating all")
        return self
