"""Wobble, rank stability, drift, forecasts, repeated attempts, votes, pairwise strengths."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from judge.calibration.bradley_terry import bradley_terry
from judge.calibration.dawid_skene import dawid_skene
from judge.calibration.drift import anchor_drift
from judge.calibration.forecast import forecast_gate
from judge.calibration.majority import chance_majority_holds, expected_score
from judge.calibration.pass_k import mean_over_tasks, pass_at_k, pass_hat_k
from judge.calibration.proportions import clopper_pearson_upper
from judge.calibration.rank_stability import leave_one_judge_out, rank_stability, tau_to
from judge.calibration.wobble import item_wobble, vote_stability, wobble
from judge.errors import StatisticsError, TooFewLabels


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# ---- wobble


def test_item_wobble_by_hand() -> None:
    got = item_wobble(np.asarray([3.0, 3.0, 4.0, math.nan, 5.0]))
    # of 6 pairs one is equal (3, 3): flip rate 5/6; mean 3.75, squares .5625·2 + .0625 + 1.5625 = 2.75 over 3
    assert got is not None
    assert (got.repeats, got.spread) == (4, 2.0)
    assert got.flip_rate == pytest.approx(5 / 6)
    assert got.sd == pytest.approx(math.sqrt(2.75 / 3))
    assert item_wobble(np.asarray([3.0, math.nan])) is None


def test_judge_that_never_flips_is_not_shown_stable_beyond_its_items() -> None:
    got = wobble(np.tile([[0.0], [1.0]], (25, 3)), rng=rng())
    assert got.flip_rate.value == 0.0
    assert got.flip_rate.upper == pytest.approx(clopper_pearson_upper(0, 50))  # .058 of fifty items
    assert got.icc.value == pytest.approx(1.0)
    assert got.icc.lower is None  # and says why
    assert got.icc.reason
    assert got.alpha.value == pytest.approx(1.0)
    assert got.alpha.lower is not None
    assert got.alpha.lower < 0.97


def test_repeats_of_fewer_than_two_scores_are_left_out_and_counted() -> None:
    got = wobble([[1.0, 2.0], [math.nan, 3.0], [math.nan, math.nan]], rng=rng())
    assert got.left_out == 2
    assert got.items[1] is None
    assert got.flip_rate.n == 1
    nothing = wobble([[1.0], [2.0]], rng=rng())
    assert nothing.flip_rate.value is None
    assert nothing.votes_needed is None
    assert all(vote.changes is None and vote.reason for vote in nothing.votes)


def test_flip_rate_is_unbiased_for_a_known_judge() -> None:
    """p = .2 and .8 alternating: two runs differ with chance 2 · .2 · .8 = .32."""
    chance = np.where(np.arange(2_000) % 2, 0.2, 0.8)
    scores = (rng(1).random((2_000, 3)) < chance[:, None]).astype(float)
    got = wobble(scores, rng=rng())
    assert got.flip_rate.low is not None
    assert got.flip_rate.low < 0.32 < got.flip_rate.high  # type: ignore[operator]


def test_votes_steady_the_verdict_as_the_binomial_says() -> None:
    """p = .2 and .8: a panel of k says the minority with chance q_k; verdicts change with chance 2 q (1 - q)."""
    chance = np.where(np.arange(3_000) % 2, 0.2, 0.8)
    scores = (rng(2).random((3_000, 10)) < chance[:, None]).astype(float)
    for votes in (1, 3, 5):
        q = float(stats.binom.sf(votes // 2, votes, 0.2))
        got = vote_stability(scores, votes)
        assert got.method == "disjoint repeats"
        assert got.changes == pytest.approx(2 * q * (1 - q), abs=0.015)


def test_disjoint_panels_by_hand() -> None:
    # one item, runs 1 1 0 0 and single votes: of the 12 ordered pairs 8 differ
    assert vote_stability(np.asarray([[1.0, 1, 0, 0]]), 1).changes == pytest.approx(8 / 12)
    pairs = list(combinations([1.0, 1, 0, 0], 2))
    assert sum(a != b for a, b in pairs) / len(pairs) == pytest.approx(8 / 12)


@pytest.mark.parametrize("row", [(1, 2, 2, 3, 5, 5), (1, 1, 2, 2, 3, 3, 3), (0, 0, 0, 0, 0, 1)])
def test_panels_of_three_by_enumeration(row: tuple[int, ...]) -> None:
    differ = total = 0
    for first in combinations(range(len(row)), 3):
        for second in combinations([i for i in range(len(row)) if i not in first], 3):
            total += 1
            differ += np.median([row[i] for i in first]) != np.median([row[i] for i in second])
    got = vote_stability(np.asarray([row], dtype=float), 3)
    assert got.changes == pytest.approx(differ / total)


def test_few_repeats_of_a_binary_judge_use_a_model_close_to_the_truth() -> None:
    random = rng(3)
    p = random.beta(2, 1, size=4_000)
    scores = (random.random((4_000, 4)) < p[:, None]).astype(float)
    got = vote_stability(scores, 5)
    assert got.method == "beta-binomial"
    grid = np.random.default_rng(4).beta(2, 1, size=200_000)
    q = stats.binom.sf(2, 5, grid)
    assert got.changes == pytest.approx(float((2 * q * (1 - q)).mean()), abs=0.02)


def test_few_repeats_of_many_levels_give_null_with_a_reason() -> None:
    got = vote_stability(np.asarray([[1.0, 2, 3], [2, 2, 3]]), 3)
    assert got.changes is None
    assert "6 needed" in (got.reason or "")


def test_votes_needed_for_a_target() -> None:
    scores = (rng(5).random((500, 10)) < 0.8).astype(float)
    # q_1 = .2 → .32, q_3 = .104 → .186, q_5 = .058 → .109
    assert wobble(scores, target=0.25, rng=rng()).votes_needed == 3
    assert wobble(scores, target=0.15, rng=rng()).votes_needed == 5
    assert wobble(scores, rng=rng()).votes_needed is None


def test_steady_judge_that_is_wrong_is_still_steady() -> None:
    """Alpha across repeats is an upper bound of trust and no proof: this judge answers the opposite of the truth."""
    truth = rng(6).integers(2, size=60)
    repeats = np.repeat((1 - truth)[:, None], 3, axis=1).astype(float)
    assert wobble(repeats, rng=rng()).alpha.value == pytest.approx(1.0)


# ---- rank stability


def test_clean_above_wasteful_in_every_run() -> None:
    scores = np.asarray([[[5, 5, 4, 5, 5]], [[2, 1, 2, 2, 3]]], dtype=float)  # two runs of an agent, five repeats
    got = rank_stability(scores, ["clean", "wasteful"], vary="judge", rng=rng())
    assert [one.agent for one in got.agents] == ["clean", "wasteful"]
    assert got.top_stays == 1.0
    assert got.swaps == (("clean", "wasteful", 0.0),)
    assert got.tau.value == 1.0


def test_agents_that_differ_by_noise_swap_about_half_the_time() -> None:
    random = rng(1)
    scores = random.normal(size=(2, 200))
    scores[1] += scores[0].mean() - scores[1].mean() - 0.001
    got = rank_stability(scores, ["a", "b"], rng=rng())
    assert got.swaps[0][2] == pytest.approx(0.5, abs=0.06)
    assert (got.agents[0].low, got.agents[0].high) == (1.0, 2.0)


def test_resampled_ranking_equals_a_loop() -> None:
    random = rng(2)
    scores = random.normal(size=(3, 30)) + np.asarray([[0.3], [0.15], [0.0]])
    tasks = np.arange(30) // 3
    got = rank_stability(scores, ["a", "b", "c"], groups=tasks.tolist(), rng=rng(), resamples=4_000)
    full = scores.mean(1)
    top = int(np.argmax(full))
    stays = 0
    for _ in range(2_000):
        picked = np.concatenate([np.flatnonzero(tasks == g) for g in random.integers(10, size=10)])
        stays += int(np.argmax(scores[:, picked].mean(1))) == top
    assert got.top_stays == pytest.approx(stays / 2_000, abs=0.04)


def test_tau_of_rankings_equals_scipy_with_ties() -> None:
    random = rng(3)
    reference = random.integers(4, size=8).astype(float)
    others = random.integers(4, size=(20, 8)).astype(float)
    want = [stats.kendalltau(reference, other).statistic for other in others]
    assert tau_to(reference, others) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize(
    ("scores", "agents", "vary", "reason"),
    [
        ([[1.0, 2.0]], ["a"], "tasks", "fewer than two agents"),
        ([[1.0], [2.0]], ["a", "b"], "tasks", "one task"),
        ([[1.0, 2.0], [2.0, 3.0]], ["a", "b"], "judge", "one run of the judge"),
        ([[1.0, 2.0], [math.nan, math.nan]], ["a", "b"], "tasks", "an agent has no score"),
    ],
)
def test_ranking_that_cannot_be_resampled_is_null(
    scores: list[list[float]], agents: list[str], vary: str, reason: str
) -> None:
    got = rank_stability(scores, agents, vary=vary, rng=rng())  # type: ignore[arg-type]
    assert got.tau.value is None
    assert got.top_stays is None
    assert reason in (got.reason or "")


def test_leaving_out_the_judge_that_decides_changes_the_ranking() -> None:
    agents = ["a", "b", "c"]
    scores = {
        "one": [[3.0, 3], [2, 2], [1, 1]],
        "two": [[3.1, 3], [2, 2], [1, 1]],
        "odd": [[0.0, 0], [1, 1], [9, 9]],
    }
    got = leave_one_judge_out(scores, agents)
    assert got.top_stays["odd"] is False  # the ranking of all three had c on top because of this judge
    assert got.tau["odd"] == pytest.approx(-1.0 / 3)  # all: c a b; without: a b c. One pair of three agrees
    assert got.concordance.w is not None
    assert got.concordance.w < 1
    with pytest.raises(StatisticsError, match="two needed"):
        leave_one_judge_out({"one": [[1.0]]}, ["a"])


# ---- drift


def test_nothing_changed_is_no_alarm() -> None:
    old = [1, 0] * 40
    got = anchor_drift(old, old, wobble_upper=0.05, labels=old)
    assert not got.alarm
    assert got.flips_p == 1.0
    assert got.accuracy is not None
    assert got.accuracy.p == 1.0


def test_churn_at_equal_accuracy_alarms() -> None:
    """Ten verdicts turn right and ten turn wrong: accuracy is the same, and the judge is another one."""
    labels = [1] * 100
    old = [1] * 90 + [0] * 10
    new = [1] * 80 + [0] * 10 + [1] * 10
    got = anchor_drift(old, new, wobble_upper=0.05, labels=labels)
    assert got.accuracy is not None
    assert got.accuracy.p == 1.0
    assert got.flips == 20
    assert got.flips_p == pytest.approx(float(stats.binom.sf(19, 100, 0.05)))
    assert got.causes == ("more verdicts changed than wobble explains",)


def test_loss_of_accuracy_alarms_by_the_exact_test() -> None:
    labels = [1] * 60
    got = anchor_drift(labels, [0] * 12 + [1] * 48, wobble_upper=0.3, labels=labels)
    assert got.accuracy is not None
    assert got.accuracy.p == pytest.approx(2 * 0.5**12)
    assert got.causes == ("accuracy on the anchors changed",)


def test_exact_paired_test_of_nine_against_two() -> None:
    labels = [1] * 60
    old, new = [1] * 58 + [0, 0], [0] * 9 + [1] * 51
    got = anchor_drift(old, new, wobble_upper=0.5, labels=labels)
    assert got.accuracy is not None
    assert (got.accuracy.lost, got.accuracy.gained) == (9, 2)
    assert got.accuracy.p == pytest.approx(0.0654, abs=5e-5)


def test_false_alarms_over_all_looks_stay_below_the_stated_rate() -> None:
    """100 anchors, wobble 5 %, four looks at 20 % in all: the chance of any alarm is at most .2."""
    random = rng(4)
    alarms = 0
    for _ in range(400):
        labels = random.integers(2, size=100)
        usual = np.where(random.random(100) < 0.9, labels, 1 - labels)
        # each scoring strays from the usual verdict with chance f, so that two differ with 2 f (1 - f) = .05
        old = np.where(random.random(100) < 0.02566, 1 - usual, usual)
        looks = [
            anchor_drift(
                old, np.where(random.random(100) < 0.02566, 1 - usual, usual), wobble_upper=0.05, labels=labels,
                alpha=0.2, looks=4, look=look,
            ).alarm
            for look in (1, 2, 3, 4)
        ]  # fmt: skip
        alarms += any(looks)
    assert alarms / 400 <= 0.2 + 2 * math.sqrt(0.2 * 0.8 / 400)


def test_anchors_of_one_task_count_once() -> None:
    got = anchor_drift([1] * 60, [0] * 60, wobble_upper=0.1, groups=["t"] * 60)
    assert got.n == 1
    assert not got.alarm
    assert got.warning


def test_looks_beyond_the_plan_are_refused() -> None:
    with pytest.raises(StatisticsError, match="Look 2 of 1"):
        anchor_drift([1], [1], wobble_upper=0.1, look=2)
    with pytest.raises(StatisticsError, match="one at least"):
        anchor_drift([], [], wobble_upper=0.1)


# ---- forecast


def test_forecast_of_independent_runs_is_the_binomial() -> None:
    got = forecast_gate(90, 100, bar=0.9, n=20)
    assert got.runs == 18
    assert got.red_if_exact == pytest.approx(float(stats.binom.cdf(17, 20, 0.9)))  # .323
    drawn = rng(5).binomial(20, rng(6).beta(90.5, 10.5, size=200_000))
    assert got.red == pytest.approx(float((drawn < 18).mean()), abs=0.005)


def test_least_drop_turns_the_gate_red_with_the_stated_power() -> None:
    got = forecast_gate(95, 100, bar=0.9, n=40)
    assert got.least_drop is not None
    assert float(stats.binom.cdf(35, 40, 0.95 - got.least_drop)) == pytest.approx(0.8, abs=1e-6)


def test_runs_that_share_tasks_make_a_gate_less_steady() -> None:
    alone = forecast_gate(95, 100, bar=0.9, n=40)
    shared = forecast_gate(95, 100, bar=0.9, n=40, design_effect=4.0)
    assert shared.red > alone.red
    assert shared.least_drop is not None
    assert alone.least_drop is not None
    assert shared.least_drop > alone.least_drop


def test_gate_that_asks_for_nothing_sees_nothing() -> None:
    got = forecast_gate(5, 10, bar=0.0, n=10)
    assert (got.red, got.least_drop) == (pytest.approx(0.0), None)


# ---- repeated attempts


def test_repeated_attempts_by_hand() -> None:
    assert pass_hat_k(8, 6, 2) == pytest.approx(15 / 28)
    assert pass_at_k(5, 2, 2) == pytest.approx(0.7)
    assert pass_hat_k(3, 3, 3) == 1.0
    assert pass_at_k(3, 0, 3) == 0.0


@pytest.mark.parametrize("rule", [pass_hat_k, pass_at_k])
def test_more_attempts_than_there_are_is_refused_and_never_extrapolated(rule: object) -> None:
    assert callable(rule)
    with pytest.raises(TooFewLabels, match="Run 2 more"):
        rule(3, 3, 5)
    with pytest.raises(StatisticsError):
        rule(3, 4, 1)


def test_mean_over_tasks_treats_a_task_as_one_cluster() -> None:
    got = mean_over_tasks([(4, 4), (4, 2), (4, 0)], 2, rng=rng())
    assert got.value == pytest.approx((1 + 1 / 6 + 0) / 3)
    assert got.clusters == 3
    assert mean_over_tasks([], 2, rng=rng()).value is None
    flawless = mean_over_tasks([(4, 4)] * 10, 4, rng=rng())
    assert flawless.value == 1.0
    assert flawless.lower is not None
    assert flawless.lower < 0.95


# ---- votes and strengths


@pytest.mark.parametrize(("votes", "settled"), [((3, 0), False), ((4, 0), True), ((5, 1), False), ((6, 1), True)])
def test_vote_is_settled_at_95_percent(votes: tuple[int, int], settled: bool) -> None:
    assert (chance_majority_holds(*votes) >= 0.95) is settled


def test_expected_score_records_illegal_mass() -> None:
    got = expected_score([1, 2, 3], [0.2, 0.2, 0.4], illegal=0.2)
    assert got.mean == pytest.approx((0.2 * 1 + 0.2 * 2 + 0.4 * 3) / 0.8)
    assert got.illegal == 0.2
    assert expected_score([1, 2], [0.0, 0.0], illegal=1.0).mean is None


def test_strengths_without_a_finite_answer_are_refused() -> None:
    with pytest.raises(StatisticsError, match="not finite"):
        bradley_terry([[0, 3], [0, 0]])
    strong, weak = bradley_terry([[0, 3], [0, 0]], pseudo_wins=0.5)
    assert strong / weak == pytest.approx(3.5 / 0.5)


def test_consensus_weighs_raters_by_what_they_know() -> None:
    random = rng(7)
    truth = random.integers(3, size=200)
    codes = np.stack(
        [np.where(random.random(200) < right, truth, random.integers(3, size=200)) for right in (0.95, 0.9, 0.1)]
    )
    got = dawid_skene(codes, 3)
    assert float(np.mean(np.asarray(got.classes) == truth)) > 0.93
    assert got.accuracy[0] > got.accuracy[2]
    with pytest.raises(StatisticsError, match="three needed"):
        dawid_skene(codes[:2], 3)
