"""A run without steps: the baseline says that there is nothing to weigh, and a judge that scores it fails for that."""

from __future__ import annotations

from pathlib import Path

import pytest

import judge
from judge.config import Settings
from judge.types import Criterion, Rubric, Trajectory

EMPTY = Trajectory.from_json(
    {"schema": "judge.trajectory/1", "id": "empty", "source": {"format": "native"}, "steps": []}
)
NO_EVIDENCE = Rubric(
    id="own",
    version="1",
    title="Own",
    intent="To test.",
    criteria=(
        Criterion(id="quality", question="How good?", scale={"min": 1, "max": 5, "step": 1}, evidence="none"),  # type: ignore[arg-type]
    ),
)


@pytest.mark.parametrize("rubric", ["process", "outcome", NO_EVIDENCE])
def test_the_baseline_does_not_score_a_run_without_steps(rubric: str | Rubric, tmp_path: Path) -> None:
    """Without a step no rule takes anything off: that is no reason for the best score."""
    settings = Settings(cache_dir=tmp_path, judge="rules/process")
    verdict = judge.score(EMPTY, rubric, settings=settings)
    assert (verdict.status, verdict.score) == ("inconclusive", None)
    assert "there is nothing to weigh" in " ".join(result.reason for result in verdict.criteria)
    votes = [vote for result in verdict.criteria for vote in result.votes]
    assert {(vote.status, vote.reason) for vote in votes} == {
        ("abstain", "No step of this run was recorded or is shown: there is nothing to weigh.")
    }
    assert not verdict.errors


def test_a_judge_that_scores_a_run_without_steps_fails_with_the_true_cause(tmp_path: Path) -> None:
    verdict = judge.score(EMPTY, "process", settings=Settings(cache_dir=tmp_path, judge="fake/always-4", samples=1))
    (error,) = verdict.errors
    assert (verdict.status, error.kind) == ("error", "invalid_evidence")
    assert error.message == (
        "Failed evidence: no step is cited, and this criterion needs one: the run has none to cite."
    )
