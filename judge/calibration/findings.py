"""CalibrationReport: everything that was measured of one judge on one criterion."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from judge.calibration.alternative_annotator import AlternativeAnnotatorTest
from judge.calibration.correction import PassRate
from judge.calibration.forecast import GateForecast
from judge.calibration.pass_mark import BandReport, ReviewBand
from judge.calibration.rank_stability import RankStability
from judge.calibration.wobble import Wobble
from judge.types.estimate import Statistic
from judge.types.record import Record


class CountTable(Record):
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


class WobbleReport(Record):
    """Variation of one judge on frozen input, of one cause.

    Attributes:
        ranges: Highest minus lowest score of a run's repeats, as text, to how many runs.
        target: Flip rate that `found.votes_needed` is for.
        usd_per_verdict: Price of that many votes; None where it is not known.
    """

    omit_none: ClassVar[bool] = False

    cause: Literal["sampling", "prompt", "criteria_order", "model_change"] = "sampling"
    found: Wobble
    n_items: int = Field(ge=0)
    ranges: dict[str, int] = {}
    target: float = 0.02
    usd_per_verdict: float | None = None


class Automation(Record):
    """A pass mark and a review band, chosen on dev labels by the user's costs and reported on test."""

    band: ReviewBand
    on_test: BandReport


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


class RubricHealth(Record):
    """Whether the judge uses the scale.

    Attributes:
        saturation: Share of runs at the top of the scale.
        values_used: Distinct scores given, of `values_legal`; None for a scale without levels.
        constant: Whether every run got the same score: then the criterion tells nothing apart.
        contradictions: Ids of runs at the top whose reason speaks of a fault, or at the bottom whose reason speaks
            of none; to be read by a person, never corrected by us.
    """

    omit_none: ClassVar[bool] = False

    saturation: float | None
    values_used: int
    values_legal: int | None
    constant: bool
    contradictions: tuple[str, ...] = ()


class CalibrationReport(Record):
    """Everything that was measured of one judge on one criterion, for the runs of one label set.

    Attributes:
        sentences: What it means, in plain words, most important first.
        cut: Lowest value that counts as passed; None for a scale that is not cut.
        chances: Lowest and highest chance by which labelled runs were drawn, where they differ.
        weighted: Names of the statistics in which each run weighs the inverse of its chance; see
            `judge.calibration.inclusion`. All others, slices aside, are of the labelled runs alone.
        statistics: Name to statistic: agreement, discrimination, shift.
        baselines: What a judge that does not look would reach, by name and statistic.
        left_out: Why how many rows are not in the numbers.
        failures: Cause to how many verdicts have no score; they count as wrong in agreement, TPR and TNR.
        reliability: For each score (score, share that people passed, low, high, n).
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
    cut: float | None = None
    chances: tuple[float, float] | None = None
    weighted: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    confusion: CountTable | None = None
    levels: CountTable | None = None
    statistics: dict[str, Statistic] = {}
    baselines: dict[str, dict[str, float | None]] = {}
    ceiling: dict[str, Statistic] = {}
    labels_usable: bool | None = None
    alternative_annotator: AlternativeAnnotatorTest | None = None
    metrics: tuple[MetricAgreement, ...] = ()
    wobble: tuple[WobbleReport, ...] = ()
    ranking: RankStability | None = None
    pass_rate: PassRate | None = None
    reliability: tuple[tuple[float, float, float, float, int], ...] = ()
    automation: Automation | None = None
    health: RubricHealth | None = None
    forecast: GateForecast | None = None
    slices: tuple[SliceResult, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    fingerprints: dict[str, str] = {}
    detail: dict[str, Any] = {}
