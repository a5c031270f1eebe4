"""Comparison: several judges on the same labelled runs, and whether one may take another's place."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from judge.types.estimate import Statistic
from judge.types.record import Record


class Work(Record):
    """What one verdict of a judge takes, on average; None where it is not known.

    Attributes:
        seconds: Wall time. `tokens`: input and output together. `usd`: US dollars.
    """

    omit_none: ClassVar[bool] = False

    seconds: float | None = None
    tokens: float | None = None
    usd: float | None = None


class ProbeFindings(Record):
    """What a probing of exactly this judge found.

    Attributes:
        source: "probe report", or the certificate that the claims stand in.
        decision: Of the report; None from a certificate, which decides on more than probes.
        claims: Claim to its statistic, e.g. "implanted_faults"; what was not probed is absent.
    """

    omit_none: ClassVar[bool] = False

    source: str
    decision: str | None
    claims: dict[str, Statistic]


class JudgeRow(Record):
    """One judge among others.

    Attributes:
        right: Mean credit over the shared runs: 1 for the people's own value, on an ordinal scale 1 less the distance
            as a share of the scale. A run on which the judge gave no score earns no credit; a judge that gave none at
            all has no `right`, no `rank` and is better or worse than nobody.
        kappa: Cohen's kappa with people (quadratic weights on an ordinal scale) over the runs that it scored.
        tpr, tnr: Good runs passed, failed runs caught; None on a scale that is not binary.
        scored: Shared runs with a score; the others stand in `failures` by cause.
        rank: Place by `right`, 1 is best, ties share the middle; `rank_low` to `rank_high` is its 95 % interval over
            resampled tasks, None where one task alone is there.
        wobble: Chance that two samples of a run differ; null where each run was judged once.
        probes: None where this judge was not probed.
    """

    omit_none: ClassVar[bool] = False

    judge: str
    right: Statistic
    kappa: Statistic
    tpr: Statistic | None
    tnr: Statistic | None
    n: int
    scored: int
    failures: dict[str, int] = {}
    rank: float | None
    rank_low: float | None
    rank_high: float | None
    wobble: Statistic
    work: Work = Work()
    probes: ProbeFindings | None = None


class JudgePair(Record):
    """Two judges on the shared runs.

    Attributes:
        difference: Credit of `a` less that of `b`, with an interval over resampled tasks.
        only_a, only_b: Runs that one alone got right; None on a scale that is not binary.
        p: Exact McNemar on a binary scale, 1 where they never differ in being right; else that of `p_by_task`.
        p_by_task: Sign flips of whole tasks; None where every run is a task of its own.
        p_adjusted: The larger of the two after Holm's correction over all pairs.
        both: Shared runs that both scored. `same`: share of those on which they gave the same value, and `kappa`
            between them; None where there is no such run.
        errors: Correlation (phi) of being wrong; None where one of them is never or always right.
        better: The judge that is better at .05 after correction, or None.
    """

    omit_none: ClassVar[bool] = False

    a: str
    b: str
    difference: Statistic
    only_a: int | None
    only_b: int | None
    p: float
    p_by_task: float | None
    p_adjusted: float
    both: int
    same: float | None
    kappa: float | None
    errors: float | None
    better: str | None


class FrontierPoint(Record):
    """A judge's price and credit; on the frontier when none is both cheaper (or equal) and better (or equal)."""

    judge: str
    usd: float
    right: float
    on_frontier: bool


class Separation(Record):
    """Labels that would tell the top two apart with 80 % power at .05, if their rates stay as seen.

    Attributes:
        runs, tasks: Smallest number; None with the reason where the two are level, or all runs are of one task.
        have: Runs that were compared.
    """

    omit_none: ClassVar[bool] = False

    first: str
    second: str
    runs: int | None
    tasks: int | None
    have: int
    reason: str | None = None


class CompareDecision(Record):
    """What the comparison allows to say.

    Attributes:
        best: The judge with the highest credit, or None where several share it.
        level_with: Other judges that are not shown to be worse than the first of the highest. A judge that gave no
            score at all is not among them.
        words: Sentences for people.
    """

    omit_none: ClassVar[bool] = False

    best: str | None
    level_with: tuple[str, ...]
    words: tuple[str, ...]


class Comparison(Record):
    """Judges on shared runs, best first.

    Attributes:
        n, n_groups: Shared runs and their tasks.
        left_out: What is not compared, by reason.
    """

    omit_none: ClassVar[bool] = False

    schema_: Literal["judge.comparison/1"] = Field(default="judge.comparison/1", alias="schema")
    label_set: str
    criterion: str
    n: int
    n_groups: int
    judges: tuple[JudgeRow, ...]
    pairs: tuple[JudgePair, ...]
    frontier: tuple[FrontierPoint, ...] = ()
    separation: Separation | None = None
    decision: CompareDecision
    left_out: dict[str, int] = {}


class Flip(Record):
    """A run on which the old and the new judge differ; None stands for no score.

    Attributes:
        change: "broken": the old judge alone agrees with people; "fixed": the new one alone; "both_wrong".
    """

    omit_none: ClassVar[bool] = False

    item: str
    group: str
    label: float
    old: float | None
    new: float | None
    change: Literal["broken", "fixed", "both_wrong"]
    old_reason: str = ""
    new_reason: str = ""


class RankChange(Record):
    """Place of one agent by the mean score of each judge."""

    agent: str
    old_rank: float
    new_rank: float
    old_mean: float
    new_mean: float


class MovedMark(Record):
    """The old judge's pass mark on the new judge's scale.

    Attributes:
        new: The mark under which the new judge passes and fails most nearly what the old one did.
        agree: Share of runs scored by both that then keep their result.
        changed: Runs whose result changes, each with what the old judge's mark gave.
    """

    old: float
    new: float
    agree: float
    changed: dict[str, Literal["passed", "failed"]]


class Switch(Record):
    """Whether a new judge may take an old one's place.

    Attributes:
        difference: Credit of the new judge less that of the old, with bounds that do not fail open.
        margin: Largest loss of credit that is accepted.
        decision: "switch": the loss is below the margin for sure. "keep": it is above the margin for sure.
            "undecided": the labels do not tell.
        usd_change: Price of a new verdict less that of an old one; None where one is unknown.
        tau: Kendall's tau-b between the two rankings of agents; None without two agents that rank.
        moved_mark: None where both judges pass or fail by themselves.
        unchanged: Runs on which both said the same. `neither`: runs on which none of them gave a score.
    """

    omit_none: ClassVar[bool] = False

    schema_: Literal["judge.switch/1"] = Field(default="judge.switch/1", alias="schema")
    old: str
    new: str
    margin: float
    difference: Statistic
    decision: Literal["switch", "keep", "undecided"]
    words: tuple[str, ...]
    flips: tuple[Flip, ...]
    unchanged: int
    neither: int
    agents: tuple[RankChange, ...] = ()
    tau: float | None = None
    usd_change: float | None = None
    moved_mark: MovedMark | None = None
