"""Attempts → a case in numbers, and cases → a suite in numbers. What was not measured is counted, never averaged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean, median

import numpy as np

from judge.calibration.pass_k import pass_at_k, pass_hat_k
from judge.calibration.proportions import share
from judge.engine.path_drift import path_agreement
from judge.types.estimate import Statistic, undefined
from judge.types.suite import (
    NEVER_EASY,
    Attempt,
    Case,
    CaseResult,
    CaseStatus,
    JudgedRate,
    Spread,
    SuiteSummary,
)


def case_result(
    case: Case, attempts: Sequence[Attempt], *, wanted: int, rng: np.random.Generator, reason: str = ""
) -> CaseResult:
    """One case: its pass rate with a Wilson interval, pass^k and pass@k for every k up to the measured attempts."""
    measured = [attempt for attempt in attempts if attempt.measured]
    n, passed = len(measured), sum(attempt.passed for attempt in measured)
    why = reason or "; ".join(dict.fromkeys(a.reason for a in attempts if not a.measured and a.reason))
    rate = share([float(a.passed) for a in measured], rng=rng) if measured else undefined(why or "not run", n=0)
    return CaseResult(
        id=case.id,
        status=_status(attempts, n, passed),
        split=case.split,
        tags=case.tags,
        wanted=wanted,
        attempts=tuple(attempts),
        pass_rate=rate,
        pass_hat_k={str(k): pass_hat_k(n, passed, k) for k in range(1, n + 1)},
        pass_at_k={str(k): pass_at_k(n, passed, k) for k in range(1, n + 1)},
        path_agreement=path_agreement([a.sequence for a in attempts if a.trajectory_id is not None]),
        steps=spread(a.steps for a in attempts),
        cost_usd=spread(a.cost_usd for a in attempts),
        outcome_right_path_wrong=sum(a.outcome is True and a.path is False for a in attempts),
        outcome_wrong_path_right=sum(a.outcome is False and a.path is True for a in attempts),
        reason=why,
    )


def _status(attempts: Sequence[Attempt], measured: int, passed: int) -> CaseStatus:
    if not attempts:
        return "not_run"
    if not measured:
        return "unmeasured"
    return "passed" if passed == measured else "flaky" if passed else "failed"


def spread(values: Iterable[float | int | None]) -> Spread | None:
    """Least, median and most of the known values; None where none is known."""
    known = sorted(float(value) for value in values if value is not None)
    if not known:
        return None
    return Spread(n=len(known), least=known[0], median=median(known), most=known[-1])


def summarise(
    cases: Sequence[CaseResult],
    *,
    rng: np.random.Generator,
    judged: Sequence[JudgedRate] = (),
    unmatched: int = 0,
    budget_left_out: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> SuiteSummary:
    """The suite: the pass rate is clustered by case, because attempts at one task are no independent evidence."""
    attempts = [(case.id, attempt) for case in cases for attempt in case.attempts]
    measured = [(id, attempt) for id, attempt in attempts if attempt.measured]
    hat, at, counted = _pass_k(cases)
    costs = [attempt.cost_usd for _, attempt in attempts]
    known = [cost for cost in costs if cost is not None]
    tagged = {tag: tuple(case.id for case in cases if tag in case.tags) for tag in NEVER_EASY}
    return SuiteSummary(
        cases=len(cases),
        cases_passed=sum(case.status == "passed" for case in cases),
        cases_flaky=sum(case.status == "flaky" for case in cases),
        attempts=len(attempts),
        attempts_passed=sum(attempt.passed for _, attempt in attempts),
        unmeasured=len(attempts) - len(measured),
        failures=dict(Counter(name for _, attempt in attempts for name in _causes(attempt)).most_common()),
        pass_rate=_rate(measured, rng),
        pass_hat_k=hat,
        pass_at_k=at,
        k_cases=counted,
        path_agreement=_mean([case.path_agreement for case in cases]),
        steps=spread(attempt.steps for _, attempt in attempts),
        cost_usd=spread(costs),
        outcome_right_path_wrong=sum(case.outcome_right_path_wrong for case in cases),
        outcome_wrong_path_right=sum(case.outcome_wrong_path_right for case in cases),
        judged=tuple(judged),
        never_easy=tagged,
        not_run=tuple(budget_left_out),
        spent_usd=sum(known) if known else None,
        unknown_costs=len(costs) - len(known),
        unmatched=unmatched,
        warnings=(*warnings, *_warnings(cases, tagged, unmatched)),
    )


def _rate(measured: Sequence[tuple[str, Attempt]], rng: np.random.Generator) -> Statistic:
    if not measured:
        return undefined("no attempt was measured", n=0, clusters=0)
    return share([float(a.passed) for _, a in measured], groups=[id for id, _ in measured], rng=rng)


def _pass_k(cases: Sequence[CaseResult]) -> tuple[dict[str, float], dict[str, float], dict[str, int]]:
    most = max((len(case.pass_hat_k) for case in cases), default=0)
    hat: dict[str, float] = {}
    at: dict[str, float] = {}
    counted: dict[str, int] = {}
    for k in map(str, range(1, most + 1)):
        able = [case for case in cases if k in case.pass_hat_k]
        hat[k] = fmean(case.pass_hat_k[k] for case in able)
        at[k] = fmean(case.pass_at_k[k] for case in able)
        counted[k] = len(able)
    return hat, at, counted


def _mean(statistics: Sequence[Statistic]) -> Statistic:
    values = [statistic.value for statistic in statistics if statistic.value is not None]
    if not values:
        return undefined("no case has two attempts with a trajectory", n=0)
    return Statistic(value=fmean(values), n=len(values))


def _causes(attempt: Attempt) -> list[str]:
    """Ids of the failed rules, or the status of an attempt that has no trajectory to check."""
    failed = [c.id for c in attempt.checks if c.status == "failed" and c.severity == "rule"]
    return failed or ([attempt.status] if attempt.status not in ("passed", "failed") else [])


def _warnings(cases: Sequence[CaseResult], tagged: dict[str, tuple[str, ...]], unmatched: int) -> list[str]:
    out = []
    missing = [tag for tag, ids in tagged.items() if not ids]
    if missing:
        out.append(
            f"No case is tagged {' or '.join(missing)}: a suite of tasks that can all be done says little about "
            "an agent that should stop."
        )
    short = [case.id for case in cases if 0 < len(case.attempts) < case.wanted]
    if short:
        out.append(
            f"Cases with fewer attempts than wanted: {len(short)}, e.g. {short[0]}; pass^k for larger k omits them."
        )
    if unmatched:
        out.append(f"Traces that belong to no case of the suite, and are in no number: {unmatched}.")
    return out
