"""CalibrationReport: everything that was measured of one judge on one criterion."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from judge.types.estimate import Statistic
from judge.types.record import Record


class Confusion(Record):
    """Counts of (people, judge) pairs; rows are people's values, columns the judge's, worst first."""

    names: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


class SliceResult(Record):
    """Agreement within one part of the runs.

    Attributes:
        warning: Why little can be said of it, or "".
    """

    slice: str
    value: str
    n: int = Field(ge=0)
    statistics: dict[str, Statistic]
    warning: str = ""


class MetricAgreement(Record):
    """Agreement with one deterministic metric, the second axis.

    Attributes:
        association: Kendall tau-b between the judge's score and the metric.
        with_people: The same between people's labels and the metric, for comparison.
        disagreements: Ids where judge and metric are furthest apart, worst first.
    """

    metric: str
    association: Statistic
    with_people: Statistic
    disagreements: tuple[str, ...] = ()


class Wobble(Record):
    """Variation of one judge on frozen input.

    Attributes:
        repeats: Samples an item.
        flip_rate: Share of pairs of single samples of one item whose verdict differs.
        flips_by_votes: Number of votes to the share of items whose verdict would change on a re-run.
        votes_needed: Least odd number of votes that reaches `target`; None when none up to the limit does.
        upper_bound_note: Agreement of a judge with itself bounds trust from above; it proves nothing.
    """

    omit_none: ClassVar[bool] = False

    repeats: int = Field(ge=0)
    items: int = Field(ge=0)
    cause: Literal["sampling", "prompt", "criteria_order", "model_change", "unknown"] = "sampling"
    flip_rate: Statistic
    icc: Statistic
    alpha: Statistic
    mean_sd: Statistic
    equal_share: Statistic
    wide_share: Statistic
    ranges: dict[str, int] = {}
    flips_by_votes: dict[str, float] = {}
    votes_needed: int | None = None
    target: float = 0.02
    usd_per_verdict: float | None = None


class AgentRank(Record):
    """Where one agent stands in the judge's ranking, with its interval over resampled tasks."""

    name: str
    mean: float
    rank: float
    low: float
    high: float
    n: int = Field(ge=1)


class RankStability(Record):
    """How far the ranking of agents depends on chance."""

    omit_none: ClassVar[bool] = False

    agents: tuple[AgentRank, ...]
    tau: Statistic
    concordance: Statistic
    top_stays: Statistic
    swaps: dict[str, float] = {}


class PassRate(Record):
    """What the judge's pass rate really means.

    Attributes:
        raw: Share that the judge passed: not an estimate of the true rate.
        labels_only: From the labels alone.
        corrected: Corrected for the judge's errors; null with a reason where the design allows none.
    """

    design: str
    raw: Statistic
    labels_only: Statistic
    corrected: Statistic
    method: str = ""


class Disagreement(Record):
    """One run where judge and people differ, with what each said."""

    omit_none: ClassVar[bool] = False

    item: str
    group: str
    label: float
    verdict: float | None
    failure: str | None = None
    reason: str = ""
    note: str = ""
    view: str = ""


class CalibrationReport(Record):
    """Everything that was measured of one judge on one criterion, for the runs of one label set.

    Attributes:
        sentences: What it means, in plain words, most important first.
        cut: Lowest label that counts as passed, and lowest score of the judge that does.
        statistics: Name to statistic: agreement, discrimination, shift.
        baselines: What a judge that does not look would reach, by name and statistic.
        left_out: Why how many rows are not in the numbers.
        failures: Cause to how many verdicts have no score; they count as wrong in TPR and TNR.
    """

    omit_none: ClassVar[bool] = False

    schema_: Literal["judge.calibration/1"] = Field(default="judge.calibration/1", alias="schema")
    judge: str
    rubric: str | None
    criterion: str
    label_set: str
    split: str | None = None
    n: int = Field(ge=0)
    n_groups: int = Field(ge=0)
    label_kinds: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()
    label_counts: dict[str, int] = {}
    left_out: dict[str, int] = {}
    failures: dict[str, int] = {}
    cut: tuple[float, float] | None = None
    sentences: tuple[str, ...] = ()
    confusion: Confusion | None = None
    levels: Confusion | None = None
    statistics: dict[str, Statistic] = {}
    baselines: dict[str, dict[str, float | None]] = {}
    ceiling: dict[str, Statistic] = {}
    alternative_annotator: dict[str, Any] | None = None
    metrics: tuple[MetricAgreement, ...] = ()
    wobble: Wobble | None = None
    ranking: RankStability | None = None
    pass_rate: PassRate | None = None
    reliability: tuple[tuple[float, float, float, float, int], ...] = ()
    decision_rule: dict[str, Any] | None = None
    health: dict[str, Any] = {}
    forecast: dict[str, Any] | None = None
    slices: tuple[SliceResult, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    fingerprints: dict[str, str] = {}
