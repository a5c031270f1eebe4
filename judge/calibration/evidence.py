"""A calibration report → the statistics that claims are held to, and how many more labels each would need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judge.calibration.claims import KINDS
from judge.calibration.findings import CalibrationReport
from judge.calibration.label_budget import labels_for_kappa, more_labels_for_share
from judge.types.calibration_set import Profile, RequiredClaim
from judge.types.estimate import Statistic

LEAST_REPEATS = 3
LEAST_REPEATED_ITEMS = 50
LEAST_RANKED_TASKS = 20
"""Below this many tasks every resample may agree by luck, and the chance of the top staying top reads as 1."""


def measured_claims(report: CalibrationReport) -> dict[str, Statistic]:
    """Claim name to its statistic; a claim that the report has no measurement for is absent, not zero."""
    found: dict[str, Statistic] = {}
    if report.cut is not None:
        found["labels_failed"] = _count(report.label_counts.get("failed", 0))
        found["labels_passed"] = _count(report.label_counts.get("passed", 0))
    found["groups"] = _count(report.n_groups)
    for name in ("tnr", "tpr", "parse_failures"):
        if name in report.statistics:
            found[name] = report.statistics[name]
    kappa = report.statistics.get("kappa") or report.statistics.get("kappa_quadratic")
    if kappa is not None:
        found["kappa"] = kappa
    found["leniency"] = distance_from_zero(report.statistics["leniency"])
    if "difference" in report.ceiling:
        found["ceiling"] = report.ceiling["difference"]
    sampling = next((w for w in report.wobble if w.cause == "sampling"), None)
    if sampling and sampling.found.repeats >= LEAST_REPEATS and sampling.n_items >= LEAST_REPEATED_ITEMS:
        found["flip_rate"] = sampling.found.flip_rate
    if report.ranking is not None and report.ranking.top_stays is not None and report.n_groups >= LEAST_RANKED_TASKS:
        top = report.ranking.top_stays
        found["rank_stability"] = Statistic(
            value=top, lower=top, upper=top, n=report.ranking.resamples, method="share of resamples"
        )
    return found


def distance_from_zero(shift: Statistic) -> Statistic:
    """The size of a shift in either direction, with the bounds that its interval allows."""
    if shift.value is None or shift.lower is None or shift.upper is None:
        return shift
    low, high = shift.lower, shift.upper
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return Statistic(
        value=abs(shift.value),
        lower=nearest,
        upper=max(abs(low), abs(high)),
        confidence=shift.confidence,
        n=shift.n,
        clusters=shift.clusters,
        method=f"size of {shift.method}",
    )


def more_labels(
    report: CalibrationReport,
    measured: Mapping[str, Statistic],
    profile: Profile,
    required: Sequence[RequiredClaim],
) -> dict[str, int]:
    """How many more labels each undecided claim needs, if its estimate stays as it is."""
    bars = {name: kind.thresholds[profile] for name, kind in KINDS.items()}
    bars |= {claim.name: claim.threshold for claim in required if claim.threshold is not None}
    out: dict[str, int] = {}
    for name, kind in (("labels_passed", "passed"), ("labels_failed", "failed")):
        if name in measured:
            out[name] = max(0, int(bars[name]) - report.label_counts.get(kind, 0))
    for name in ("tnr", "tpr"):
        rate = measured.get(name)
        if rate is not None and rate.value is not None and 0 < bars[name] < 1:
            budget = more_labels_for_share(round(rate.value * rate.n), rate.n, bars[name], design_effect=_deff(rate))
            if budget.more:
                out[name] = budget.more
    kappa = measured.get("kappa")
    if kappa is not None and kappa.value is not None and kappa.value > bars["kappa"] and report.cut is not None:
        passed = report.label_counts.get("passed", 0) / max(1, report.n)
        if 0 < passed < 1:
            # a perfect record will not last: it is taken a little below 1, the more so the shorter it is
            truth = min(kappa.value, (kappa.n + 0.5) / (kappa.n + 1), 0.99)
            if truth > bars["kappa"]:
                spread = _deff(report.statistics["agreement"])
                budget = labels_for_kappa(bars["kappa"], truth, rate=passed, have=kappa.n, design_effect=spread)
                out["kappa"] = budget.more or 0
    failures = measured.get("parse_failures")
    if failures is not None and failures.value is not None and 0 < bars["parse_failures"] < 1:
        right = failures.n - round(failures.value * failures.n)
        budget = more_labels_for_share(right, failures.n, 1 - bars["parse_failures"], design_effect=_deff(failures))
        out["parse_failures"] = budget.more or 0
    return {name: n for name, n in out.items() if n}


def _count(n: int) -> Statistic:
    return Statistic(value=float(n), lower=float(n), upper=float(n), n=n, method="count")


def _deff(rate: Statistic) -> float:
    found = (rate.detail or {}).get("design_effect")
    return max(1.0, float(found)) if isinstance(found, int | float) else 1.0
