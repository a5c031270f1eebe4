"""The number of votes comes from the judge's own wobble, and its price from what calls cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refund_runs import refund
from scipy.stats import binom
from scripted import Scripted

from judge.calibration.wobble import stability_interval
from judge.cli.main import run as command
from judge.config import Settings
from judge.engine.probing import ProbeRuns
from judge.engine.vote_plan import plan_votes
from judge.errors import UnknownName, UsageError
from judge.prompt import load_rubric
from judge.report.vote_plan import vote_plan_text
from judge.types.trajectory import Trajectory, Usage

RUBRIC = load_rubric("process")


def runs_of(count: int) -> ProbeRuns:
    return ProbeRuns([Trajectory.from_json(refund(f"r{n}", f"task {n}")) for n in range(count)], "the test")


class Priced(Scripted):
    """Online, one cent a call."""

    offline = False

    def price(self, usage: Usage) -> float | None:
        return 0.01


def wavering(good: int) -> Priced:
    """On every second run, `good` of six votes pass; on the others all do."""

    def opinion(request: Any) -> tuple[float, tuple[int, ...]]:
        steady = int(request.subject.trajectory_id[1:]) % 2 == 0
        return (1.0 if steady or request.sample < good else 0.0), ()

    return Priced(opinion, "openai/wavering")


def test_the_curve_is_counted_by_hand(settings: Settings) -> None:
    made = plan_votes(runs_of(20), RUBRIC, settings=settings, judge=wavering(5), target=0.5)
    # one vote: 2·5·1 / (6·5) = 1/3 on half of the runs; three votes: 5 of 6 pass, so every three have a majority
    assert made.flip_rate.value == pytest.approx(1 / 6)
    by_votes = {point.votes: point for point in made.curve}
    assert by_votes[1].flips == pytest.approx(1 / 6)
    assert by_votes[3].flips == 0.0
    assert made.votes == 1


def test_the_target_is_reached_by_the_fewest_votes_with_their_price(settings: Settings) -> None:
    made = plan_votes(runs_of(20), RUBRIC, settings=settings, judge=wavering(5), target=0.02)
    assert made.votes == 3
    assert made.usd_per_vote == pytest.approx(0.01)
    point = next(point for point in made.curve if point.votes == 3)
    assert point.usd == pytest.approx(0.03)
    # stop at two equal: on a steady run 2 votes; at 5 of 6, 2 + P(first two differ) = 2 + 2·5/6·1/6
    assert point.calls == pytest.approx((2 + 2 + 10 / 36) / 2)
    assert "3 votes" in vote_plan_text(made)
    assert "--max-samples 3" in vote_plan_text(made)


def test_a_number_of_votes_must_hold_with_two_more(settings: Settings) -> None:
    """Where one vote of six differs on every run, no three have another majority; five, by the model, would."""
    judge = Priced(lambda request: (1.0 if request.sample < 5 else 0.0, ()), "openai/wavering")
    made = plan_votes(runs_of(20), RUBRIC, settings=settings, judge=judge, target=0.02)
    flips = {point.votes: point.flips for point in made.curve}
    assert flips[3] == 0.0
    # right in 5/6, independently: a majority of five in q = (5^5 + 5·5^4 + 10·5^3) / 6^5 = .9645, 2·q·(1 - q) = .0685
    assert flips[5] == pytest.approx(0.0685, abs=0.002)
    assert made.votes == 9
    assert made.curve[1].high is not None  # 0 of 20 tasks flip among three votes, and 2 % is not shown by 20
    assert made.curve[1].high > 0.1
    highs = [point.high for point in made.curve if point.high is not None]
    assert highs == sorted(highs, reverse=True)
    assert made.votes_at_worst is None
    assert "No number of votes on the curve holds it at the upper ends" in vote_plan_text(made)
    bars = [
        line.count("#") for line in vote_plan_text(made).splitlines() if "beta-binomial" in line or "disjoint" in line
    ]
    assert bars[:3] == [20, 0, round(20 * 0.0685 / (1 / 3))]


class Sharing(Scripted):
    """Bills the prompt of ten cents with the first vote, and one cent for each reply."""

    offline = False

    def __init__(self, later_input: int) -> None:
        super().__init__(lambda request: (1.0 if request.sample < 5 else 0.0, ()), "openai/sharing")
        self._later_input = later_input

    async def complete(self, request: Any) -> Any:
        reply = await super().complete(request)
        sent = 100 if request.sample == 0 else self._later_input
        return reply.model_copy(update={"usage": Usage(input_tokens=sent, output_tokens=10)})

    def price(self, usage: Usage) -> float | None:
        return (usage.input_tokens or 0) * 1e-3 + (usage.output_tokens or 0) * 1e-3


@pytest.mark.parametrize(("later_input", "more", "alone"), [(0, 0.01, 0.11), (10, 0.02, 0.02)])
def test_a_prompt_that_votes_share_is_paid_once(
    later_input: int, more: float, alone: float, settings: Settings
) -> None:
    """A first vote is 11 cents; where later ones came by its request, without input, so is one that is asked alone."""
    made = plan_votes(runs_of(20), RUBRIC, settings=settings, judge=Sharing(later_input), target=0.02)
    one, three = (next(point for point in made.curve if point.votes == votes) for votes in (1, 3))
    assert one.usd == pytest.approx(0.11)
    assert three.usd == pytest.approx(0.11 + 2 * more)
    assert three.usd_stopping == pytest.approx(0.11 + more + (three.calls - 2) * alone)
    assert made.usd_per_vote == pytest.approx((0.11 + 5 * more) / 6)


def test_a_coin_is_cured_by_no_number_of_votes(settings: Settings) -> None:
    made = plan_votes(runs_of(20), RUBRIC, settings=settings, judge=wavering(3), target=0.001)
    assert made.votes is None
    assert "No number of votes" in vote_plan_text(made)


def test_a_judge_that_never_wavers_needs_one_vote(settings: Settings) -> None:
    made = plan_votes(runs_of(8), RUBRIC, settings=settings, judge=wavering(6))
    assert (made.flip_rate.value, made.votes) == (0.0, 1)


def test_more_votes_of_a_steady_judge_prove_no_more_than_its_tasks(settings: Settings) -> None:
    """Every second run fails with all votes. No vote differs, so the interval is that of the counted share."""

    def opinion(request: Any) -> tuple[float, tuple[int, ...]]:
        return float(int(request.subject.trajectory_id[1:]) % 2), ()

    made = plan_votes(runs_of(8), RUBRIC, settings=settings, judge=Priced(opinion, "openai/steady"), target=0.2)
    highs = {point.votes: point.high for point in made.curve}
    assert highs[1] == pytest.approx(0.3244, abs=1e-4)  # Wilson, 0 of 8: z² / (8 + z²)
    assert set(highs.values()) == {highs[1]}
    assert made.votes_at_worst is None


def test_what_cannot_be_planned_is_said(settings: Settings) -> None:
    with pytest.raises(UsageError, match="1 repeats"):
        plan_votes(runs_of(3), RUBRIC, settings=settings, judge=wavering(5), repeats=1)
    with pytest.raises(UnknownName):
        plan_votes(runs_of(3), RUBRIC, settings=settings, judge=wavering(5), criterion="outcome")


def test_the_command_prints_the_curve(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "judge.yaml"
    script.write_text("default: [5, 5, 2, 5, 4, 3]\n", encoding="utf-8")
    arguments = ["--judge", f"fake/{script}", "--set", "refunds", "--limit", "8", "--no-cache"]
    assert command(["plan", *arguments, "--target-flip", "0.4", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    # passes 1 1 0 1 1 0: single votes differ with 2·4·2 / (6·5) = 8/15
    assert made["flip_rate"]["value"] == pytest.approx(8 / 15)
    assert made["votes"] == 3
    assert command(["plan", *arguments, "--target-flip", "0"]) == 1
    assert "verdicts that flip" in capsys.readouterr().out


def test_the_interval_of_a_modelled_share_covers_the_truth() -> None:
    """Runs that pass with chances from Beta(3, .6), six votes each, 20 tasks: 34 of 40 is the 1 % point at 95 %."""
    rng = np.random.default_rng(3)
    chances = rng.beta(3, 0.6, 200_000)
    majority = binom.sf(2, 5, chances)
    truth = float((2 * majority * (1 - majority)).mean())
    inside = 0
    for _ in range(40):
        votes = (rng.random((20, 6)) < rng.beta(3, 0.6, 20)[:, None]).astype(float)
        found = stability_interval(votes, 5, groups=[str(n) for n in range(20)], rng=rng)
        inside += found is not None and found[0] <= truth <= found[1]
    assert inside >= 34
