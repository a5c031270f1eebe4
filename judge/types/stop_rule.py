"""Stop rule: when a verdict has votes enough."""

from __future__ import annotations

from pydantic import Field, model_validator

from judge.types.record import Record


class StopRule(Record):
    """Draw one vote after another until the outcome is decided. Part of what a judge is: it can change a verdict.

    Attributes:
        risk: Chance in [0, 0.5) that more votes would give another outcome, as the rule reckons it. 0 stops only when
            the votes left to draw cannot change the outcome: then the verdict is that of `most` votes.
        least, most: Fewest and most votes for one verdict; `most` is odd, so that two answers cannot tie.
    """

    risk: float = Field(default=0.0, ge=0, lt=0.5)
    least: int = Field(default=2, ge=1, le=101)
    most: int = Field(default=5, ge=1, le=101)

    @model_validator(mode="after")
    def _bounds(self) -> StopRule:
        if self.most % 2 == 0:
            raise ValueError(f"most is {self.most!r}, and an even number of votes can tie: take an odd one")
        if self.least > self.most:
            raise ValueError(f"least is {self.least!r}, above most, which is {self.most!r}")
        return self
