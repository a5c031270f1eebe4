"""Votes stop when the outcome is decided: by hand, exactly, by simulation, and through the engine."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from pydantic import ValidationError
from refund_runs import refund
from scripted import Scripted

import judge
from judge.cli.main import run as command
from judge.config import Settings, load_settings
from judge.errors import ConfigError
from judge.report.verdicts import summary_text
from judge.types import Criterion, Rubric, Trajectory, Vote
from judge.types.request import Request
from judge.types.rubric import BinaryScale, RangeScale, Scale
from judge.types.stop_rule import StopRule
from judge.types.verdict import JudgeSpec
from judge.voting import VerdictSums, more_samples
from judge.voting.sequential import binary_outcome, chance_of_lead, median_decided, reckoned_risk, two_decided

FIVE = RangeScale(min=1, max=5, step=1)


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "bench" / "adaptive.py"
    spec = importlib.util.spec_from_file_location("bench_adaptive", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def rubric(scale: Scale) -> Rubric:
    return Rubric(id="r", version="1", title="R", intent="", criteria=(Criterion(id="a", question="?", scale=scale),))


def votes(scores: Sequence[float | str]) -> dict[str, list[Vote]]:
    return {
        "a": [
            Vote(status=score) if isinstance(score, str) else Vote(status="ok", score=score)  # type: ignore[arg-type]
            for score in scores
        ]
    }


def test_the_chance_of_a_lead_is_that_of_the_beta_distribution() -> None:
    from scipy.stats import beta

    assert chance_of_lead(0, 0) == 0.5
    assert chance_of_lead(2, 0) == 0.875  # 1 - 1/8
    assert chance_of_lead(3, 1) == 0.8125  # 26/32
    for first, second in ((4, 0), (5, 2), (9, 3), (1, 4)):
        assert chance_of_lead(first, second) == pytest.approx(beta.sf(0.5, first + 1, second + 1))


def test_two_answers_are_decided_for_certain_or_at_the_risk() -> None:
    assert two_decided(3, 0, left=2, risk=0.0)
    assert not two_decided(3, 1, left=2, risk=0.0)
    assert not two_decided(3, 0, left=4, risk=0.05)  # .9375
    assert two_decided(4, 0, left=9, risk=0.05)  # .96875


def test_a_median_is_decided_when_the_votes_left_cannot_move_it() -> None:
    assert median_decided([4, 4, 4], left=2, risk=0.0)
    assert not median_decided([4, 4], left=2, risk=0.0)  # two more below make it 2, 2, 4, 4
    assert median_decided([4, 4], left=1, risk=0.0)
    assert not median_decided([4, 3], left=1, risk=0.0)
    assert not median_decided([4, 4, 4], left=6, risk=0.05)
    assert median_decided([4] * 5, left=90, risk=0.05)  # 1 - 1/64 on each side


def test_scores_without_steps_count_as_equal_when_near() -> None:
    assert not median_decided([0.50, 0.52], left=1, risk=0.0)
    assert median_decided([0.50, 0.52], left=1, risk=0.0, width=0.05)


@pytest.mark.parametrize(
    ("scores", "more"),
    [
        ((), 2),
        ((1,), 1),
        ((1, 1), 1),
        ((1, 1, 1), 0),
        ((1, 0, 1), 1),
        ((1, 0, 1, 1), 0),
        ((1, 0, 1, 0), 1),
        ((1, 0, 1, 0, 0), 0),
        (("unparsed", 1, 1, 1), 0),
        (("unparsed", "unparsed"), 1),
        (("unparsed", "unparsed", "empty"), 0),  # three votes and no answer: no more is paid for
        (("not_applicable", "not_applicable", "not_applicable"), 0),
        (("not_applicable", 1, 1), 1),
    ],
)
def test_how_many_more_with_five_votes_at_most(scores: tuple[float | str, ...], more: int) -> None:
    assert more_samples(votes(scores), rubric(BinaryScale()), None, StopRule()) == more


def test_a_fixed_number_overrules_the_rule() -> None:
    assert more_samples(votes((1, 1, 1)), rubric(BinaryScale()), 7, StopRule()) == 4


@pytest.mark.parametrize("scale", [BinaryScale(), FIVE])
def test_without_risk_the_verdict_is_that_of_all_votes(scale: Scale) -> None:
    rng = np.random.default_rng(3)
    one = rubric(scale)
    rule = StopRule(risk=0.0, least=1, most=5)
    drawn = 0
    for _ in range(400):
        low, high = (0, 2) if isinstance(scale, BinaryScale) else (1, 6)
        scores = rng.integers(low, high, 5).tolist()
        used = 0
        while more := more_samples(votes(scores[:used]) if used else {}, one, None, rule):
            used += more
        drawn += used
        assert np.median(scores[:used]) == np.median(scores)
    assert drawn < 400 * 5


def test_the_exact_error_of_five_votes() -> None:
    fixed = binary_outcome(StopRule(risk=0.0, least=5, most=5), 0.8)
    assert fixed.calls == pytest.approx(5)
    assert fixed.error == pytest.approx(0.05792)  # 10·.8²·.2³ + 5·.8·.2⁴ + .2⁵
    saved = binary_outcome(StopRule(risk=0.0, least=2, most=5), 0.8)
    assert saved.error == pytest.approx(fixed.error)
    # three of a kind: P(3) = .8³+.2³ = .52, P(4) = 3·.8·.2·(.8²+.2²) = .3264, else 5
    assert saved.calls == pytest.approx(3 * 0.52 + 4 * 0.3264 + 5 * 0.1536)


def test_votes_are_saved_at_the_same_error(bench: ModuleType) -> None:
    rows = bench.binary_rows(3_000, seed=5)
    assert [row.judge for row in rows] == [f"right in {p:g}" for p in (0.6, 0.7, 0.8, 0.9) for _ in range(2)]
    for row in rows:
        assert row.holds, row
    certain = [row for row in rows if row.rule == "certain"]
    for row, accuracy in zip(certain, bench.ACCURACIES, strict=True):
        assert row.error == row.fixed_error  # the same verdict in every single case
        exact = 1 - binary_outcome(bench.CERTAIN, accuracy).calls / 5
        assert row.saved[1] - 0.005 < exact < row.saved[2] + 0.005
    assert "votes saved" in bench.table(rows)


def test_ordered_scores_keep_the_median_of_five(bench: ModuleType) -> None:
    for row in bench.ordinal_rows(1_500, seed=6):
        if row.rule == "certain":
            assert row.error == row.fixed_error
            assert row.saved[1] > 0
        else:
            assert row.error[1] <= row.fixed_error[2] + 0.02


def always(share: float) -> Scripted:
    return Scripted(lambda request: (share, ()), name="fake/always")


def test_the_engine_draws_until_it_is_decided(settings: Settings) -> None:
    script = {0: 1.0, 1: 0.0, 2: 1.0, 3: 1.0}
    connection = Scripted(lambda request: (script[request.sample], ()), name="fake/script")
    run = Trajectory.from_json(refund())
    one = rubric(BinaryScale())
    verdict = judge.score(run, one, judge=connection, settings=settings, stop={"risk": 0.0, "most": 5})
    assert (verdict.score, verdict.calls) == (1.0, 4)
    sure = judge.score(run, one, judge=always(1.0), settings=settings, stop={"risk": 0.0, "most": 5})
    assert (sure.score, sure.calls) == (1.0, 3)


def test_what_was_saved_and_at_what_risk_is_told(settings: Settings) -> None:
    script = {0: 1.0, 1: 0.0, 2: 1.0, 3: 1.0, 4: 1.0}
    runs = [Trajectory.from_json(refund(f"r{n}", f"task {n}")) for n in range(2)]

    def opinion(request: Request) -> tuple[float, tuple[int, ...]]:
        return (script[request.sample] if request.subject.trajectory_id == "r0" else 1.0), ()

    rule = StopRule(risk=0.2, least=2, most=9)
    sums = VerdictSums(rule)
    stop = rule.model_dump()
    for verdict in judge.score_many(runs, rubric(BinaryScale()), judge=Scripted(opinion), settings=settings, stop=stop):
        sums.add(verdict)
    found = sums.summary().stopping
    assert found is not None
    # r1: two passes, where a lead is wrong with chance 1/8; r0: + - + + is 3 to 1, 6/32, below .2: four votes
    assert (found.verdicts, found.drawn, found.most) == (2, 6, 18)
    assert found.saved == pytest.approx(12 / 18)
    assert found.risk == pytest.approx((1 / 8 + 6 / 32) / 2)
    text = summary_text(sums.summary())
    assert "6 of 18 votes drawn, 67% saved; mean chance that more votes would change a verdict 15.6%" in text


def test_a_vote_that_is_certain_has_no_risk_and_scores_have_that_of_both_sides() -> None:
    binary, five = BinaryScale(), FIVE
    assert reckoned_risk(votes([1, 1, 1])["a"], binary, 2) == 0.0
    assert reckoned_risk(votes([1, 0])["a"], binary, 0) == 0.0  # all were drawn
    assert reckoned_risk(votes(["unparsed"])["a"], binary, 3) is None
    # 4 4 4: below the median 0 of 3, above it 0 of 3; each side is wrong with 1 - 15/16
    assert reckoned_risk(votes([4, 4, 4])["a"], five, 6) == pytest.approx(2 / 16)
    assert reckoned_risk(votes([4, 4, 4])["a"], five, 2) == 0.0
    # 1 valid vote beside 3 that say "not applicable": 5 more could turn that (1 to 3: 6/32)
    assert reckoned_risk(votes([1, *["not_applicable"] * 3])["a"], binary, 5) == pytest.approx(6 / 32 + 1 / 4)


def test_verdicts_that_a_rule_did_not_end_are_not_counted(settings: Settings) -> None:
    sums = VerdictSums(StopRule())
    run = Trajectory.from_json(refund())
    bare = settings.model_copy(update={"retries": 0})
    silent = Scripted(lambda request: None)
    sums.add(judge.score(run, rubric(BinaryScale()), judge=silent, settings=bare, stop={"risk": 0.0}))
    assert sums.summary().stopping is None
    assert VerdictSums().summary().stopping is None


def test_samples_in_the_cache_are_used_before_new_ones_are_drawn(tmp_path: Path) -> None:
    script = tmp_path / "judge.yaml"
    script.write_text("cache: true\ndefault: [pass, fail, pass, pass, fail]\n", encoding="utf-8")
    flags = {"judge": f"fake/{script}", "cache_dir": tmp_path / "cache"}
    settings = load_settings(flags, environment={}, folder=tmp_path)
    run, one = Trajectory.from_json(refund()), rubric(BinaryScale())
    first = judge.score(run, one, settings=settings, samples=3)
    then = judge.score(run, one, settings=settings, stop={"risk": 0.0, "most": 5})
    assert (first.calls, then.calls, then.cached) == (3, 1, 3)


def test_the_rule_is_part_of_the_judge() -> None:
    plain = JudgeSpec(name="a/b", provider="a", model="b")
    assert "stop" not in plain.to_json()
    ruled = plain.model_copy(update={"stop": StopRule()})
    more = plain.model_copy(update={"stop": StopRule(most=7)})
    assert len({plain.fingerprint, ruled.fingerprint, more.fingerprint}) == 3


@pytest.mark.parametrize("rule", [{"most": 4}, {"least": 7, "most": 5}, {"risk": 0.5}, {"risk": -0.1}])
def test_a_rule_that_makes_no_sense_is_refused(rule: dict[str, float], settings: Settings) -> None:
    with pytest.raises(ValidationError):
        StopRule.model_validate(rule)
    with pytest.raises(ConfigError, match="stop"):
        judge.score(Trajectory.from_json(refund()), settings=settings, stop=rule)


def test_the_command_refuses_two_ways_to_fix_the_votes(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["score", "x.json", "--stop-risk", "0.05", "--samples", "3"]) == 2
    assert command(["score", "x.json", "--max-samples", "3"]) == 2
    assert "--stop-risk" in capsys.readouterr().err
