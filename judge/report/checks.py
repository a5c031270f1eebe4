"""Policy checks as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from judge.report.numbers import plural, steps
from judge.types import Check
from judge.types.policy import PolicyResult

_MARK = {"passed": "ok  ", "failed": "FAIL", "not_applicable": "n/a "}
_SHOWN = 12


def checks_text(result: PolicyResult, demands: Mapping[str, str] | None = None) -> str:
    """A heading with the count, then a line a check: mark, id, detail, the steps that broke it.

    Args:
        demands: A sentence by check id, put under each check (`judge.policy.explain`).
    """
    passed = sum(check.status == "passed" for check in result.checks)
    verdict = "passed" if result.passed else "FAILED"
    lines = [f"== {result.trajectory_id}  {verdict}  {passed}/{len(result.checks)} checks passed"]
    width = max((len(check.id) for check in result.checks), default=0)
    for check in result.checks:
        lines.append(f"  {_mark(check)}  {check.id.ljust(width)}  {check.detail}{_where(check)}")
        if demands and check.id in demands:
            lines.append(f"        {demands[check.id]}")
    return "\n".join(lines)


def checks_summary(results: int, failed: int, by_check: Mapping[str, int]) -> str:
    """The last line: how many runs failed, and which checks failed how often."""
    text = f"{plural(results, 'trajectory', 'trajectories')}, {failed:,} failed."
    counted = ", ".join(f"{name} {count:,}" for name, count in by_check.items())
    return f"{text} Checks failed: {counted}." if counted else text


def count_failures(checks: Iterable[Check], counts: dict[str, int]) -> None:
    """Adds the failed checks of one run to `counts`, by id."""
    for check in checks:
        if check.status == "failed":
            counts[check.id] = counts.get(check.id, 0) + 1


def _mark(check: Check) -> str:
    return "warn" if check.status == "failed" and check.severity == "preference" else _MARK[check.status]


def _where(check: Check) -> str:
    new = [step for step in check.steps if f"[S{step}]" not in check.detail][:_SHOWN]
    return f"  {steps(new)}" if new else ""
