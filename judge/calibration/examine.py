"""One joined data set → one calibration report: every statistic that the data allow, and why not the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from judge.calibration.alternative_annotator import alternative_annotator_test
from judge.calibration.ceiling import ceiling
from judge.calibration.concordance import concordance_correlation, leniency
from judge.calibration.confusion import BinaryAgreement, binary_agreement
from judge.calibration.correction import pass_rate
from judge.calibration.dataset import Dataset
from judge.calibration.discrimination import auroc
from judge.calibration.findings import (
    Automation,
    CalibrationReport,
    CountTable,
    Disagreement,
    MetricAgreement,
    SliceResult,
    WobbleReport,
)
from judge.calibration.forecast import GateForecast, forecast_gate
from judge.calibration.icc import icc
from judge.calibration.kappa import agreement_coefficient
from judge.calibration.pass_mark import Costs, band_on_test, choose_band
from judge.calibration.proportions import design_effect, share, wilson
from judge.calibration.rank_correlation import rank_agreement
from judge.calibration.rank_stability import RankStability, rank_stability
from judge.calibration.ratings import cluster_codes
from judge.calibration.resampling import WEIGHTED, Floats
from judge.calibration.rubric_health import rubric_health
from judge.calibration.sentences import plain_words
from judge.calibration.wobble import wobble
from judge.errors import StatisticsError
from judge.types.calibration_set import SamplingDesign
from judge.types.estimate import Statistic, undefined

SMALL_SLICE = 20
"""A slice with fewer labels gets a warning beside its numbers."""


@dataclass(frozen=True)
class Beside:
    """What is known of the items beside verdicts and labels; every mapping is by item id.

    Attributes:
        metrics: Metric name to item to value.
        agents: Which agent made the run.
        reasons: The judge's reason. `notes`: the label's note. `views`: the run as numbered steps.
        unlabelled: Verdicts (1, 0) of runs that nobody labelled, with their groups, for the pass rate.
        usd_per_vote: Price of one vote, where it is known.
    """

    metrics: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    agents: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)
    unlabelled: Sequence[tuple[float, str]] = ()
    usd_per_vote: float | None = None


def examine(
    data: Dataset,
    *,
    label_set: str,
    rng: np.random.Generator,
    rubric: str | None = None,
    split: str | None = None,
    design: SamplingDesign = "unknown",
    cut: float | None = None,
    target: float = 0.02,
    costs: Costs | None = None,
    gate_bar: float | None = None,
    dev: Dataset | None = None,
    beside: Beside | None = None,
) -> CalibrationReport:
    """The report of one judge on one criterion.

    Args:
        data: Joined verdicts and labels of the test split.
        design: How the labelled runs were drawn; never guessed.
        cut: Lowest value that counts as passed, on an ordinal scale; None there leaves pass and fail untested.
        target: Flip rate that the number of votes is asked for.
        gate_bar: Share of passing runs that a gate on these runs would ask for; its forecast is given then.
        costs, dev: A review band is chosen on `dev` by `costs`, when both are given, and reported on `data`.
    """
    beside = beside or Beside()
    mark = 1.0 if data.scale.type == "binary" else cut
    label = np.asarray(data.labels, dtype=np.float64)
    verdict = _floats(data.verdicts)
    groups, weights = data.groups, data.weights()
    statistics: dict[str, Statistic] = {}
    confusion: CountTable | None = None
    binary: BinaryAgreement | None = None
    right = np.where(np.isnan(verdict), 0.0, (verdict == label).astype(np.float64))
    statistics["agreement"] = share(right, groups=groups, weights=weights, rng=rng)

    def agreement_of(human: Floats, judge: Floats, domain: Sequence[float], kind: str, distances: str) -> Statistic:
        return agreement_coefficient(
            _labels(human),
            _labels(judge),
            domain=list(domain),
            groups=groups,
            kind=kind,  # type: ignore[arg-type]
            weights=distances,  # type: ignore[arg-type]
            item_weights=weights,
            rng=rng,
        )

    if mark is not None:
        passed = (label >= mark).astype(np.float64)
        said = np.where(np.isnan(verdict), np.nan, (verdict >= mark).astype(np.float64))
        binary = binary_agreement(passed, said, groups=groups, weights=weights, rng=rng)
        # a verdict that failed is wrong for whichever class the run is of: breaking the judge cannot raise a rate
        wrong = np.where(np.isnan(said), 1.0 - passed, said)
        statistics["tnr"] = _share_where(1.0 - wrong, passed == 0, data, rng)
        statistics["tpr"] = _share_where(wrong, passed == 1, data, rng)
        statistics |= {"precision": binary.precision, "f1": binary.f1}
        statistics["kappa"] = agreement_of(passed, wrong, (0.0, 1.0), "cohen", "unweighted")
        statistics["ac1"] = agreement_of(passed, wrong, (0.0, 1.0), "gwet", "unweighted")
        confusion = _binary_table(binary)
        if data.scale.type != "binary":
            alike = (wrong == passed).astype(np.float64)
            statistics["pass_fail_agreement"] = share(alike, groups=groups, weights=weights, rng=rng)
        raw = _floats(data.scores) if data.scores else verdict
        statistics["auroc"] = auroc(passed, raw, groups=groups, rng=rng)
    domain = data.domain
    ordinal = domain is not None and len(domain) > 2
    if ordinal:
        assert domain is not None
        filled = _as_far_as_can_be(label, verdict, domain)
        for distances in ("unweighted", "linear", "quadratic"):
            statistics[f"kappa_{distances}"] = agreement_of(label, filled, domain, "cohen", distances)
        statistics["ac2"] = agreement_of(label, filled, domain, "gwet", "quadratic")
    if data.scale.type != "binary":
        both = np.column_stack([label, verdict])[~np.isnan(verdict)]
        kept = _of(groups, ~np.isnan(verdict))
        statistics["tau_b"] = rank_agreement(label, verdict, kind="tau_b", groups=groups, rng=rng)
        statistics["spearman"] = rank_agreement(label, verdict, kind="spearman", groups=groups, rng=rng)
        statistics["somers_d"] = rank_agreement(label, verdict, kind="somers_d", groups=groups, rng=rng)
        statistics["ccc"] = concordance_correlation(label, verdict, groups=groups, rng=rng)
        statistics["icc"] = _guard(lambda: icc(both, form="A,1", groups=kept, rng=rng), len(both))
    statistics["leniency"] = leniency(label, verdict, scale=(data.scale.low, data.scale.high), groups=groups, rng=rng)
    if len(data.orders) == 2:
        one, other = (_floats(values) for values in data.orders.values())
        same = (one == other).astype(np.float64)
        statistics["order_agreement"] = share(same, groups=groups, weights=weights, rng=rng)
    failed = np.isnan(verdict).astype(np.float64)
    statistics["parse_failures"] = share(failed, groups=groups, weights=weights, rng=rng)
    report = CalibrationReport(
        judge=data.judge,
        rubric=rubric,
        criterion=data.criterion,
        label_set=label_set,
        split=split,
        n=len(data.items),
        n_groups=len(set(groups)),
        label_kinds=data.kinds,
        raters=tuple(data.raters),
        chances=data.chances(),
        weighted=tuple(name for name, found in statistics.items() if found.method.endswith(WEIGHTED)),
        label_counts=_label_counts(label, mark, data),
        left_out=dict(data.left_out),
        failures=dict(Counter(f.removeprefix("failed: ") for f in data.failures if f)),
        cut=mark,
        confusion=confusion,
        levels=_level_table(label, verdict, data) if ordinal else None,
        statistics=statistics,
        baselines=_baselines(binary, label, data.scale.type == "binary"),
        **_people(data, verdict, rng),
        metrics=_second_axis(data, label, verdict, beside, rng),
        wobble=_wobble(data, target, beside, rng),
        ranking=_ranking(data, verdict, beside, rng),
        pass_rate=_pass_rate(data, label, verdict, mark, design, beside, rng),
        reliability=_reliability(data, label, mark),
        forecast=_forecast(data, verdict, mark, gate_bar),
        automation=_automation(data, dev, mark, costs, rng),
        health=rubric_health(
            data.items,
            data.scores or data.verdicts,
            beside.reasons,
            low=(data.score_scale or data.scale).low,
            high=(data.score_scale or data.scale).high,
            legal=len(data.score_domain) if data.score_domain else None,
        ),
        slices=_slices(data, label, verdict, mark, rng),
        disagreements=_disagreements(data, label, verdict, beside),
    )
    return report.model_copy(update={"sentences": plain_words(report)})


def _floats(values: Sequence[float | None]) -> Floats:
    return np.asarray([np.nan if value is None else value for value in values], dtype=np.float64)


def _of(groups: Sequence[str], keep: np.ndarray) -> list[str]:
    return [group for group, kept in zip(groups, keep, strict=True) if kept]


def _as_far_as_can_be(label: Floats, verdict: Floats, domain: Sequence[float]) -> Floats:
    """The verdicts, a failed one put at the end of the scale that lies farther from the label."""
    low, high = domain[0], domain[-1]
    return np.where(np.isnan(verdict), np.where(label - low > high - label, low, high), verdict)


def _guard(make: object, n: int) -> Statistic:
    """A statistic, or null with the reason that its function raised."""
    assert callable(make)
    try:
        found = make()
    except StatisticsError as error:
        return undefined(error.message, n=n)
    assert isinstance(found, Statistic)
    return found


def _share_where(values: Floats, where: np.ndarray, data: Dataset, rng: np.random.Generator) -> Statistic:
    """The share over some of the items, each weighing as it does in the whole."""
    weights = data.weights()
    some = None if weights is None else np.asarray(weights)[where]
    return share(values[where], groups=_of(data.groups, where), weights=some, rng=rng)


def _labels(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _binary_table(binary: BinaryAgreement) -> CountTable:
    c = binary.confusion
    return CountTable(names=("failed", "passed"), counts=((c.fail_fail, c.fail_pass), (c.pass_fail, c.pass_pass)))


def _level_table(label: Floats, verdict: Floats, data: Dataset) -> CountTable:
    domain = data.domain or ()
    counts = tuple(tuple(int(((label == human) & (verdict == said)).sum()) for said in domain) for human in domain)
    return CountTable(names=tuple(f"{value:g}" for value in domain), counts=counts)


def _label_counts(label: Floats, mark: float | None, data: Dataset) -> dict[str, int]:
    if mark is not None:
        return {"failed": int((label < mark).sum()), "passed": int((label >= mark).sum())}
    return {f"{value:g}": int(n) for value, n in sorted(Counter(label.tolist()).items())}


def _baselines(binary: BinaryAgreement | None, label: Floats, two_values: bool) -> dict[str, dict[str, float | None]]:
    out: dict[str, dict[str, float | None]] = {}
    if not two_values:
        top = Counter(label.tolist()).most_common(1)
        out["always the most common label"] = {"agreement": top[0][1] / len(label)}
    if binary is not None:
        name = "agreement" if two_values else "pass_fail_agreement"
        out["always pass"] = {name: binary.always_pass.value, "kappa": 0.0, "tpr": 1.0, "tnr": 0.0}
        out["always fail"] = {name: binary.always_fail.value, "kappa": 0.0, "tpr": 0.0, "tnr": 1.0}
    return out


def _people(data: Dataset, verdict: Floats, rng: np.random.Generator) -> dict[str, object]:
    """The human–human ceiling with two raters, the alternative annotator test with three."""
    raters = {name: row for name, row in (data.people() or {}).items() if any(v is not None for v in row)}
    if len(raters) < 2 or data.domain is None:
        return {}
    verdict = np.concatenate([verdict, _floats(data.ties.verdicts)])
    groups = (*data.groups, *data.ties.groups)
    weights = "unweighted" if len(data.domain) == 2 else "quadratic"
    found = ceiling(
        [list(values) for values in raters.values()],
        _labels(verdict),
        domain=list(data.domain),
        weights=weights,  # type: ignore[arg-type]
        groups=groups,
        rng=rng,
    )
    out: dict[str, object] = {
        "ceiling": {
            "human_human": found.human_human,
            "judge_human": found.judge_human,
            "difference": found.difference,
        },
        "labels_usable": found.labels_usable,
    }
    if len(raters) >= 3:
        people = {name: _floats(values) for name, values in raters.items()}
        out["alternative_annotator"] = alternative_annotator_test(people, verdict, groups=groups)
    return out


def _second_axis(
    data: Dataset, label: Floats, verdict: Floats, beside: Beside, rng: np.random.Generator
) -> tuple[MetricAgreement, ...]:
    out = []
    for name, by_item in beside.metrics.items():
        value = _floats([by_item.get(item) for item in data.items])
        known = value[~np.isnan(value)]
        if len(known) < 2 or float(np.ptp(known)) == 0.0:
            continue
        found = rank_agreement(value, verdict, kind="tau_b", groups=data.groups, rng=rng)
        people = rank_agreement(value, label, kind="tau_b", groups=data.groups, rng=rng)
        out.append(
            MetricAgreement(
                metric=name,
                association=found,
                with_people=people,
                disagreements=_furthest(data.items, value, verdict, people.value),
            )
        )
    return tuple(out)


def _furthest(items: Sequence[str], value: Floats, verdict: Floats, direction: float | None) -> tuple[str, ...]:
    """Items whose place by the metric and by the judge differ most, with the metric turned as people's labels go."""
    both = ~np.isnan(value) & ~np.isnan(verdict)
    if direction is None or int(both.sum()) < 2:
        return ()
    turned = value if direction >= 0 else -value
    places = np.flatnonzero(both)
    gap = np.abs(_share_below(turned[both]) - _share_below(verdict[both]))
    order = np.argsort(-gap, kind="stable")
    return tuple(items[places[i]] for i in order[:10] if gap[i] >= 0.5)


def _share_below(values: Floats) -> Floats:
    ordered = np.sort(values)
    below = np.searchsorted(ordered, values, side="left") + np.searchsorted(ordered, values, side="right")
    return np.asarray(below, dtype=np.float64) / (2 * len(values))


def _wobble(data: Dataset, target: float, beside: Beside, rng: np.random.Generator) -> tuple[WobbleReport, ...]:
    """Wobble by cause: sampling from the repeats themselves, another cause from its repeats beside the first sample."""
    by_cause: dict[str, tuple[tuple[float | None, ...], ...]] = {"sampling": data.repeats}
    by_cause |= {cause: (*data.repeats[:1], *repeats) for cause, repeats in data.repeats_by_cause.items()}
    return tuple(
        _wobble_of(cause, repeats, data.groups, target, beside, rng)
        for cause, repeats in by_cause.items()
        if len(repeats) >= 2
    )


def _wobble_of(
    cause: str,
    repeats: Sequence[Sequence[float | None]],
    groups: Sequence[str],
    target: float,
    beside: Beside,
    rng: np.random.Generator,
) -> WobbleReport:
    matrix = np.column_stack([_floats(sample) for sample in repeats])
    found = wobble(matrix, groups=groups, target=target, rng=rng)
    ranges = Counter(f"{entry.spread:g}" for entry in found.items if entry is not None)
    price = None
    if beside.usd_per_vote is not None and found.votes_needed is not None:
        price = beside.usd_per_vote * found.votes_needed
    return WobbleReport(
        cause=cause,
        found=found,
        n_items=sum(entry is not None for entry in found.items),
        ranges=dict(sorted(ranges.items(), key=lambda pair: float(pair[0]))),
        target=target,
        usd_per_verdict=price,
    )


def _ranking(data: Dataset, verdict: Floats, beside: Beside, rng: np.random.Generator) -> RankStability | None:
    """Agents by the judge's mean score; items are tasks, paired across agents."""
    agents = sorted({beside.agents[item] for item in data.items if item in beside.agents})
    if len(agents) < 2:
        return None
    tasks = list(dict.fromkeys(data.groups))
    place, column = {name: i for i, name in enumerate(agents)}, {name: j for j, name in enumerate(tasks)}
    cells: dict[tuple[int, int], list[float]] = {}
    for item, group, value in zip(data.items, data.groups, verdict, strict=True):
        if item in beside.agents and not np.isnan(value):
            cells.setdefault((place[beside.agents[item]], column[group]), []).append(float(value))
    deepest = max((len(values) for values in cells.values()), default=1)
    scores = np.full((len(agents), len(tasks), deepest), np.nan)
    for (i, j), values in cells.items():
        scores[i, j, : len(values)] = values
    return rank_stability(scores, agents, groups=tasks, rng=rng)


def _pass_rate(
    data: Dataset,
    label: Floats,
    verdict: Floats,
    mark: float | None,
    design: SamplingDesign,
    beside: Beside,
    rng: np.random.Generator,
) -> object:
    if mark is None:
        return None
    known = ~np.isnan(verdict)
    said = (verdict[known] >= mark).astype(np.float64)
    extra = [value for value, _ in beside.unlabelled]
    verdicts = np.concatenate([said, extra])
    labels = np.concatenate([(label[known] >= mark).astype(np.float64), np.full(len(extra), np.nan)])
    groups = _of(data.groups, known) + [group for _, group in beside.unlabelled]
    if design != "constructed" and (weights := data.weights()) is not None:
        chances = np.concatenate([1 / np.asarray(weights)[known], np.full(len(extra), np.nan)])
        return pass_rate(verdicts, labels, design="inclusion", inclusion=chances, groups=groups, rng=rng)
    if design != "constructed":
        return pass_rate(verdicts, labels, design=design, groups=groups, rng=rng)
    none = undefined("runs built by hand are a sample of no population", n=len(labels))
    found = pass_rate(verdicts, labels, design="unknown", groups=groups, rng=rng)
    return found.model_copy(update={"corrected": none, "labels_only": none})


def _reliability(
    data: Dataset, label: Floats, mark: float | None
) -> tuple[tuple[float, float, float, float, int], ...]:
    if mark is None:
        return ()
    scores = _floats(data.scores) if data.scores else _floats(data.verdicts)
    out = []
    for score in np.unique(scores[~np.isnan(scores)]):
        passed = label[scores == score] >= mark
        low, high = wilson(float(passed.sum()), float(len(passed)))
        out.append((float(score), float(passed.mean()), low, high, len(passed)))
    return tuple(out) if len(out) <= 25 else ()


def _forecast(data: Dataset, verdict: Floats, mark: float | None, bar: float | None) -> GateForecast | None:
    """The chance that a gate on as many runs goes red though nothing changed, and the least change it can see."""
    known = ~np.isnan(verdict)
    if bar is None or mark is None or not known.any():
        return None
    passed = (verdict[known] >= mark).astype(np.float64)
    cluster = cluster_codes(_of(data.groups, known), len(passed))
    effect = design_effect(passed, cluster) if len(set(cluster.tolist())) < len(passed) else 1.0
    return forecast_gate(int(passed.sum()), len(passed), bar=bar, n=len(passed), design_effect=max(1.0, effect or 1.0))


def _automation(
    data: Dataset, dev: Dataset | None, mark: float | None, costs: Costs | None, rng: np.random.Generator
) -> Automation | None:
    if dev is None or costs is None or mark is None:
        return None
    chosen, passed, _ = _complete(dev, mark)
    if len(set(passed)) < 2:
        return None
    band = choose_band(chosen, passed, costs=costs)
    scores, labels, groups = _complete(data, mark)
    return Automation(band=band, on_test=band_on_test(band, scores, labels, groups=groups, rng=rng))


def _complete(data: Dataset, mark: float) -> tuple[list[float], list[float], list[str]]:
    rows = [
        (score, float(label >= mark), group)
        for score, label, group in zip(data.scores or data.verdicts, data.labels, data.groups, strict=True)
        if score is not None
    ]
    return [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows]


def _slices(
    data: Dataset, label: Floats, verdict: Floats, mark: float | None, rng: np.random.Generator
) -> tuple[SliceResult, ...]:
    out = []
    for name, values in data.slices.items():
        distinct = sorted(set(values))
        if not 2 <= len(distinct) <= 30:
            continue
        for value in distinct:
            here = np.asarray([v == value for v in values])
            right = np.where(np.isnan(verdict), 0.0, verdict == label)
            statistics = {"agreement": _share_where(right, here, data, rng)}
            if mark is not None:
                caught = np.where(np.isnan(verdict), 0.0, verdict < mark)
                statistics["tnr"] = _share_where(caught, here & (label < mark), data, rng)
            n = int(here.sum())
            warning = f"only {n} labels: read it as a hint" if n < SMALL_SLICE else ""
            out.append(SliceResult(slice=name, value=value, n=n, statistics=statistics, warning=warning))
    return tuple(out)


def _disagreements(
    data: Dataset, label: Floats, verdict: Floats, beside: Beside, *, most: int = 50
) -> tuple[Disagreement, ...]:
    width = data.scale.high - data.scale.low
    gap = np.where(np.isnan(verdict), 2.0, np.abs(verdict - label) / width)
    order = [int(i) for i in np.argsort(-gap, kind="stable") if gap[i] > 0]
    return tuple(
        Disagreement(
            item=data.items[i],
            group=data.groups[i],
            label=float(label[i]),
            verdict=data.verdicts[i],
            failure=data.failures[i],
            reason=beside.reasons.get(data.items[i], ""),
            note=beside.notes.get(data.items[i], ""),
            view=beside.views.get(data.items[i], ""),
        )
        for i in order[:most]
    )
