"""The edges that every statistic meets: no data, one class, no variation, one task, gaps, odd labels."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.calibration.alpha import krippendorff_alpha
from judge.calibration.ceiling import ceiling
from judge.calibration.concordance import concordance_correlation, leniency
from judge.calibration.confusion import binary_agreement
from judge.calibration.correction import pass_rate, rogan_gladen
from judge.calibration.discrimination import auroc
from judge.calibration.icc import cronbach_alpha, icc
from judge.calibration.kappa import agreement_coefficient, cohen_kappa, pair_statistic
from judge.calibration.multirater import agreement_of_many
from judge.calibration.proportions import share, wilson
from judge.calibration.rank_correlation import kendall_w, rank_agreement
from judge.calibration.ratings import encode, ordered_domain
from judge.calibration.resampling import bootstrap
from judge.calibration.table import coefficient
from judge.errors import LabelError, StatisticsError
from judge.types.estimate import Statistic

Rule = Callable[..., Statistic]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _alpha(level: str) -> Rule:
    def run(a: Sequence[float], b: Sequence[float], groups: Any = None) -> Statistic:
        return krippendorff_alpha([a, b], level=level, domain=[0, 1, 2], groups=groups, rng=rng())  # type: ignore[arg-type]

    return run


def _pair(kind: str, weights: str = "unweighted") -> Rule:
    def run(a: Sequence[float], b: Sequence[float], groups: Any = None) -> Statistic:
        return agreement_coefficient(a, b, domain=[0, 1, 2], kind=kind, weights=weights, groups=groups, rng=rng())  # type: ignore[arg-type]

    return run


def _many(kind: str) -> Rule:
    def run(a: Sequence[float], b: Sequence[float], groups: Any = None) -> Statistic:
        return agreement_of_many([a, b], domain=[0, 1, 2], kind=kind, groups=groups, rng=rng())  # type: ignore[arg-type]

    return run


def _rank(kind: str) -> Rule:
    return lambda a, b, groups=None: rank_agreement(a, b, kind=kind, groups=groups, rng=rng())  # type: ignore[arg-type]


def _icc(form: str) -> Rule:
    def run(a: Sequence[float], b: Sequence[float], groups: Any = None) -> Statistic:
        return icc(np.column_stack([a, b]), form=form, groups=groups, rng=rng())  # type: ignore[arg-type]

    return run


CHANCE_CORRECTED: dict[str, Rule] = {
    "cohen": _pair("cohen"),
    "linear": _pair("cohen", "linear"),
    "quadratic": _pair("cohen", "quadratic"),
    "scott": _pair("scott"),
    "gwet": _pair("gwet"),
    "gwet quadratic": _pair("gwet", "quadratic"),
    "alpha nominal": _alpha("nominal"),
    "alpha ordinal": _alpha("ordinal"),
    "alpha interval": _alpha("interval"),
    "alpha ratio": _alpha("ratio"),
    "fleiss": _many("fleiss"),
    "conger": _many("conger"),
    "gwet of many": _many("gwet"),
}
SCORES: dict[str, Rule] = {
    "tau_b": _rank("tau_b"),
    "spearman": _rank("spearman"),
    "somers_d": _rank("somers_d"),
    "icc 1,1": _icc("1,1"),
    "icc A,1": _icc("A,1"),
    "icc C,1": _icc("C,1"),
    "ccc": lambda a, b, groups=None: concordance_correlation(a, b, groups=groups, rng=rng()),
}
EVERY = CHANCE_CORRECTED | SCORES


@pytest.mark.parametrize("name", EVERY)
def test_no_item_gives_null_with_a_reason(name: str) -> None:
    got = EVERY[name]([], [])
    assert got.value is None
    assert got.reason
    assert got.n == 0


@pytest.mark.parametrize("name", EVERY)
def test_one_item_has_no_interval(name: str) -> None:
    got = EVERY[name]([1], [2])
    assert got.lower is None
    assert got.reason


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("pairs", [([0, 1], [0, 1]), ([0, 1], [1, 0]), ([0, 1], [1, 1]), ([2, 2], [1, 1])])
def test_two_items_never_show_agreement(name: str, pairs: tuple[list[float], list[float]]) -> None:
    got = EVERY[name](*pairs)
    assert got.lower is None or got.lower < 0.5


@pytest.mark.parametrize("name", EVERY)
def test_both_sides_constant_and_equal_is_undefined(name: str) -> None:
    got = EVERY[name]([1] * 6, [1] * 6)
    assert got.value is None
    assert got.low is None
    assert got.reason


@pytest.mark.parametrize("name", CHANCE_CORRECTED)
def test_both_sides_constant_and_different_is_no_agreement(name: str) -> None:
    got = CHANCE_CORRECTED[name]([0] * 6, [2] * 6)
    assert got.value is not None  # two classes are seen and told apart: defined, and not above chance
    assert got.value <= 0


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("side", [0, 1])
def test_one_constant_side_ranks_nothing(name: str, side: int) -> None:
    pair = [[0, 1, 2, 1, 0, 2], [1] * 6]
    got = SCORES[name](pair[side], pair[1 - side])
    if name != "icc 1,1":  # raters are exchangeable there, so a constant one is a coincidence of its items
        assert got.value is None or got.value <= 1e-12
    if name in ("tau_b", "spearman", "somers_d"):
        assert got.reason


@pytest.mark.parametrize("name", EVERY)
def test_perfect_agreement_is_one_and_never_certain(name: str) -> None:
    labels = [0] * 10 + [1] * 10 + [2] * 10
    got = EVERY[name](labels, labels)
    assert got.value == pytest.approx(1.0)
    # a bound below 1, or none with the reason: never [1, 1]
    assert (got.lower is None and got.reason) or (got.lower is not None and 0.5 < got.lower < 0.99)


@pytest.mark.parametrize("name", EVERY)
def test_one_task_has_no_interval(name: str) -> None:
    got = EVERY[name]([0, 1, 2, 0, 1, 2], [0, 1, 2, 1, 1, 2], ["t"] * 6)
    assert got.value is not None
    assert got.clusters == 1
    assert got.lower is None
    assert got.reason is not None
    assert "one cluster" in got.reason


@pytest.mark.parametrize("name", EVERY)
def test_a_task_for_each_item_is_the_same_as_no_tasks(name: str) -> None:
    a, b = [0, 1, 2, 0, 1, 2, 2, 0], [0, 1, 2, 1, 1, 2, 1, 0]
    assert EVERY[name](a, b, list("abcdefgh")) == EVERY[name](a, b)


@pytest.mark.parametrize("name", EVERY)
def test_missing_ratings_drop_the_pair(name: str) -> None:
    a, b = [0, 1, 2, 0, 1, 2, 2, 0], [0, 1, 2, 1, 1, 2, 1, 0]
    whole = EVERY[name](a, b)
    gaps = EVERY[name]([*a, float("nan"), 1.0], [*b, 1.0, float("nan")])
    if name == "gwet of many":
        # here chance agreement is taken over all ratings, single ones included (Gwet 2014)
        assert gaps.value is not None
    elif name not in ("fleiss", "conger"):
        assert gaps.value == pytest.approx(whole.value)
        assert gaps.n == whole.n


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_order_of_items_changes_nothing(name: str, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=4, max_size=25))
    shuffled = data.draw(st.permutations(pairs))
    first = EVERY[name]([a for a, _ in pairs], [b for _, b in pairs])
    second = EVERY[name]([a for a, _ in shuffled], [b for _, b in shuffled])
    assert (first.value is None) == (second.value is None)
    if first.value is not None:
        assert first.value == pytest.approx(second.value, abs=1e-9)


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_every_answer_is_json_with_ends_in_order(name: str, data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=20))
    groups = [data.draw(st.integers(0, 4)) for _ in pairs]
    got = EVERY[name]([a for a, _ in pairs], [b for _, b in pairs], groups)
    json.dumps(got.to_json(), allow_nan=False)
    if got.value is None:
        assert got.reason
    if got.low is not None and got.high is not None and got.value is not None:
        assert got.low <= got.value <= got.high
        assert got.lower is not None
        assert got.lower >= got.low - 0.05  # the one-sided bound is the less extreme one


@pytest.mark.parametrize("name", ["cohen", "scott", "gwet", "alpha nominal", "fleiss"])
def test_renaming_nominal_classes_changes_nothing(name: str) -> None:
    a, b = [0, 1, 2, 0, 1, 2, 2, 0, 1], [0, 1, 2, 1, 1, 2, 1, 0, 0]
    other = {0: 2, 1: 0, 2: 1}
    renamed = EVERY[name]([other[x] for x in a], [other[x] for x in b])
    assert renamed.value == pytest.approx(EVERY[name](a, b).value, abs=1e-12)


def test_declared_but_unused_middle_category_counts_for_weighted_kappa() -> None:
    a, b = ["low", "low", "high", "high", "low"], ["low", "high", "high", "high", "low"]
    full = cohen_kappa(a, b, domain=["low", "middle", "high"], weights="linear", rng=rng())
    # with two used classes the weighted and the plain kappa agree: 1 - (1/5) / (12/25) ... p_e = (3·2 + 2·3) / 25
    assert full.value == pytest.approx(1 - (1 / 5) / ((3 * 3 + 2 * 2) / 25))
    one_step = cohen_kappa(["low", "middle"], ["middle", "middle"], domain=["low", "middle", "high"], rng=rng())
    assert one_step.n == 2


def test_labels_are_compared_after_one_normalisation() -> None:
    assert encode(["Pass ", "pass", " FAIL"], ["fail", "pass"]).tolist() == [1, 1, 0]
    assert encode(["1", 1, 1.0, True, " 2 "], [1, 2]).tolist() == [0, 0, 0, 0, 1]
    assert encode([None, float("nan"), "", "nan"], ["fail", "pass"]).tolist() == [-1, -1, -1, -1]


def test_labels_outside_the_domain_are_listed() -> None:
    with pytest.raises(LabelError, match=r"'great'.*'medium'"):
        encode(["low", "medium", "great"], ["low", "high"])


def test_words_without_a_declared_order_are_refused() -> None:
    with pytest.raises(LabelError, match="without a declared order"):
        ordered_domain(["low", "medium", "high"])
    assert ordered_domain([3, "1", None, 2.0]) == (1.0, 2.0, 3.0)


def test_alpha_levels_that_need_numbers_refuse_words() -> None:
    with pytest.raises(LabelError, match="needs numbers"):
        krippendorff_alpha([["a"], ["b"]], level="interval", domain=["a", "b"], rng=rng())
    with pytest.raises(LabelError, match="from zero up"):
        krippendorff_alpha([[1], [1]], level="ratio", domain=[-1, 1], rng=rng())


@pytest.mark.parametrize(
    ("human", "judge", "null"),
    [
        ([1, 1, 1, 1], [1, 1, 0, 1], {"tnr", "youden"}),
        ([0, 0, 0], [0, 1, 0], {"tpr", "youden"}),
        ([1, 0, 1], [1, 1, 1], {"npv"}),
        ([1, 0, 1], [0, 0, 0], {"precision"}),
        ([0, 0], [0, 0], {"tpr", "precision", "f1", "youden"}),
        ([], [], {"tpr", "tnr", "precision", "npv", "f1", "youden", "agreement"}),
    ],
)
def test_binary_rates_of_an_absent_class_are_null(human: list[int], judge: list[int], null: set[str]) -> None:
    got = binary_agreement(human, judge, rng=rng())
    for name in ("tpr", "tnr", "precision", "npv", "f1", "youden", "agreement"):
        assert (getattr(got, name).value is None) == (name in null), name


def test_always_passing_judge_is_shown_beside_its_baseline() -> None:
    got = binary_agreement([1] * 18 + [0] * 2, [1] * 20, rng=rng())
    assert got.agreement.value == 0.9  # looks fine,
    assert got.always_pass.value == 0.9  # and is what saying "pass" to everything gives
    assert got.tnr.value == 0.0
    assert got.majority.value == 0.9


def test_binary_values_other_than_zero_and_one_are_refused() -> None:
    with pytest.raises(StatisticsError, match="pass mark"):
        binary_agreement([1, 3], [1, 0], rng=rng())


def test_shares_of_clusters_that_all_agree_are_evidence_of_the_clusters_alone() -> None:
    flags, tasks = [1.0] * 100, [f"task {i // 10}" for i in range(100)]
    alone, grouped = share(flags, rng=rng()), share(flags, groups=tasks, rng=rng())
    assert alone.lower == pytest.approx(0.05 ** (1 / 100))  # 0.9705, as if all hundred were independent
    assert grouped.lower is not None
    assert grouped.lower < 0.05 ** (1 / 10)  # 0.741: no more than ten independent ones would show
    assert grouped.clusters == 10


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_wilson_stays_inside_and_open_without_variation(n: int) -> None:
    low, high = wilson(n, n)
    assert high == 1.0
    assert low == pytest.approx(n / (n + 1.959964**2), abs=1e-6)  # closed form at all successes
    assert wilson(0, n) == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_undefined_resamples_are_counted_and_withhold_the_interval() -> None:
    human = judge = np.asarray([1] * 9 + [0])
    statistic = pair_statistic(human, judge, np.arange(10), 2, 2, coefficient)
    got = bootstrap(statistic, n=10, rng=rng(), resamples=1_000)
    assert got.value == 1.0
    assert got.low is None
    assert got.detail is not None
    # a resample misses the only failure with chance .9^10 = .349
    assert got.detail["undefined_resamples"] == pytest.approx(349, abs=60)
    assert got == bootstrap(statistic, n=10, rng=rng(), resamples=1_000)


def test_bootstrap_of_no_variation_has_no_interval_of_no_width() -> None:
    human = judge = np.repeat([0, 1], 30)
    statistic = pair_statistic(human, judge, np.arange(60), 2, 2, coefficient)
    got = bootstrap(statistic, n=60, rng=rng(), resamples=500)
    assert got.low is None
    assert got.reason is not None
    assert "no variation" in got.reason


def test_bounds_repeat_with_the_seed_and_move_little_without() -> None:
    human, judge = [0, 1] * 40, [0, 1] * 36 + [1, 1] * 4
    bounds = [cohen_kappa(human, judge, domain=[0, 1], rng=rng(seed)).lower for seed in (1, 1, 2)]
    assert bounds[0] == bounds[1]
    assert bounds[0] == pytest.approx(bounds[2], abs=0.02)


def test_area_under_the_curve_of_one_class_is_null_and_of_perfect_order_has_no_bound() -> None:
    assert auroc([1, 1], [0.1, 0.2], rng=rng()).reason == "one class is absent from the labels"
    perfect = auroc([0, 0, 1, 1], [1, 2, 3, 4], rng=rng())
    assert perfect.value == 1.0
    assert perfect.lower is None
    assert perfect.reason


def test_leniency_of_equal_scores_keeps_a_width() -> None:
    got = leniency([1, 2, 3, 4] * 10, [1, 2, 3, 4] * 10, scale=(1, 5), rng=rng())
    assert got.value == 0.0
    assert got.lower is not None
    assert -0.1 < got.lower < 0 < got.upper < 0.1  # type: ignore[operator]
    with pytest.raises(StatisticsError, match="on a scale"):
        leniency([1], [9], scale=(1, 5), rng=rng())


def test_leniency_has_the_sign_of_the_judge() -> None:
    # the judge gives one step of four more: a quarter of the scale
    assert leniency([1, 2, 3], [2, 3, 4], scale=(1, 5), rng=rng()).value == pytest.approx(0.25)


@pytest.mark.parametrize("scores", [[], [[1.0, 2.0]], [[1.0], [2.0]], [[2.0, 2.0], [2.0, 2.0]]])
def test_reliability_without_variation_is_null(scores: list[list[float]]) -> None:
    matrix = np.asarray(scores, dtype=float) if scores else np.zeros((0, 2))
    assert icc(matrix, rng=rng()).value is None
    assert cronbach_alpha(matrix).value is None


def test_concordance_of_ties_alone_is_null() -> None:
    assert kendall_w([[1, 1], [1, 1]]).w is None
    assert kendall_w([[1, 1], [1, 1]]).reason
    assert kendall_w([[1, 2], [2, 1]]).w == pytest.approx(0.0)


def test_ceiling_needs_two_people_and_the_judge() -> None:
    got = ceiling([["pass", None], [None, "fail"]], ["pass", "fail"], domain=["fail", "pass"], rng=rng())
    assert got.items == 0
    assert got.difference.value is None
    assert got.difference.reason
    assert got.labels_usable is None


def test_statistic_refuses_absence_as_a_number() -> None:
    with pytest.raises(ValueError, match="NaN"):
        Statistic(value=math.nan, n=1)
    with pytest.raises(ValueError, match="needs a reason"):
        Statistic(value=None, n=1)
    with pytest.raises(ValueError, match="upside down"):
        Statistic(value=0.5, low=0.6, high=0.4, n=1)


# ---- the failure cases of public trackers


def test_one_class_leaves_every_coefficient_null(case: Callable[[str], dict[str, Any]]) -> None:
    given_case = case("G-D21")
    human, judge = given_case["input"]["human"], given_case["input"]["judge"]
    exact = given_case["right"]["exact"]
    for name in ("cohen", "scott", "gwet"):
        got = agreement_coefficient(human, judge, domain=["fail", "pass"], kind=name, rng=rng())  # type: ignore[arg-type]
        assert got.to_json()["value"] is exact["kappa"]
        assert got.n == exact["n"]
        assert "only one class observed" in (got.reason or "")
    for other in (
        krippendorff_alpha([human, judge], level="nominal", domain=["fail", "pass"], rng=rng()),
        agreement_of_many([human, judge], domain=["fail", "pass"], kind="fleiss", rng=rng()),
        agreement_coefficient(human, judge, domain=["fail", "pass"], weights="quadratic", rng=rng()),
    ):
        assert other.value is None
        assert "only one class observed" in (other.reason or "")
    flags = [float(a == b) for a, b in zip(human, judge, strict=True)]
    assert share(flags, rng=rng()).value == exact["agreement"]


def test_ordinal_words_rank_by_the_declared_order(case: Callable[[str], dict[str, Any]]) -> None:
    given_case = case("G-D22")
    data, exact = given_case["input"], given_case["right"]["exact"]
    domain = data["order"]
    weighted = cohen_kappa(data["human"], data["judge"], domain=domain, weights=data["weights"], rng=rng())
    assert weighted.value == pytest.approx(exact["quadratic_weighted_kappa"], abs=1e-12)
    plain = cohen_kappa(data["human"], data["judge"], domain=domain, rng=rng())
    assert plain.value == pytest.approx(exact["unweighted_kappa"], abs=1e-9)
    with pytest.raises(LabelError, match="declared order"):
        ordered_domain(data["human"], data["judge"])


def test_no_variation_keeps_an_interval(case: Callable[[str], dict[str, Any]]) -> None:
    given_case = case("G-D23")
    data, exact = given_case["input"], given_case["right"]["exact"]
    assert wilson(sum(data["pass"]), len(data["pass"])) == pytest.approx(exact["wilson_95"], abs=1e-6)
    pair = data["kappa_case"]
    human, judge = np.asarray(pair["human"]), np.asarray(pair["judge"])
    statistic = pair_statistic(human, judge, np.arange(len(human)), 2, 2, coefficient)
    got = bootstrap(statistic, n=len(human), rng=rng(), resamples=pair["resamples"])
    assert got.detail is not None
    assert got.detail["undefined_resamples"] > 0
    assert got.low is None
    assert got.reason
    sound = cohen_kappa(pair["human"], pair["judge"], domain=[0, 1], rng=rng())
    assert sound.lower is not None
    assert sound.lower < 0.6 < 1.0 == sound.value


def test_corrected_rates_are_clipped_together_or_refused(case: Callable[[str], dict[str, Any]]) -> None:
    given_case = case("G-D24")
    exact = given_case["right"]["exact"]
    got = [rogan_gladen(one["p"], one["tpr"], one["tnr"]) for one in given_case["input"]["cases"]]
    for one, value, raw, clipped in zip(got, exact["estimates"], exact["raw"], exact["clipped"], strict=True):
        assert one.value == (None if value is None else pytest.approx(value))
        assert one.raw == (None if raw is None else pytest.approx(raw, abs=1e-6))
        assert one.clipped is clipped
        assert (one.reason is None) == (value is not None)


@pytest.mark.parametrize(("p", "tpr", "tnr"), [(0.97, 0.85, 0.75), (0.05, 0.9, 0.8), (0.5, 0.9, 0.9), (1.0, 0.7, 0.6)])
def test_interval_of_a_clipped_rate_stays_in_order(p: float, tpr: float, tnr: float) -> None:
    """Labels drawn by class with exactly these rates, and an unlabelled rest with exactly this judge rate."""
    labels = [1.0] * 100 + [0.0] * 100 + [math.nan] * 100
    verdicts = np.concatenate([np.arange(100) < 100 * tpr, np.arange(100) >= 100 * tnr, np.arange(100) < 100 * p])
    got = pass_rate(verdicts.astype(float), labels, design="class_balanced", rng=rng()).corrected
    assert got.value is not None
    assert got.low is not None
    assert got.high is not None
    assert 0 <= got.low <= got.value <= got.high <= 1
    raw = (p + tnr - 1) / (tpr + tnr - 1)
    assert got.detail is not None
    assert got.detail["raw"] == pytest.approx(raw)
    assert got.detail["clipped"] is (not 0 <= raw <= 1)


@pytest.mark.parametrize(("tpr", "tnr"), [(0.5, 0.5), (0.3, 0.4), (0.55, 0.5)])
def test_judge_not_shown_to_beat_chance_gets_no_corrected_rate(tpr: float, tnr: float) -> None:
    labels = [1.0] * 100 + [0.0] * 100 + [math.nan] * 100
    verdicts = np.concatenate([np.arange(100) < 100 * tpr, np.arange(100) >= 100 * tnr, np.arange(100) < 50])
    got = pass_rate(verdicts.astype(float), labels, design="class_balanced", rng=rng()).corrected
    assert got.value is None
    assert "not shown to beat chance" in (got.reason or "")
