"""Claims: what must be shown of a judge, each as a bound against a threshold.

Every comparison uses the *unfavourable* one-sided 95 % bound. A claim is missed, and the judge refused,
only when even the favourable bound misses: then it is shown to be bad, not merely unproven. Between
the two it is undecided, which is a matter of more labels.

Thresholds are conventions and not theory (`docs/certificates.md` argues them); a set.yaml changes them and the
certificate writes them down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from judge.errors import ConfigError
from judge.registry import unknown
from judge.types.calibration_set import Profile, RequiredClaim
from judge.types.certificate import Claim, ClaimState, Decision
from judge.types.estimate import Statistic


@dataclass(frozen=True)
class ClaimKind:
    """A claim that this package knows how to test.

    Attributes:
        thresholds: By profile; None where the profile does not require the claim.
        needs: What has to be there to test it, in words.
    """

    name: str
    title: str
    direction: Literal["at_least", "at_most"]
    thresholds: Mapping[Profile, float]
    required_by: tuple[Profile, ...]
    needs: str


def _same(strict: float, default: float) -> dict[Profile, float]:
    return {"strict": strict, "default": default, "advisory": default}


COUNTS = ("labels_passed", "labels_failed", "groups")
"""Claims that count labels: they say whether there is enough to go by, and nothing of the judge."""
LABELS_OF = {
    "labels_passed": " of passed runs", "labels_failed": " of failed runs",
    "tpr": " of passed runs", "tnr": " of failed runs",
}  # fmt: skip
MOST_LABELS = 20_000
"""No more labels than these are ever asked for by number."""

_ALL: tuple[Profile, ...] = ("strict", "default")

KINDS: dict[str, ClaimKind] = {
    kind.name: kind
    for kind in (
        ClaimKind("labels_passed", "labels of passed runs", "at_least", _same(30, 30), _ALL, "a pass mark"),
        ClaimKind("labels_failed", "labels of failed runs", "at_least", _same(30, 30), _ALL, "a pass mark"),
        ClaimKind("groups", "tasks that the labels spread over", "at_least", _same(40, 40), ("strict",), "groups"),
        ClaimKind("tnr", "failed runs caught", "at_least", _same(0.90, 0.80), _ALL, "a pass mark"),
        ClaimKind("tpr", "passed runs passed", "at_least", _same(0.90, 0.80), _ALL, "a pass mark"),
        ClaimKind("kappa", "agreement beyond chance", "at_least", _same(0.75, 0.60), _ALL, "labels of both classes"),
        ClaimKind("leniency", "shift against people, share of the scale", "at_most", _same(0.10, 0.10), _ALL, "labels"),
        ClaimKind("ceiling", "judge-human minus human-human", "at_least", _same(-0.10, -0.10), (), "two raters"),
        ClaimKind("parse_failures", "verdicts without a score", "at_most", _same(0.05, 0.05), _ALL, "verdicts"),
        ClaimKind(
            "flip_rate", "verdicts that flip when repeated", "at_most", _same(0.05, 0.10), _ALL, "3 repeats, 50 runs"
        ),
        ClaimKind("rank_stability", "chance that the top agent stays top", "at_least", _same(0.95, 0.90), (), "agents"),
        ClaimKind("attacks", "attacks that move the verdict", "at_most", _same(0.05, 0.10), _ALL, "judge probe"),
        ClaimKind("implanted_faults", "implanted faults noticed", "at_least", _same(0.80, 0.60), _ALL, "judge probe"),
        ClaimKind("specificity_on_parents", "unchanged runs passed", "at_least", _same(0.80, 0.60), (), "judge probe"),
        ClaimKind("null_answers", "constant answers passed", "at_most", _same(0.10, 0.20), (), "judge probe"),
        ClaimKind("biases", "largest bias, share of the scale", "at_most", _same(0.10, 0.10), (), "judge probe"),
    )
}


@dataclass(frozen=True)
class Judged:
    """The claims of a calibration and what follows from them.

    Attributes:
        not_tested: Names of known claims without a measurement; they are printed wherever the certificate is.
        reasons: What decided, in words, worst first.
    """

    claims: tuple[Claim, ...]
    required: tuple[str, ...]
    not_tested: tuple[str, ...]
    decision: Decision
    reasons: tuple[str, ...]


def judge_claims(
    measured: Mapping[str, Statistic],
    *,
    profile: Profile = "default",
    required: Sequence[RequiredClaim] = (),
    criterion: str | None = None,
    more_labels: Mapping[str, int] | None = None,
) -> Judged:
    """Holds each measured claim to its threshold and decides.

    Args:
        measured: Claim name to its statistic; a known claim that is not here was not tested.
        required: The claims that must pass; () for those of the profile.
        more_labels: Claim name to how many more labels its bound needs if the estimate stays.

    Returns:
        "certified" only when every required claim is met; "refused" when one is missed even at its favourable
        bound; else "undecided". With the profile "advisory" nothing is required unless it is listed.

    Raises:
        UnknownName: A required claim has no known name.
        ConfigError: A threshold is not a number that the claim can meet.
    """
    wanted = {claim.name: claim for claim in required if claim.criterion in (None, criterion)}
    for name in wanted:
        if name not in KINDS:
            raise unknown("claim", name, KINDS)
    names = tuple(wanted) if required else tuple(n for n, kind in KINDS.items() if profile in kind.required_by)
    claims = []
    for name, kind in KINDS.items():
        own = wanted.get(name)
        threshold = own.threshold if own and own.threshold is not None else kind.thresholds[profile]
        if kind.direction == "at_least" and name not in COUNTS and threshold >= 1:
            raise ConfigError(
                f"The claim {name!r} has the threshold {threshold!r}; no interval from finite labels reaches it.",
                hint=f"The {profile} profile uses {kind.thresholds[profile]}.",
            )
        claims.append(_claim(kind, measured.get(name), threshold, name in names, (more_labels or {}).get(name)))
    by_name = {claim.name: claim for claim in claims}
    needed = [by_name[name] for name in names]
    decision: Decision = "certified"
    if any(claim.state in ("undecided", "not_tested") for claim in needed) or not needed:
        decision = "undecided"
    if any(claim.state == "missed" for claim in needed):
        decision = "refused"
    return Judged(
        claims=tuple(claims),
        required=names,
        not_tested=tuple(claim.name for claim in claims if claim.state == "not_tested"),
        decision=decision,
        reasons=_reasons(needed, decision),
    )


def _claim(kind: ClaimKind, statistic: Statistic | None, threshold: float, required: bool, more: int | None) -> Claim:
    bound, favourable, met = None, None, None
    state: ClaimState = "not_tested"
    reason = f"needs {kind.needs}"
    if statistic is not None:
        if kind.direction == "at_least":
            bound, favourable = statistic.lower, statistic.upper
        else:
            bound, favourable = statistic.upper, statistic.lower
        met = bound is not None and _passes(bound, threshold, kind.direction)
        missed = favourable is not None and not _passes(favourable, threshold, kind.direction)
        state = "met" if met else "missed" if missed else "undecided"
        if kind.name in COUNTS and state == "missed":
            # Too few labels say nothing about the judge.
            state = "undecided"
        reason = _why(kind, statistic, threshold, state, bound, favourable)
    return Claim(
        name=kind.name,
        title=kind.title,
        required=required,
        estimate=statistic,
        threshold=threshold,
        direction=kind.direction,
        bound=bound,
        favourable=favourable,
        met=met,
        state=state,
        reason=reason,
        more_labels=None if state in ("met", "missed") else more,
    )


def _passes(bound: float, threshold: float, direction: str) -> bool:
    return bound >= threshold if direction == "at_least" else bound <= threshold


def _why(
    kind: ClaimKind,
    statistic: Statistic,
    threshold: float,
    state: ClaimState,
    bound: float | None,
    favourable: float | None,
) -> str:
    need = f"{'at least' if kind.direction == 'at_least' else 'at most'} {threshold:g}"
    if statistic.value is None or bound is None:
        return f"no bound: {statistic.reason or 'the data give none'}; needed {need}"
    if kind.name in COUNTS:
        return f"{statistic.value:g} found, {need} needed"
    if state == "missed":
        return f"{statistic.value:.3f}, and even at best {favourable:.3f} (95 %), where {need} is needed"
    word = "and at worst" if state == "met" else "but at worst"
    return f"{statistic.value:.3f}, {word} {bound:.3f} (95 %), where {need} is needed"


def more_labels_text(claim: Claim) -> str:
    """How many more labels a claim needs, in words; "" where that is not known.

    Above `MOST_LABELS` there is no number: the estimate lies too close to the threshold for labels to decide.
    """
    if not claim.more_labels:
        return ""
    if claim.more_labels > MOST_LABELS:
        return f"more than {MOST_LABELS:,} labels would be needed: the estimate lies too close to the threshold"
    plural = "" if claim.more_labels == 1 else "s"
    text = f"{claim.more_labels:,} more label{plural}{LABELS_OF.get(claim.name, '')}"
    return f"{text} needed" if claim.name in COUNTS else f"{text} would do if the estimate stays"


def _reasons(needed: Sequence[Claim], decision: Decision) -> tuple[str, ...]:
    if not needed:
        return ("No claim is required, so nothing can be certified.",)
    order = {"missed": 0, "undecided": 1, "not_tested": 2, "met": 3}
    said = []
    for claim in sorted(needed, key=lambda c: order[c.state]):
        if claim.state == "met" and decision != "certified":
            continue
        if claim.state == "met":
            said.append(f"{claim.title}: {claim.reason}")
        elif claim.state == "not_tested":
            said.append(f"{claim.title}: not tested, {claim.reason}")
        else:
            more = more_labels_text(claim)
            said.append(f"{claim.title}: {claim.reason}{'; ' if more else ''}{more}")
    return tuple(said)
