"""Checks and suite results as labels, so that a judge can be calibrated against them."""

from __future__ import annotations

from collections.abc import Iterator

from judge.types.label import Label, RaterKind
from judge.types.suite import SuiteResult


def suite_labels(result: SuiteResult, *, labelled_at: str) -> Iterator[Label]:
    """For each measured attempt: "passed_outcome", "passed_path" (by policy) and "passed_case"; 1 passed, 0 failed.

    What was not measured gives no label. Cases for holdout become labels of the split "test".
    """
    for case in result.cases:
        for attempt in case.attempts:
            if attempt.trajectory_id is None:
                continue
            # a reward is a benchmark's own number; everything else here is a rule that a person wrote down
            by_reward = any(check.id == "outcome:reward" for check in attempt.checks)
            kind: RaterKind = "metric" if by_reward else "policy"
            passed = attempt.passed if attempt.measured else None
            failed = [c.id for c in attempt.checks if c.status == "failed" and c.severity == "rule"]
            values: tuple[tuple[str, bool | None, RaterKind], ...] = (
                ("passed_outcome", attempt.outcome, kind),
                ("passed_path", attempt.path, "policy"),
                ("passed_case", passed, kind),
            )
            for criterion, value, rater_kind in values:
                if value is not None:
                    yield Label(
                        trajectory_id=attempt.trajectory_id,
                        criterion=criterion,
                        value=int(value),
                        rater=f"suite:{result.suite}",
                        rater_kind=rater_kind,
                        split="test" if case.split == "holdout" else "dev",
                        labelled_at=labelled_at,
                        note="; ".join(failed),
                    )
