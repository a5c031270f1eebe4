"""Pairs → tables: which faults a judge sees, which attacks move it, which constant answers it passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judge.calibration.concordance import leniency
from judge.calibration.probes.attack_texts import CONTROL
from judge.calibration.proportions import share
from judge.types.estimate import Statistic, undefined
from judge.types.probe import AttackRow, BiasRow, BiasState, FaultRow, NullRow, Probed

LEAST = 1e-9
"""Differences of scores below this are rounding."""


def fault_row(type: str, probed: Sequence[Probed], rng: np.random.Generator, confidence: float = 0.95) -> FaultRow:
    """What a judge made of one type of fault; every rate is clustered by task."""
    scored = [p for p in probed if p.before is not None and p.after is not None]
    noticed = [p for p in scored if is_noticed(p)]
    passing = [p for p in scored if p.passed_before]
    placed = [p for p in noticed if p.mutation.steps]
    return FaultRow(
        type=type,
        planted=len(probed),
        no_score=len(probed) - len(scored),
        sensitivity=_rate(scored, [is_noticed(p) for p in scored], "no pair with two scores", rng, confidence),
        rise=_rate(scored, [has_risen(p) for p in scored], "no pair with two scores", rng, confidence),
        caught=_rate(passing, [not p.passed_after for p in passing], "no parent passed", rng, confidence),
        fall=_change(scored, rng, confidence, sign=-1),
        localisation=_rate(
            placed, [bool(set(p.cited) & set(p.mutation.steps)) for p in placed], "no fault noticed", rng, confidence
        ),
    )


def is_noticed(probed: Probed) -> bool:
    """Whether the mutant's score fell below its parent's."""
    return probed.before is not None and probed.after is not None and probed.after < probed.before - LEAST


def attack_row(type: str, probed: Sequence[Probed], rng: np.random.Generator, confidence: float = 0.95) -> AttackRow:
    """Held, broken and grader errors of one type of attack."""
    tried = attacked(probed)
    broken = [has_risen(p) for p in tried]
    errors = sum(p.before is None or p.after is None for p in probed)
    return AttackRow(
        type=type,
        held=len(tried) - sum(broken),
        broken=sum(broken),
        grader_errors=errors,
        no_room=len(probed) - len(tried) - errors,
        rate=attack_rate(probed, rng, confidence),
        control=type == CONTROL,
    )


def attacked(probed: Sequence[Probed]) -> list[Probed]:
    """Those of which something can be said: both sides have a score, and that of the run could rise."""
    return [p for p in probed if p.before is not None and p.after is not None and p.before < 1 - LEAST]


def attack_rate(probed: Sequence[Probed], rng: np.random.Generator, confidence: float = 0.95) -> Statistic:
    """Share of attacks after which the score is above that of the run without; grader errors are in neither count."""
    tried = attacked(probed)
    why = "every run has the highest score or none, so no attack could be seen to work"
    return _rate(tried, [has_risen(p) for p in tried], why, rng, confidence)


def has_risen(probed: Probed) -> bool:
    """Whether the mutant's score is above its parent's."""
    return probed.before is not None and probed.after is not None and probed.after > probed.before + LEAST


def null_row(type: str, probed: Sequence[Probed], rng: np.random.Generator, confidence: float = 0.95) -> NullRow:
    """How often one constant answer passed."""
    scored = [p for p in probed if p.passed_after is not None]
    return NullRow(
        type=type,
        text=probed[0].mutation.note if probed else "",
        tasks=len(probed),
        passed=sum(p.passed_after is True for p in scored),
        no_score=len(probed) - len(scored),
        rate=null_rate(probed, rng, confidence),
    )


def null_rate(probed: Sequence[Probed], rng: np.random.Generator, confidence: float = 0.95) -> Statistic:
    """Share of constant answers that passed, of those with a score."""
    scored = [p for p in probed if p.passed_after is not None]
    return _rate(scored, [p.passed_after is True for p in scored], "no constant answer has a score", rng, confidence)


def bias_row(
    type: str,
    effect: Statistic,
    band: tuple[float, float],
    *,
    pairs: int,
    unit: str = "share of the scale",
    no_score: int = 0,
    note: str = "",
) -> BiasRow:
    """One bias with its state: flagged only when the whole interval leaves the innocent band."""
    return BiasRow(
        type=type,
        effect=effect,
        low=band[0],
        high=band[1],
        unit=unit,
        state=bias_state(effect, band),
        pairs=pairs,
        no_score=no_score,
        note=note,
    )


def bias_state(effect: Statistic, band: tuple[float, float]) -> BiasState:
    """Where the two-sided interval lies: outside the band, inside, across an edge, or nowhere."""
    if effect.low is None or effect.high is None:
        return "not_tested"
    if effect.low > band[1] or effect.high < band[0]:
        return "flagged"
    return "clear" if band[0] <= effect.low and effect.high <= band[1] else "undecided"


def paired_change(probed: Sequence[Probed], rng: np.random.Generator, confidence: float = 0.95) -> Statistic:
    """Mean of the mutant's minus the parent's score in shares of the scale, clustered by task."""
    return _change([p for p in probed if p.before is not None and p.after is not None], rng, confidence, sign=1)


def _change(scored: Sequence[Probed], rng: np.random.Generator, confidence: float, *, sign: int) -> Statistic:
    before = [p.before if p.before is not None else np.nan for p in scored]
    after = [p.after if p.after is not None else np.nan for p in scored]
    if not scored:
        return undefined("no pair with two scores", n=0, clusters=0, confidence=confidence)
    first, second = (before, after) if sign > 0 else (after, before)
    groups = [p.cluster for p in scored]
    return leniency(first, second, scale=(0.0, 1.0), groups=groups, rng=rng, confidence=confidence)


def _rate(
    probed: Sequence[Probed], flags: Sequence[bool], why_not: str, rng: np.random.Generator, confidence: float
) -> Statistic:
    if not flags:
        return undefined(why_not, n=0, clusters=0, confidence=confidence)
    values = np.asarray(flags, dtype=np.float64)
    return share(values, groups=[p.cluster for p in probed], rng=rng, confidence=confidence)
