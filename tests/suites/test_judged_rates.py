"""A pass rate that a judge gave: raw beside corrected, and corrected only by a certificate."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from suite_records import recorded

from judge.config import Settings
from judge.engine.judged_rate import Grader, judged_rates
from judge.engine.suite import SuiteRun, run_traces
from judge.engine.suite_summary import case_result
from judge.types.certificate import Certificate, Claim
from judge.types.estimate import Statistic
from judge.types.suite import Attempt, Case, Judged

TEXT = "suite: s\nattempts: 2\ncases:\n  - {id: one, rubric: {name: process, pass_mark: 4}}\n"


@pytest.mark.parametrize(("judge", "rate"), [("fake/always-4", 1.0), ("fake/always-3", 0.0)])
def test_without_a_certificate_the_rate_stands_beside_a_reason(
    suite_of: Callable[..., SuiteRun], tmp_path: Path, judge: str, rate: float
) -> None:
    runs = [recorded([("look", {}, 1)], id=f"one-{n}") for n in (1, 2)]
    settings = Settings(judge=judge, cache_dir=tmp_path / "cache", certificates=tmp_path / "none", cache=False)
    with closing(Grader(settings, tmp_path)) as grader:
        result = run_traces(suite_of(TEXT, grader=grader), runs)
    (judged,) = result.summary.judged
    assert (judged.raw.value, judged.corrected.value) == (rate, None)
    assert judged.corrected.reason == "no certificate covers every verdict, so the judge's errors are unknown"
    # no rule looked at these attempts, so they are in no pass rate of rules
    assert (result.summary.pass_rate.value, result.summary.unmeasured) == (None, 2)


def test_without_a_judge_nothing_is_judged_and_the_summary_says_so(suite_of: Callable[..., SuiteRun]) -> None:
    summary = run_traces(suite_of(TEXT), [recorded([])]).summary
    assert summary.judged == ()
    assert any("nothing was judged" in text for text in summary.warnings)


def certificate(tpr: float, tnr: float) -> Certificate:
    claims = tuple(
        Claim(
            name=name,
            title=name,
            required=True,
            estimate=Statistic(value=value, n=100),
            threshold=0.5,
            state="met",
            met=True,
        )
        for name, value in (("tpr", tpr), ("tnr", tnr))
    )
    return Certificate.model_construct(id="c1", claims=claims)


def rates(verdicts: list[bool | None], *, trust: str = "certified", tpr: float = 0.9, tnr: float = 0.8) -> Any:
    rng = np.random.default_rng(0)
    cases = []
    for number, passed in enumerate(verdicts):
        judged = Judged(
            rubric="process",
            judge="j",
            score=None if passed is None else 1.0,
            passed=passed,
            trust=trust,
            certificate="c1",
        )
        attempt = Attempt(trajectory_id=f"t{number}", number=1, status="unmeasured", judged=judged)
        case = Case.from_json({"id": f"c{number}", "outcome": "reward"})
        cases.append(case_result(case, [attempt], wanted=1, rng=rng))
    grader: Any = SimpleNamespace(certificates={"c1": certificate(tpr, tnr)})
    (rate,) = judged_rates(cases, grader, rng=rng)
    return rate


def test_a_certified_rate_is_corrected_by_hand_worked_rogan_gladen() -> None:
    rate = rates([True] * 10 + [False] * 10)
    # (0.5 + 0.8 - 1) / (0.9 + 0.8 - 1) = 0.3 / 0.7
    assert (rate.raw.value, rate.corrected.value) == (0.5, pytest.approx(0.428571, abs=1e-6))
    assert rate.corrected.low < 0.428 < rate.corrected.high
    assert rate.certificate == "c1"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"trust": "expired"}, "no certificate covers every verdict"),
        ({"tpr": 0.5, "tnr": 0.5}, "no better than chance"),
        ({"verdicts": [True, None]}, "the judge gave no score for, and that may differ from the rest: 1"),
    ],
)
def test_a_rate_that_cannot_be_corrected_says_why(options: dict[str, Any], reason: str) -> None:
    rate = rates(options.pop("verdicts", [True, False]), **options)
    assert rate.corrected.value is None
    assert reason in rate.corrected.reason
