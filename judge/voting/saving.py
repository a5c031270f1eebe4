"""What a stop rule saved in a run, and at what risk."""

from __future__ import annotations

from judge.types.record import Record
from judge.types.stop_rule import StopRule
from judge.types.verdict import Verdict
from judge.voting.sequential import reckoned_risk
from judge.voting.stopping import WRAPPED_UP


class Saving(Record):
    """Votes that a stop rule left undrawn.

    Attributes:
        verdicts: Those that the rule ended: with an outcome, of one judge, and not cut short by a budget.
        drawn: Votes of those, the ones from the cache included.
        most: Votes that the same verdicts would have had without the rule.
        risk: Mean over them of the chance that more votes would give another outcome, as the rule reckons it; of
            several criteria the largest. 0 where the votes left could not change it.
        stated: What the rule allowed for each.
    """

    verdicts: int
    drawn: int
    most: int
    risk: float
    stated: float

    @property
    def saved(self) -> float:
        """Share of the votes that were not drawn."""
        return 1 - self.drawn / self.most


class SavingSums:
    """Adds up one by one what a rule saved."""

    def __init__(self, rule: StopRule) -> None:
        self._rule = rule
        self._verdicts = self._drawn = 0
        self._risk = 0.0

    def add(self, verdict: Verdict) -> None:
        """Counts one verdict in, where the rule ended it."""
        if verdict.status not in ("ok", "not_applicable") or verdict.escalation is not None:
            return
        drawn = max((len(result.votes) for result in verdict.criteria), default=0)
        if not drawn or WRAPPED_UP in verdict.warnings or verdict.judge.startswith("jury/"):
            return
        left = self._rule.most - drawn
        risks = [reckoned_risk(result.votes, result.scale, left) for result in verdict.criteria]
        self._verdicts += 1
        self._drawn += drawn
        self._risk += max((risk for risk in risks if risk is not None), default=0.0)

    def saving(self) -> Saving | None:
        """What was saved so far; None before the first verdict."""
        if not self._verdicts:
            return None
        return Saving(
            verdicts=self._verdicts,
            drawn=self._drawn,
            most=self._rule.most * self._verdicts,
            risk=self._risk / self._verdicts,
            stated=self._rule.risk,
        )
