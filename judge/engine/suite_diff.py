"""Two results of one suite, case by case: fixed, broken, unchanged, flaky; a paired test over the stable cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from judge.calibration.paired import mcnemar
from judge.errors import FingerprintMismatch, UsageError
from judge.types.suite import CaseChange, CaseResult, Change, SuiteDiff, SuiteResult

CHANGES: tuple[Change, ...] = ("fixed", "broken", "unchanged", "flaky", "unmeasured")


def compare_results(
    base: SuiteResult,
    candidate: SuiteResult,
    *,
    critical: Sequence[str] = (),
    split: Literal["dev", "holdout"] = "dev",
    holdout_looks: int | None = None,
) -> SuiteDiff:
    """The cases of one split on both sides.

    A case that passes sometimes on one side is flaky and in no test: the difference may be chance. Under a critical
    tag any lower pass rate is a regression, flaky or not, and so is a case that the candidate did not measure.

    Raises:
        FingerprintMismatch: The results are of different suites.
        UsageError: Neither result has a case of this split.
    """
    if base.suite != candidate.suite:
        raise FingerprintMismatch(
            f"The results are of two suites, {base.suite!r} and {candidate.suite!r}.", hint="Compare runs of one suite."
        )
    sides = [{case.id: case for case in result.cases if case.split == split} for result in (base, candidate)]
    before, after = sides
    if not before and not after:
        raise UsageError(
            f"Neither result has a case of the split {split!r}.", hint=f"Run the suite with --split {split} or all."
        )
    changes = [_change(before[id], after[id], critical) for id in before if id in after]
    pairs = [(before[c.id], after[c.id]) for c in changes if c.change in ("fixed", "broken", "unchanged")]
    table = [[0, 0], [0, 0]]
    for one, other in pairs:
        table[one.status == "passed"][other.status == "passed"] += 1
    counts = Counter(change.change for change in changes)
    only_base = tuple(id for id in before if id not in after)
    return SuiteDiff(
        suite=base.suite,
        split=split,
        cases=tuple(changes),
        counts={change: counts[change] for change in CHANGES},
        p=mcnemar(table).p if pairs else None,
        reason="" if pairs else "no case is stable on both sides",
        critical_regressions=(
            *(change.id for change in changes if change.critical),
            *(id for id in only_base if set(before[id].tags) & set(critical)),
        ),
        only_base=only_base,
        only_candidate=tuple(id for id in after if id not in before),
        holdout_looks=holdout_looks,
        warnings=tuple(_warnings(base, candidate, only_base, critical, before, after)),
    )


def _change(before: CaseResult, after: CaseResult, critical: Sequence[str]) -> CaseChange:
    one, other = before.pass_rate.value, after.pass_rate.value
    change: Change
    if one is None or other is None:
        change = "unmeasured"
    elif "flaky" in (before.status, after.status):
        change = "flaky"
    elif before.status == after.status:
        change = "unchanged"
    else:
        change = "fixed" if after.status == "passed" else "broken"
    worse = one is not None and (other is None or other < one)
    reasons = dict.fromkeys(
        f"{check.id}: {check.detail}"
        for attempt in after.attempts
        for check in attempt.checks
        if check.status == "failed" and check.severity == "rule"
    )
    failed = dict.fromkeys(f"{a.status}: {a.reason}" for a in after.attempts if a.reason)
    return CaseChange(
        id=before.id,
        tags=after.tags,
        change=change,
        base=one,
        candidate=other,
        critical=worse and bool(set(before.tags) & set(critical)),
        reasons=tuple([*reasons, *failed][:5]) if worse or change == "unmeasured" else (),
    )


def _warnings(
    base: SuiteResult,
    candidate: SuiteResult,
    only_base: Sequence[str],
    critical: Sequence[str],
    before: dict[str, CaseResult],
    after: dict[str, CaseResult],
) -> list[str]:
    out = []
    if base.fingerprints.get("suite") != candidate.fingerprints.get("suite"):
        out.append("The suite file changed between the runs: a case of the same id may ask for something else.")
    if only_base:
        out.append(f"Cases of the base that are missing in the candidate: {len(only_base)}, e.g. {only_base[0]}.")
    tags = {tag for case in (*before.values(), *after.values()) for tag in case.tags}
    out += [f"No case has the critical tag {tag!r}: it protects nothing." for tag in critical if tag not in tags]
    if any(len(case.attempts) < 2 for case in (*before.values(), *after.values())):
        out.append("Some cases were tried once: a change there may be chance.")
    return out
