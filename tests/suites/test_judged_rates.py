"""A pass rate that a judge gave: raw beside corrected, and corrected only by a certificate."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from loopback import LoopbackServer, chat
from suite_records import recorded

from judge.config import Settings, load_settings
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


def test_one_cap_holds_for_all_attempts_and_what_it_leaves_no_room_for_has_no_score(
    suite_of: Callable[..., SuiteRun], tmp_path: Path
) -> None:
    """A call costs two cents at most, and as much as it may: the second does not fit under three."""
    answer = json.dumps({"reason": "So it is.", "evidence": [{"step": 1, "quote": ""}], "score": 4})
    runs = [recorded([("look", {}, n)], id=f"one-{n}") for n in (1, 2)]
    with LoopbackServer(lambda received: chat(answer, tokens=(10, 20))) as server:
        values = {
            "judge": "openai/m1",
            "providers": {"openai": {"base_url": f"{server.url}/v1"}},
            "models": {"openai/m1": {"input_usd_per_million": 0.0, "output_usd_per_million": 1000.0}},
            "cache_dir": tmp_path / "cache",
            "certificates": tmp_path / "none",
            "samples": 1,
            "max_output_tokens": 20,
            "max_usd": 0.03,
        }
        with closing(Grader(load_settings(values, environment={}, folder=tmp_path), tmp_path)) as grader:
            result = run_traces(suite_of(TEXT, grader=grader), runs)
            assert grader.reached is not None
        assert len(server.requests) == 1
    first, second = (attempt.judged for case in result.cases for attempt in case.attempts)
    assert first is not None
    assert second is not None
    assert (first.score, second.score, second.passed) == (4, None, None)
    assert "$0.0200 of $0.0300 is spent (max_usd)" in second.reason


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
