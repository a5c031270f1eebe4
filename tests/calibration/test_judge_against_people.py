"""Ceiling, alternative annotator test, corrected rates, prediction-powered means, calibrated scores, pass marks."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from judge.calibration.alternative_annotator import alternative_annotator_test
from judge.calibration.calibrated_score import curve_on_test, fit_score_curve
from judge.calibration.ceiling import ceiling
from judge.calibration.conformal import conformal_on_test, fit_conformal
from judge.calibration.correction import pass_rate
from judge.calibration.label_budget import (
    labels_for_kappa,
    labels_for_perfect,
    labels_for_share,
    labels_for_width,
    more_labels_for_share,
    passing_count,
    power_of_share,
)
from judge.calibration.pass_mark import Costs, band_on_test, choose_band
from judge.calibration.prediction_powered import prediction_powered_mean
from judge.calibration.probability_scores import calibration_error, reliability_curve
from judge.calibration.proportions import clopper_pearson_lower, wilson
from judge.calibration.table import coefficient
from judge.calibration.threshold import guarded_threshold
from judge.errors import StatisticsError, TooFewLabels


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# ---- ceiling


def test_ceiling_with_two_people_equals_scott_pi_of_the_pooled_pairs() -> None:
    a, b, judge = [1, 1, 0, 0, 1, 0], [1, 0, 0, 0, 1, 1], [1, 1, 0, 1, 1, 0]
    got = ceiling([a, b], judge, domain=[0, 1], rng=rng())
    tables = [np.zeros((2, 2)), np.zeros((2, 2))]
    for x, y, j in zip(a, b, judge, strict=True):
        tables[0][x, y] += 1
        for human in (x, y):
            tables[1][human, j] += 0.5
    assert got.human_human.value == pytest.approx(float(coefficient(tables[0], "scott")))
    assert got.judge_human.value == pytest.approx(float(coefficient(tables[1], "scott")))
    assert got.difference.value == pytest.approx((got.judge_human.value or 0) - (got.human_human.value or 0))


def _people_and_judge(seed: int, judge_noise: float, n: int = 300) -> tuple[list[list[int]], list[int], list[int]]:
    random = rng(seed)
    truth = random.random(n) < 0.6
    people = [np.where(random.random(n) < 0.1, ~truth, truth).astype(int).tolist() for _ in range(3)]
    judge = np.where(random.random(n) < judge_noise, ~truth, truth).astype(int).tolist()
    return people, judge, (np.arange(n) // 5).tolist()


def test_judge_as_good_as_people_is_near_the_ceiling_and_a_worse_one_below_it() -> None:
    people, good, tasks = _people_and_judge(1, 0.1)
    near = ceiling(people, good, domain=[0, 1], groups=tasks, rng=rng())
    assert near.difference.low is not None
    assert near.difference.low < 0 < near.difference.high  # type: ignore[operator]
    assert near.labels_usable is True
    people, bad, tasks = _people_and_judge(1, 0.4)
    below = ceiling(people, bad, domain=[0, 1], groups=tasks, rng=rng())
    assert below.difference.upper is not None
    assert below.difference.upper < -0.1


def test_people_who_do_not_agree_make_labels_unusable() -> None:
    random = rng(2)
    people = random.integers(2, size=(3, 100)).tolist()
    assert ceiling(people, people[0], domain=[0, 1], rng=rng()).labels_usable is False


# ---- alternative annotator test


def test_alternative_annotator_without_variation_uses_an_exact_test() -> None:
    """Everybody agrees, so d = 0 everywhere: (1 - .2)^40 = .000133 that a judge worse by .2 shows no loss in 40."""
    same = [0, 1] * 20
    got = alternative_annotator_test({"a": same, "b": same, "c": same}, same, epsilon=0.2)
    assert [one.p for one in got.comparisons] == pytest.approx([0.8**40] * 3)
    assert {one.test for one in got.comparisons} == {"exact"}
    assert got.winning_rate == 1.0
    few = alternative_annotator_test({"a": same[:5], "b": same[:5], "c": same[:5]}, same[:5], epsilon=0.2)
    assert few.winning_rate == 0.0  # .8^5 = .328: the plain t-test would say p = 0
    assert all(one.warning for one in few.comparisons)
    zero = alternative_annotator_test({"a": same, "b": same, "c": same}, same, epsilon=0.0)
    assert [one.p for one in zero.comparisons] == [1.0] * 3


def test_alternative_annotator_over_clusters_is_slower_to_reject() -> None:
    people, judge, tasks = _people_and_judge(3, 0.15, n=150)
    names = dict(zip("abc", people, strict=True))
    alone = alternative_annotator_test(names, judge, epsilon=0.1)
    grouped = alternative_annotator_test(names, judge, epsilon=0.1, groups=[task // 3 for task in tasks])
    assert alone.advantage == grouped.advantage
    assert {one.test for one in grouped.comparisons} == {"cluster-t"}


def test_alternative_annotator_test_needs_three_people() -> None:
    with pytest.raises(StatisticsError, match="three needed"):
        alternative_annotator_test({"a": [1], "b": [1]}, [1])


def test_person_alone_on_every_item_is_not_tested() -> None:
    gap = math.nan
    got = alternative_annotator_test({"a": [1, gap], "b": [gap, 1], "c": [gap, gap]}, [1, 1])
    assert got.winning_rate is None
    assert got.reason


# ---- corrected rates


def _sample(seed: int, n: int, rest: int, truth: float = 0.8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = rng(seed)
    people = random.random(n + rest) < truth
    said = np.where(people, random.random(n + rest) < 0.9, random.random(n + rest) >= 0.8).astype(float)
    return said, np.where(np.arange(n + rest) < n, people.astype(float), np.nan), people.astype(float)


def test_unknown_design_gets_no_corrected_rate() -> None:
    said, labels, _ = _sample(1, 100, 200)
    got = pass_rate(said, labels, design="unknown", rng=rng())
    assert got.corrected.value is None
    assert "not declared" in (got.corrected.reason or "")
    assert got.judge_rate.value == pytest.approx(said.mean())
    assert got.labels_only.value is None


def test_post_stratification_by_hand() -> None:
    # labelled: 6 judged pass of which 5 are; 4 judged fail of which 1 is; 60 % of all 20 judged pass
    verdicts = [1.0] * 6 + [0.0] * 4 + [1.0] * 6 + [0.0] * 4
    labels = [1.0] * 5 + [0.0] + [1.0] + [0.0] * 3 + [math.nan] * 10
    got = pass_rate(verdicts, labels, design="random", rng=rng())
    assert got.method == "post-stratification"
    assert got.corrected.value == pytest.approx(0.6 * 5 / 6 + 0.4 * 1 / 4)
    assert got.labels_only.value == pytest.approx(0.6)


def test_narrower_than_labels_alone_when_the_judge_is_good_and_said_so_when_not() -> None:
    said, labels, _ = _sample(2, 100, 2_000)
    assert pass_rate(said, labels, design="random", rng=rng()).wider_than_labels is False
    useless = rng(3).integers(2, size=len(said)).astype(float)
    got = pass_rate(useless, labels, design="random", rng=rng())
    assert got.wider_than_labels is not None
    assert got.corrected.value == pytest.approx(float(np.nanmean(labels)), abs=0.05)


def test_labels_drawn_by_verdict_give_an_unbiased_rate() -> None:
    """Half of the labels from the judge's few fails: the share among labels is far off, the corrected rate is not."""
    said, _, people = _sample(4, 0, 4_000)
    labels = np.full(len(said), np.nan)
    for verdict in (0.0, 1.0):
        drawn = np.flatnonzero(said == verdict)[:150]
        labels[drawn] = people[drawn]
    got = pass_rate(said, labels, design="by_verdict", rng=rng())
    assert float(np.nanmean(labels)) < 0.72
    assert got.corrected.value == pytest.approx(people.mean(), abs=0.04)
    assert got.labels_only.value is None


def test_inclusion_probabilities_undo_an_uneven_draw() -> None:
    said, _, people = _sample(5, 0, 4_000)
    chance = np.where(said == 1, 0.05, 0.25)
    labels = np.where(rng(6).random(4_000) < chance, people, np.nan)
    got = pass_rate(said, labels, design="inclusion", inclusion=chance, rng=rng())
    assert got.corrected.value == pytest.approx(people.mean(), abs=0.05)
    assert got.corrected.low is not None
    with pytest.raises(StatisticsError, match="without inclusion probabilities"):
        pass_rate(said, labels, design="inclusion", rng=rng())


def test_inclusion_weights_of_equal_labels_keep_a_width() -> None:
    labels = [1.0] * 20 + [math.nan] * 20
    got = pass_rate([1.0] * 40, labels, design="inclusion", inclusion=[0.5] * 40, rng=rng()).corrected
    assert got.value == 1.0
    assert got.low is not None
    assert got.low < 0.99


def test_corrected_rate_over_tasks_is_wider_than_over_independent_runs() -> None:
    random = rng(7)
    rate = np.repeat(random.beta(0.8, 0.4, 60), 10)
    people = (random.random(600) < rate).astype(float)
    said = np.where(random.random(600) < 0.1, 1 - people, people)
    labels = np.where(np.arange(600) % 10 < 4, people, np.nan)
    tasks = (np.arange(600) // 10).tolist()
    alone = pass_rate(said, labels, design="random", rng=rng()).corrected
    grouped = pass_rate(said, labels, design="random", groups=tasks, rng=rng()).corrected
    assert alone.value == grouped.value
    assert grouped.high - grouped.low > 1.3 * (alone.high - alone.low)  # type: ignore[operator]


@pytest.mark.parametrize("design", ["random", "by_verdict", "class_balanced"])
def test_no_label_gives_no_corrected_rate(design: str) -> None:
    got = pass_rate([1.0, 0.0, 1.0], [math.nan] * 3, design=design, rng=rng())  # type: ignore[arg-type]
    assert got.corrected.value is None
    assert got.corrected.reason


# ---- prediction-powered


def test_prediction_powered_mean_says_when_labels_alone_are_narrower() -> None:
    random = rng(1)
    y = random.normal(size=40)
    helpful = prediction_powered_mean(y, y + 0.2 * random.normal(size=40), random.normal(size=2_000))
    assert helpful.wider_than_labels is False
    assert helpful.recommended == "prediction_powered"
    forced = prediction_powered_mean(y, random.normal(size=40), random.normal(size=40), power=1.0)
    assert forced.wider_than_labels is True
    assert forced.recommended == "labels_only"
    assert forced.labels_only.value == pytest.approx(y.mean())


def test_prediction_powered_mean_needs_two_labels_and_a_rest() -> None:
    assert prediction_powered_mean([1.0], [1.0], [1.0, 0.0]).estimate.value is None
    assert prediction_powered_mean([1.0, 0.0], [1.0, 0.0], []).estimate.value is None
    same = prediction_powered_mean([1.0] * 5, [1.0] * 5, [1.0] * 5)
    assert same.estimate.value == 1.0
    assert same.estimate.low is None
    assert same.estimate.reason
    with pytest.raises(StatisticsError, match="missing"):
        prediction_powered_mean([1.0, math.nan], [1.0, 0.0], [1.0])


# ---- probability of a score


@pytest.mark.parametrize(("n", "method"), [(120, "platt"), (600, "isotonic")])
def test_score_curve_is_honest_on_labels_that_it_has_not_seen(n: int, method: str) -> None:
    random = rng(4)
    score = random.uniform(1, 5, size=2 * n).round(1)
    chance = 1 / (1 + np.exp(-1.5 * (score - 3)))
    passed = (random.random(2 * n) < chance).astype(float)
    curve = fit_score_curve(score[:n], passed[:n])
    assert curve.method == method
    got = [curve.probability(float(s)) for s in (1.5, 3.0, 4.5)]
    assert [one.probability for one in got] == pytest.approx([0.095, 0.5, 0.905], abs=0.13)
    assert all(one.low <= one.probability <= one.high for one in got)
    report = curve_on_test(curve, score[n:], passed[n:])
    honest = float(((chance[n:] - passed[n:]) ** 2).mean())
    assert report.score == pytest.approx(honest, abs=0.02)
    assert type(curve).from_json(curve.to_json()) == curve


def test_score_curve_refuses_one_class() -> None:
    with pytest.raises(TooFewLabels, match="1 failed"):
        fit_score_curve([1, 2, 3, 4], [1, 1, 1, 0])


def test_platt_on_a_constant_score_is_the_smoothed_base_rate() -> None:
    curve = fit_score_curve([3.0] * 10, [1] * 7 + [0] * 3)
    # Platt's targets: (7 · 8/9 + 3 · 1/5) / 10 = .6822
    assert curve.probability(3.0).probability == pytest.approx((7 * 8 / 9 + 3 / 5) / 10, abs=1e-6)


def test_isotonic_curve_never_falls() -> None:
    random = rng(5)
    score = random.integers(1, 8, size=400).astype(float)
    passed = (random.random(400) < score / 10 + 0.1).astype(float)
    curve = fit_score_curve(score, passed)
    along = [curve.probability(s).probability for s in np.linspace(0, 9, 91)]
    assert all(later >= earlier for earlier, later in pairwise(along))


def test_calibration_error_of_honest_probabilities_is_no_more_than_chance_gives() -> None:
    random = rng(6)
    p = random.random(800)
    honest = calibration_error((random.random(800) < p).astype(float), p, rng=rng())
    assert honest.l1 is not None
    assert honest.null_l1 is not None
    assert honest.l1 < 2 * honest.null_l1
    assert honest.warning is None
    boastful = calibration_error((random.random(800) < 0.5).astype(float), np.full(800, 0.9), rng=rng())
    assert boastful.l1 == pytest.approx(0.4, abs=0.05)
    assert calibration_error([], [], rng=rng()).l1 is None


def test_reliability_curve_holds_every_item_once() -> None:
    p = np.repeat([0.1, 0.5, 0.9], [5, 10, 15])
    points = reliability_curve(np.ones(30), p, bins=3, rng=rng())
    assert sum(point.observed.n for point in points) == 30
    assert [point.forecast for point in points] == pytest.approx([0.1, 0.5, 0.9])


# ---- conformal


def test_conformal_reach_is_the_right_order_statistic() -> None:
    # n = 9 at 80 %: the ceil(10 · .8) = 8th smallest of distances 0..8 is 7
    sets = fit_conformal(list(range(9)), [0] * 9, coverage=0.8)
    assert sets.reach == 7.0
    assert fit_conformal([1] * 18, [1] * 18, coverage=0.95).reach is None
    assert fit_conformal([1] * 19, [1] * 19, coverage=0.95).reach == 0.0
    assert fit_conformal([1] * 18, [1] * 18, coverage=0.95).levels(3, [1, 2, 3]) == (1, 2, 3)


def test_conformal_sets_cover_as_stated() -> None:
    random = rng(7)
    covered = []
    for _ in range(200):
        human = random.integers(1, 6, size=80)
        judge = np.clip(human + random.integers(-2, 3, size=80), 1, 5)
        sets = fit_conformal(human[:40], judge[:40], coverage=0.9)
        covered.append(conformal_on_test(sets, human[40:], judge[40:], scale=[1, 2, 3, 4, 5]).covered)
    assert np.mean(covered) >= 0.9 - 0.01  # 8,000 test labels: standard error .0034


# ---- pass mark and review band


def test_pass_mark_by_hand() -> None:
    """Scores 1-4, people pass 3 and 4 mostly; review is dear, so one mark: cut at 3 costs one false pass."""
    scores, passed = [1, 1, 2, 2, 3, 3, 4, 4], [0, 0, 0, 1, 1, 0, 1, 1]
    band = choose_band(scores, passed, costs=Costs(false_pass=1, false_fail=1, review=10))
    assert band.fail_below == band.pass_from
    assert band.cost == pytest.approx(2 / 8)
    cheap = choose_band(scores, passed, costs=Costs(false_pass=1, false_fail=1, review=0.1))
    assert (cheap.fail_below, cheap.pass_from) == (2.0, 4.0)  # 2 and 3 are unsure: four reviews at .1
    assert cheap.cost == pytest.approx(0.4 / 8)
    assert [cheap.decide(s) for s in (1, 2, 3, 4)] == ["fail", "review", "review", "pass"]


def test_false_passes_that_cost_much_move_the_mark_up() -> None:
    scores, passed = [1, 2, 3, 3, 3, 4], [0, 0, 1, 1, 0, 1]
    dear = choose_band(scores, passed, costs=Costs(false_pass=10, false_fail=1, review=100))
    assert dear.pass_from == 4.0


def test_band_on_test_counts_only_what_was_automated() -> None:
    band = choose_band([1, 2, 3, 4], [0, 1, 0, 1], costs=Costs(false_pass=1, false_fail=1, review=0.2))
    assert (band.fail_below, band.pass_from) == (2.0, 4.0)
    report = band_on_test(band, [1, 1, 2, 3, 4, 4], [0, 1, 1, 0, 1, 0], rng=rng())
    assert report.coverage.value == pytest.approx(4 / 6)
    assert report.agreement.value == pytest.approx(2 / 4)
    assert report.cost == pytest.approx((1 + 1 + 2 * 0.2) / 6)
    nothing = band_on_test(band, [2, 3], [1, 0], rng=rng())
    assert nothing.agreement.value is None
    with pytest.raises(TooFewLabels):
        choose_band([1, 2], [1, 1], costs=Costs(false_pass=1, false_fail=1, review=1))


# ---- guarded threshold


def test_guarded_threshold_needs_59_flawless_labels_at_five_percent() -> None:
    confidence = np.linspace(0.5, 1.0, 58)
    assert guarded_threshold(confidence, np.ones(58), allowed=0.05).threshold is None
    got = guarded_threshold(np.linspace(0.5, 1.0, 59), np.ones(59), allowed=0.05)
    assert got.threshold == 0.5
    assert got.upper == pytest.approx(1 - 0.05 ** (1 / 59))


def test_guarded_threshold_keeps_its_promise() -> None:
    """P(error | confidence c) = 1 - c, so above t the error is (1 - t) / 2: it exceeds .1 for t < .8."""
    random = rng(8)
    broken = 0
    for _ in range(300):
        c = random.uniform(0.5, 1.0, size=400)
        found = guarded_threshold(c, (random.random(400) < c).astype(float), allowed=0.1, delta=0.1)
        broken += found.threshold is not None and (1 - found.threshold) / 2 > 0.1
    assert broken / 300 <= 0.1 + 2 * math.sqrt(0.1 * 0.9 / 300)


# ---- label budget


@pytest.mark.parametrize(
    ("bar", "truth", "labels"),
    [(0.7, 0.85, 49), (0.7, 0.9, 28), (0.7, 0.95, 14), (0.7, 0.98, 9), (0.8, 0.85, 365), (0.8, 0.9, 82),
     (0.8, 0.95, 30), (0.8, 0.98, 22), (0.9, 0.95, 179), (0.9, 0.98, 61)],
)  # fmt: skip
def test_label_budget_of_the_evidence_is_reproduced(bar: float, truth: float, labels: int) -> None:
    assert labels_for_share(bar, truth).needed == labels
    assert power_of_share(labels, bar, truth) >= 0.8
    assert power_of_share(labels - 1, bar, truth) < 0.8


@pytest.mark.parametrize(("bar", "labels"), [(0.7, 9), (0.8, 14), (0.9, 29), (0.95, 59)])
def test_fewest_labels_without_an_error(bar: float, labels: int) -> None:
    assert labels_for_perfect(bar) == labels
    assert clopper_pearson_lower(labels, labels) >= bar > clopper_pearson_lower(labels - 1, labels - 1)


def test_power_of_the_budget_is_the_simulated_power() -> None:
    passed = rng(9).binomial(82, 0.9, size=4_000)
    simulated = np.mean([clopper_pearson_lower(int(k), 82) >= 0.8 for k in passed])
    assert power_of_share(82, 0.8, 0.9) == pytest.approx(simulated, abs=0.05)
    k = passing_count(82, 0.8)
    assert k is not None
    assert clopper_pearson_lower(k, 82) >= 0.8 > clopper_pearson_lower(k - 1, 82)


def test_label_budget_says_how_many_more_and_pays_for_clusters() -> None:
    got = more_labels_for_share(27, 30, 0.8)  # .9 observed, bound .76
    assert (got.needed, got.more) == (82, 52)
    assert labels_for_share(0.8, 0.9, design_effect=2.5).needed == 205
    assert more_labels_for_share(59, 59, 0.95).more == 0
    hopeless = more_labels_for_share(12, 28, 0.8)
    assert hopeless.needed is None
    assert "does not exceed" in (hopeless.reason or "")
    assert more_labels_for_share(0, 0, 0.8).needed is None


def test_labels_for_a_width_are_the_fewest() -> None:
    n = labels_for_width(0.9, 0.05).needed
    assert n is not None
    low, high = wilson(0.9 * n, n)
    assert (high - low) / 2 <= 0.05
    low, high = wilson(0.9 * (n - 1), n - 1)
    assert (high - low) / 2 > 0.05


def test_kappa_budget_grows_with_skew() -> None:
    even, skewed = labels_for_kappa(0.6, 0.8).needed, labels_for_kappa(0.6, 0.8, rate=0.1).needed
    assert (even, skewed) == (83, 239)
    with pytest.raises(StatisticsError, match="equal"):
        labels_for_kappa(0.6, 0.6)
