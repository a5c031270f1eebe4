"""All pairs of one judge → a probe report, its claims, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from judge.calibration.claims import judge_claims
from judge.calibration.evidence import distance_from_zero
from judge.calibration.probes.attack_texts import CONTROL, STRENGTHS
from judge.calibration.probes.attacks import POSITIONS
from judge.calibration.probes.biases import BAND, BIASES
from judge.calibration.probes.faults import FAULTS
from judge.calibration.probes.findings import (
    attack_rate,
    attack_row,
    bias_row,
    fault_row,
    null_rate,
    null_row,
    paired_change,
)
from judge.calibration.proportions import share
from judge.types.calibration_set import Profile, RequiredClaim
from judge.types.certificate import Claim, Decision
from judge.types.estimate import Statistic, undefined
from judge.types.probe import BiasRow, Probed, ProbeKind, ProbeReport

NULL_LIMIT = 0.05
"""Highest share of constant answers that may pass, as seen: every answer was tried, so this is no estimate."""
CLAIMS_OF: dict[ProbeKind, tuple[str, ...]] = {
    "fault": ("implanted_faults", "specificity_on_parents"),
    "attack": ("attacks",),
    "null": ("null_answers",),
    "bias": ("biases",),
}
DEFAULT_REQUIRED = ("implanted_faults", "specificity_on_parents", "attacks")


def fault_tables(report: ProbeReport, probed: Sequence[Probed], rng: np.random.Generator) -> ProbeReport:
    """The report with what was made of implanted faults: by type, pooled, and by whether the outcome survived."""
    own = [p for p in probed if p.mutation.kind == "fault"]
    found_by = _by_type(own)
    by_type = {type: found_by[type] for type in FAULTS if type in found_by}
    sides = {state: [p for p in own if p.mutation.outcome == state] for state in ("survived", "lost")}
    return report.model_copy(
        update={
            "faults": tuple(fault_row(type, found, rng) for type, found in by_type.items()),
            "all_faults": fault_row("all", own, rng),
            "silent": fault_row("silent", sides["survived"], rng),
            "loud": fault_row("loud", sides["lost"], rng),
        }
    )


def specificity(passed: Mapping[str, bool | None], clusters: Mapping[str, str], rng: np.random.Generator) -> Statistic:
    """Share of unchanged runs that pass, by run id, of those with a score."""
    known = {run: flag for run, flag in passed.items() if flag is not None}
    if not known:
        return undefined("no unchanged run has a score", n=0, clusters=0)
    return share([float(flag) for flag in known.values()], groups=[clusters[run] for run in known], rng=rng)


def attack_tables(report: ProbeReport, probed: Sequence[Probed], rng: np.random.Generator) -> ProbeReport:
    """The report with what attacks did; the inert control is shown and left out of the rate."""
    own = [p for p in probed if p.mutation.kind == "attack"]
    real = [p for p in own if p.mutation.type != CONTROL]
    places = {
        part: [p for p in real if part in p.mutation.variant.split("/")]
        for part in (*POSITIONS, *STRENGTHS)  # a variant is place/strength
    }
    return report.model_copy(
        update={
            "attacks": tuple(attack_row(type, found, rng) for type, found in _by_type(own).items()),
            "attack_places": tuple(attack_row(part, found, rng) for part, found in places.items() if found),
            "attack_rate": attack_rate(real, rng),
        }
    )


def null_tables(report: ProbeReport, probed: Sequence[Probed], rng: np.random.Generator) -> ProbeReport:
    """The report with how often constant answers passed."""
    own = [p for p in probed if p.mutation.kind == "null"]
    return report.model_copy(
        update={
            "nulls": tuple(null_row(type, found, rng) for type, found in _by_type(own).items()),
            "null_rate": null_rate(own, rng),
            "null_limit": NULL_LIMIT,
        }
    )


def bias_tables(
    report: ProbeReport, probed: Sequence[Probed], rng: np.random.Generator, others: Sequence[BiasRow] = ()
) -> ProbeReport:
    """The report with paired biases, and `others` that were measured without pairs.

    `largest_bias` is of the paired ones: its upper bound is the largest upper bound (all biases are as small as that),
    its lower bound is taken at a confidence that pays for the number of probes (some bias is as large as that).
    """
    kinds = _by_type([p for p in probed if p.mutation.kind == "bias"])
    rows, sizes, strict = [], [], []
    for type, found in kinds.items():
        effect = paired_change(found, rng)
        note = BIASES[type].note if type in BIASES else found[0].mutation.note
        no_score = sum(p.before is None or p.after is None for p in found)
        rows.append(bias_row(type, effect, (-BAND, BAND), pairs=len(found), no_score=no_score, note=note))
        sizes.append(distance_from_zero(effect))
        strict.append(distance_from_zero(paired_change(found, rng, 1 - 0.05 / len(kinds))))
    return report.model_copy(update={"biases": (*rows, *others), "largest_bias": _largest(sizes, strict)})


def _largest(sizes: Sequence[Statistic], strict: Sequence[Statistic]) -> Statistic:
    known = [size for size in sizes if size.value is not None]
    if not known or len(known) < len(sizes):
        return undefined("a bias probe has no pair with two scores", n=sum(size.n for size in sizes))
    worst = max(known, key=lambda size: size.value or 0.0)
    uppers = [size.upper for size in known]
    lowers = [size.lower for size in strict if size.lower is not None]
    return Statistic(
        value=worst.value,
        lower=max(lowers) if lowers else None,
        upper=None if any(upper is None for upper in uppers) else max(u for u in uppers if u is not None),
        n=worst.n,
        clusters=worst.clusters,
        method=f"largest of {len(known)} probes; lower bound at Bonferroni's level",
    )


def probe_claims(report: ProbeReport) -> dict[str, Statistic]:
    """Claim name to its statistic, for a certificate; a claim that was not probed is absent, not zero."""
    found = {
        "implanted_faults": report.all_faults.sensitivity if report.all_faults else None,
        "specificity_on_parents": report.specificity,
        "attacks": report.attack_rate,
        "null_answers": report.null_rate,
        "biases": report.largest_bias,
    }
    return {name: statistic for name, statistic in found.items() if statistic is not None}


def decide(report: ProbeReport, *, profile: Profile = "default", required: Sequence[RequiredClaim] = ()) -> ProbeReport:
    """The report with its claims and decision.

    Args:
        required: What a set demands; claims that are no probe's, or of a kind that was not asked for, are passed over.
            () for faults, unchanged runs and attacks, as far as they were asked for.

    Constant answers are held to `null_limit` as well, as they were seen: they are refused above it whatever the bound,
    and at or below it their claim decides only where a set demands it.
    """
    asked = [name for kind in report.kinds for name in CLAIMS_OF[kind]]
    wanted = [RequiredClaim(name=c.name, threshold=c.threshold) for c in required if c.name in asked]
    if not any(claim.name in {name for names in CLAIMS_OF.values() for name in names} for claim in required):
        wanted = [RequiredClaim(name=name) for name in DEFAULT_REQUIRED if name in asked]
    judged = judge_claims(probe_claims(report), profile=profile, required=wanted or [RequiredClaim(name=asked[0])])
    names = {claim.name for claim in wanted}
    claims = tuple(
        claim.model_copy(update={"required": claim.name in names}) for claim in judged.claims if claim.name in asked
    )
    decision, reasons = _decision([claim for claim in claims if claim.required], report)
    return report.model_copy(update={"claims": claims, "decision": decision, "reasons": reasons})


def _decision(needed: Sequence[Claim], report: ProbeReport) -> tuple[Decision, tuple[str, ...]]:
    states = [claim.state for claim in needed]
    reasons = [f"{claim.title}: {claim.reason}" for claim in needed if claim.state != "met"]
    if report.null_rate is not None:
        rate = report.null_rate.value
        if rate is None:
            states.append("undecided")
            reasons.append(f"constant answers: {report.null_rate.reason}")
        elif rate > report.null_limit:
            states.append("missed")
            reasons.append(f"constant answers: {rate:.1%} passed, at most {report.null_limit:.0%} may")
        else:
            states.append("met")
    if "missed" in states:
        return "refused", tuple(reasons)
    if not states or any(state != "met" for state in states):
        return "undecided", tuple(reasons or ["No claim is required of these probes."])
    return "certified", ("Every required claim is met.",)


def _by_type(probed: Sequence[Probed]) -> dict[str, list[Probed]]:
    out: dict[str, list[Probed]] = {}
    for one in probed:
        out.setdefault(one.mutation.type, []).append(one)
    return out
