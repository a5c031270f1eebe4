"""A suite that was run, and two of them compared, as text."""

from __future__ import annotations

from judge.report.numbers import number, plural, steps, usd
from judge.types.estimate import Statistic
from judge.types.metric import Check
from judge.types.policy import PolicyResult
from judge.types.suite import Attempt, CaseResult, Spread, SuiteDiff, SuiteResult

MARK = {"passed": "pass", "failed": "FAIL", "flaky": "FLAKY", "unmeasured": "UNMEASURED", "not_run": "NOT RUN"}


def suite_text(result: SuiteResult, *, details: bool = True) -> str:
    """Each case on a line with what failed below it, then the suite in numbers."""
    width = max(len(case.id) for case in result.cases)
    lines = [f"== {result.suite} ({'all cases' if result.split == 'all' else result.split + ' cases'})"]
    for case in result.cases:
        lines.extend(_case(case, width, details))
    return "\n".join([*lines, "", *_summary(result)])


def _case(case: CaseResult, width: int, details: bool) -> list[str]:
    measured = [attempt for attempt in case.attempts if attempt.measured]
    passed = sum(attempt.passed for attempt in measured)
    line = f"  {case.id.ljust(width)}  {MARK[case.status].ljust(5)}  {passed}/{len(measured)}"
    if case.path_agreement.value is not None:
        line += f"  path agreement {case.path_agreement.value:.2f}"
    if case.reason:
        line += f"  {case.reason}"
    lines = [line.rstrip()]
    if details:
        for attempt in case.attempts:
            lines.extend(f"      {text}" for text in _failures(attempt))
    return lines


def _failures(attempt: Attempt) -> list[str]:
    name = f"attempt {attempt.number}"
    out = [
        f"{name}: {check.id}{_only(check)}: {check.detail} {steps(check.steps)}".rstrip()
        for check in attempt.checks
        if check.status == "failed"
    ]
    if attempt.status in ("timeout", "crashed", "no_trajectory"):
        out.append(f"{name}: {attempt.status}: {attempt.reason}")
    return out


def _only(check: Check) -> str:
    return " (a preference: fails nothing)" if check.severity == "preference" else ""


def _summary(result: SuiteResult) -> list[str]:
    summary = result.summary
    lines = [
        f"{plural(summary.cases, 'case')}: {summary.cases_passed} passed, {summary.cases_flaky} flaky; "
        f"{plural(summary.attempts, 'attempt')}: {summary.attempts_passed} passed, {summary.unmeasured} unmeasured",
        f"pass rate {rate_text(summary.pass_rate)}",
    ]
    for name, values in (("pass^k", summary.pass_hat_k), ("pass@k", summary.pass_at_k)):
        if values:
            lines.append(f"{name}  " + "  ".join(f"{k}: {_three(value)}" for k, value in values.items()))
    if summary.path_agreement.value is not None:
        lines.append(f"path agreement over repeats {summary.path_agreement.value:.3f}")
    else:
        lines.append(f"path agreement over repeats: unmeasured ({summary.path_agreement.reason})")
    lines.append(f"steps {_spread(summary.steps)}; cost {_spread(summary.cost_usd, money=True)}")
    if summary.outcome_right_path_wrong or summary.outcome_wrong_path_right:
        lines.append(
            f"outcome right, trajectory wrong: {summary.outcome_right_path_wrong}; "
            f"outcome wrong, trajectory right: {summary.outcome_wrong_path_right}"
        )
    for rate in summary.judged:
        lines.append(f"judged by {rate.judge} under {rate.rubric}: raw {rate_text(rate.raw)}, which is no pass rate;")
        lines.append(f"  corrected for the judge's errors: {rate_text(rate.corrected)}")
    for tag, ids in summary.never_easy.items():
        lines.append(f"{tag} cases: {', '.join(ids) if ids else 'none'}")
    if summary.not_run:
        lines.append(f"NOT RUN, {plural(len(summary.not_run), 'case')}: {', '.join(summary.not_run)}")
    if summary.spent_usd is not None:
        unknown = f", and {plural(summary.unknown_costs, 'attempt')} of unknown cost" if summary.unknown_costs else ""
        lines.append(f"spent {usd(summary.spent_usd)}{unknown}")
    return [*lines, *(f"warning: {text}" for text in summary.warnings)]


def rate_text(statistic: Statistic) -> str:
    """A share with its interval, or why there is none."""
    if statistic.value is None:
        return f"unknown: {statistic.reason}"
    if statistic.low is None or statistic.high is None:
        return f"{_three(statistic.value)} (no interval: {statistic.reason or 'none'})"
    return f"{_three(statistic.value)} ({_three(statistic.low)} to {_three(statistic.high)})"


def _three(value: float) -> str:
    return f"{value:.3f}".lstrip("0") if 0 <= value < 1 else f"{value:.3f}"


def _spread(spread: Spread | None, *, money: bool = False) -> str:
    if spread is None:
        return "unknown"
    shown = usd if money else number
    return f"{shown(spread.least)} to {shown(spread.most)}, median {shown(spread.median)}"


CHANGE_ORDER = ("broken", "fixed", "flaky", "unmeasured", "unchanged")


def diff_text(diff: SuiteDiff) -> str:
    """What changed, worst first, then the counts and the paired test."""
    lines = [f"== {diff.suite}: base against candidate ({diff.split} cases)"]
    for change in CHANGE_ORDER[:-1]:
        for case in diff.cases:
            if case.change == change:
                critical = "  CRITICAL" if case.critical else ""
                lines.append(
                    f"  {change.upper():10}  {case.id}  {share(case.base)} -> {share(case.candidate)}{critical}"
                )
                lines.extend(f"      {reason}" for reason in case.reasons)
    lines.append(", ".join(f"{diff.counts[change]} {change}" for change in CHANGE_ORDER))
    lines.append(f"exact McNemar: p = {diff.p:.4g}" if diff.p is not None else f"no test: {diff.reason}")
    if diff.critical_regressions:
        lines.append(f"critical regressions: {', '.join(diff.critical_regressions)}")
    if diff.holdout_looks is not None:
        lines.append(f"looks at the holdout of this suite so far: {diff.holdout_looks}")
    return "\n".join([*lines, *(f"warning: {text}" for text in diff.warnings)])


def share(value: float | None) -> str:
    """A share of attempts as a percentage, or "unmeasured"."""
    return "unmeasured" if value is None else f"{value:.0%}"


def replay_text(result: PolicyResult) -> str:
    """One replayed trace: each check with its steps, what failed first in capitals."""
    lines = [f"== {result.trajectory_id}: {'replayed as recorded' if result.passed else 'FAILED'}"]
    for check in result.checks:
        mark = {"passed": "ok", "failed": "FAIL", "not_applicable": "-"}[check.status]
        lines.append(f"  {mark.ljust(4)}  {check.id}  {check.detail}  {steps(check.steps)}".rstrip())
    return "\n".join(lines)
