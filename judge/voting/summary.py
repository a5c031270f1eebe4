"""Many verdicts → one summary: the mean never without what is missing from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import ClassVar, Literal

from pydantic import Field

from judge.errors import UsageError
from judge.types.record import Record
from judge.types.rubric import Scale
from judge.types.stop_rule import StopRule
from judge.types.trajectory import Usage
from judge.types.verdict import JudgementError, Verdict
from judge.voting.exact import exact
from judge.voting.saving import Saving, SavingSums
from judge.voting.stopping import WRAPPED_UP
from judge.voting.usage import add_usage

HINTS = {
    "unparsed": "The judge did not answer in the JSON asked for; see raw_head. Try structured output or another judge.",
    "ambiguous": "The reply holds more than one verdict; see raw_head.",
    "out_of_range": "The judge answered outside the scale; see raw_head.",
    "missing_criterion": "The judge left out criteria; use fewer in one rubric, or a stronger judge.",
    "invalid_evidence": "The judge cited steps or words that the run does not have, or none where one is needed.",
    "empty": "The reply had no visible text; a thinking model may need a larger max_output_tokens.",
    "truncated": "Raise max_output_tokens.",
    "refusal": "The judge declined; try another judge.",
    "content_filter": "The provider blocked the text; try another provider.",
    "context_overflow": "Use a judge with a larger context, or shorten tool results in the rubric's view.",
    "rate_limit": "Lower the concurrency or set requests_per_minute for the provider.",
    "timeout": "Raise timeout_s for the provider, or lower the concurrency.",
    "overloaded": "The provider refused every call for long: run again later, or raise max_wait_s.",
    "connection": "Nothing answers there, or the line broke: check base_url, the server and the network.",
    "item_budget": "Raise max_usd_per_item, or draw fewer samples.",
    "quorum": "Draw more samples.",
}
OTHER_HINT = "See the message of the example."


class ErrorGroup(Record):
    """Verdicts without a score for one kind of cause.

    Attributes:
        count: Verdicts, not samples.
        trajectory_id, judge: Of the example.
        example: The first one met, whole.
    """

    omit_none: ClassVar[bool] = False

    kind: str
    count: int = Field(ge=1)
    trajectory_id: str
    judge: str
    example: JudgementError
    hint: str


class Summary(Record):
    """What a run's verdicts say together.

    Attributes:
        scored: Verdicts with a score; `total` counts every verdict.
        unjudged: Trajectories of the run that have no verdict yet; not in `total`.
        coverage: scored / (total + unjudged - not_applicable), in [0, 1]; None when nothing applied.
        mean: Over scored verdicts, on `scale`; None without one.
        low, high: The mean if every trajectory that has no score, and is not known to be not applicable, were the
            worst, or the best, there is. Equal to `mean` at full coverage.
        passed, failed: Verdicts by their gates; both 0 for a rubric without any.
        errors: Verdicts with status "error" by kind.
        votes_failed: Verdicts with another status although votes failed, by the kind of each failure: of one of several
            samples, or of a judge on a jury. One with two kinds counts in both.
        decided_by: Who decided the verdicts that were sent on, to how many: a judge, or "person" for those that wait.
        gate: "fail" when coverage is below the least that was asked for, whatever the mean is.
        calls: Judge calls of this run; `cached` counts samples that needed none.
        usage, cost_usd: Of this run's calls. None means not known.
        known_usd: Cost of the verdicts whose cost is known, and `unpriced` how many with calls have none: the calls of
            the run cost at least `known_usd`.
        wrapped_up: Verdicts with fewer votes than their rule would have drawn, since most of the budget was spent.
        stopping: What a stop rule saved, and at what risk; None without such a rule, or where it ended no verdict.
        cache_failures: Reads and writes that the reply cache failed to do, so that calls were made or replies not
            kept; None where nobody counted.
    """

    omit_none: ClassVar[bool] = False

    scored: int
    total: int
    inconclusive: int
    not_applicable: int
    coverage: float | None
    mean: float | None
    low: float | None
    high: float | None
    scale: Scale | None
    passed: int
    failed: int
    errors: dict[str, int]
    error_groups: tuple[ErrorGroup, ...] = ()
    votes_failed: dict[str, int] = {}
    decided_by: dict[str, int] = {}
    gate: Literal["pass", "fail"]
    gate_reason: str
    calls: int
    cached: int
    usage: Usage
    cost_usd: float | None
    known_usd: float = 0.0
    unpriced: int = 0
    unjudged: int = 0
    wrapped_up: int = 0
    stopping: Saving | None = None
    cache_failures: int | None = None


class VerdictSums:
    """Adds verdicts up one by one, so that a run of any length is summed in constant memory.

    Args:
        stop: The rule by which their votes were drawn, to tell what it saved.
    """

    def __init__(self, stop: StopRule | None = None) -> None:
        self._saving = SavingSums(stop) if stop is not None else None
        self._counts: Counter[str] = Counter()
        self._errors: dict[str, ErrorGroup] = {}
        self._votes_failed: Counter[str] = Counter()
        self._decided_by: Counter[str] = Counter()
        self._sum = Fraction(0)
        self._rubric: str | None = None
        self._scale: Scale | None = None
        self._usage: Usage = add_usage(())
        self._known_usd = 0.0
        self._unpriced = 0

    def add(self, verdict: Verdict) -> None:
        """Counts one verdict in.

        Raises:
            UsageError: It is of another rubric or scale than those before: their mean would mean nothing.
        """
        if self._rubric is None:
            self._rubric, self._scale = verdict.rubric, verdict.scale
        elif self._rubric != verdict.rubric or (self._scale is not verdict.scale and self._scale != verdict.scale):
            raise UsageError(
                f"Verdicts of {self._rubric!r} and {verdict.rubric!r} have no common mean.",
                hint="Sum up one rubric at a time.",
            )
        counts = self._counts
        counts["total"] += 1
        counts[verdict.status] += 1
        counts["calls"] += verdict.calls
        counts["cached"] += verdict.cached
        counts["wrapped_up"] += WRAPPED_UP in verdict.warnings
        if self._saving is not None:
            self._saving.add(verdict)
        if verdict.escalation is not None:
            self._decided_by[verdict.escalation.to] += 1
        if verdict.passed is not None:
            counts["passed" if verdict.passed else "failed"] += 1
        if verdict.calls:
            self._usage = add_usage((self._usage, verdict.usage))
            self._known_usd += verdict.cost_usd or 0.0
            self._unpriced += verdict.cost_usd is None
        if verdict.status == "ok" and verdict.score is not None:
            self._sum += exact(verdict.score)
        elif verdict.status == "error":
            self._count_error(verdict)
        if verdict.status != "error" and verdict.errors:
            self._votes_failed.update({error.kind for error in verdict.errors})

    def _count_error(self, verdict: Verdict) -> None:
        first = verdict.errors[0] if verdict.errors else JudgementError(kind="quorum", message=verdict.reason)
        known = self._errors.get(first.kind)
        if known is not None:
            self._errors[first.kind] = known.model_copy(update={"count": known.count + 1})
            return
        self._errors[first.kind] = ErrorGroup(
            kind=first.kind,
            count=1,
            trajectory_id=verdict.trajectory_id,
            judge=verdict.judge,
            example=first,
            hint=HINTS.get(first.kind, OTHER_HINT),
        )

    def summary(self, *, min_coverage: float = 0.0, unjudged: int = 0) -> Summary:
        """The verdicts so far, summed up.

        Args:
            min_coverage: Least coverage in [0, 1] for the gate.
            unjudged: Trajectories of the run without a verdict.
        """
        counts = self._counts
        scored, applicable = counts["ok"], counts["total"] + unjudged - counts["not_applicable"]
        missing = applicable - scored
        mean = low = high = None
        if self._scale is not None and scored:
            mean = float(self._sum / scored)
            low = float((self._sum + missing * exact(self._scale.low)) / applicable)
            high = float((self._sum + missing * exact(self._scale.high)) / applicable)
        reason = f"{scored} of {applicable} scored"
        enough = min_coverage == 0 or (applicable > 0 and Fraction(scored, applicable) >= exact(min_coverage))
        if not enough:
            reason = f"coverage: {reason}, at least {min_coverage:g} needed"
        groups = sorted(self._errors.values(), key=lambda group: (-group.count, group.kind))
        return Summary(
            scored=scored,
            total=counts["total"],
            inconclusive=counts["inconclusive"],
            not_applicable=counts["not_applicable"],
            coverage=scored / applicable if applicable else None,
            mean=mean,
            low=low,
            high=high,
            scale=self._scale,
            passed=counts["passed"],
            failed=counts["failed"],
            errors={group.kind: group.count for group in groups},
            error_groups=tuple(groups),
            votes_failed=dict(sorted(self._votes_failed.items(), key=lambda item: (-item[1], item[0]))),
            decided_by=dict(self._decided_by),
            gate="pass" if enough else "fail",
            gate_reason=reason,
            calls=counts["calls"],
            cached=counts["cached"],
            usage=self._usage,
            cost_usd=None if self._unpriced else self._known_usd,
            known_usd=self._known_usd,
            unpriced=self._unpriced,
            unjudged=unjudged,
            wrapped_up=counts["wrapped_up"],
            stopping=self._saving.saving() if self._saving is not None else None,
        )


def summarise(verdicts: Iterable[Verdict], *, min_coverage: float = 0.0) -> Summary:
    """Sums up verdicts of one rubric in one pass.

    Raises:
        UsageError: They are of different rubrics.
    """
    sums = VerdictSums()
    for verdict in verdicts:
        sums.add(verdict)
    return sums.summary(min_coverage=min_coverage)
