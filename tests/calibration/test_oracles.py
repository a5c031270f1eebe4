"""Our statistics against scikit-learn, scipy and statsmodels on random data: ties, gaps, one class, weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, cohen_kappa_score, confusion_matrix, f1_score, roc_auc_score
from statsmodels.stats.contingency_tables import SquareTable
from statsmodels.stats.contingency_tables import mcnemar as sm_mcnemar
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from judge.calibration.alpha import krippendorff_alpha
from judge.calibration.calibrated_score import isotonic
from judge.calibration.confusion import binary_agreement
from judge.calibration.discrimination import auroc
from judge.calibration.icc import cronbach_alpha, icc
from judge.calibration.kappa import agreement_coefficient, cohen_kappa
from judge.calibration.multirater import agreement_of_many
from judge.calibration.paired import benjamini_yekutieli, holm, marginal_shift, mcnemar
from judge.calibration.probability_scores import brier
from judge.calibration.proportions import clopper_pearson, wilson
from judge.calibration.rank_correlation import kendall_w, rank_agreement, rank_statistic
from judge.calibration.resampling import bootstrap, bounded
from judge.calibration.table import coefficient, cohen_errors, count_table

SEEDS = range(6)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def ratings(seed: int, n: int = 60, levels: int = 5) -> tuple[np.ndarray, np.ndarray]:
    random = rng(seed)
    human = random.integers(levels, size=n)
    judge = np.clip(human + random.integers(-1, 2, size=n) * (random.random(n) < 0.6), 0, levels - 1)
    return human, judge


@pytest.mark.parametrize("weights", ["unweighted", "linear", "quadratic"])
@pytest.mark.parametrize("seed", SEEDS)
def test_kappa_equals_scikit_learn(seed: int, weights: str) -> None:
    human, judge = ratings(seed)
    judge[judge == 2] = 3  # the judge never uses the middle category: the declared domain still has it
    want = cohen_kappa_score(human, judge, labels=range(5), weights=None if weights == "unweighted" else weights)
    got = cohen_kappa(human.tolist(), judge.tolist(), domain=range(5), weights=weights, rng=rng())  # type: ignore[arg-type]
    assert got.value == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("weights", ["unweighted", "linear", "quadratic"])
@pytest.mark.parametrize("seed", SEEDS)
def test_large_sample_errors_equal_statsmodels(seed: int, weights: str) -> None:
    table = count_table(*ratings(seed, n=200), 5)
    names = {"unweighted": None, "linear": "linear", "quadratic": "quadratic"}
    want = cohens_kappa(table, wt=names[weights])
    ours = cohen_errors(table, weights)  # type: ignore[arg-type]
    assert ours == pytest.approx((want.std_kappa, want.std_kappa0), abs=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_fleiss_equals_statsmodels(seed: int) -> None:
    codes = rng(seed).integers(4, size=(5, 40))
    counts = np.stack([(codes == k).sum(0) for k in range(4)], axis=1)
    for kind, method in (("fleiss", "fleiss"), ("uniform", "randolph")):
        got = agreement_of_many(codes.tolist(), domain=range(4), kind=kind, rng=rng())  # type: ignore[arg-type]
        assert got.value == pytest.approx(fleiss_kappa(counts, method=method), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_two_raters_of_many_equal_the_two_rater_coefficients(seed: int) -> None:
    human, judge = ratings(seed)
    for many, two in (("conger", "cohen"), ("fleiss", "scott"), ("gwet", "gwet"), ("uniform", "uniform")):
        for weights in ("unweighted", "quadratic"):
            a = agreement_of_many(
                [human.tolist(), judge.tolist()], domain=range(5), kind=many, weights=weights, rng=rng()
            )  # type: ignore[arg-type]
            b = agreement_coefficient(
                human.tolist(), judge.tolist(), domain=range(5), kind=two, weights=weights, rng=rng()
            )  # type: ignore[arg-type]
            assert a.value == pytest.approx(b.value, abs=1e-12), (many, weights)


def alpha_by_definition(data: list[list[float | None]], level: str) -> float:
    """Alpha from its definition over pairs of values, without matrices: slow, and independent of ours."""
    units = [[row[u] for row in data if row[u] is not None] for u in range(len(data[0]))]
    units = [unit for unit in units if len(unit) >= 2]
    pool = [value for unit in units for value in unit]
    n = len(pool)
    count = {value: pool.count(value) for value in set(pool)}

    def delta(c: float, k: float) -> float:
        if level == "nominal":
            return float(c != k)
        if level == "interval":
            return (c - k) ** 2
        if level == "ratio":
            return ((c - k) / (c + k)) ** 2 if c + k else 0.0
        low, high = min(c, k), max(c, k)
        between = sum(number for value, number in count.items() if low <= value <= high)
        return float((between - (count[c] + count[k]) / 2) ** 2)

    observed = sum(
        delta(unit[i], unit[j]) / (len(unit) - 1)
        for unit in units
        for i in range(len(unit))
        for j in range(len(unit))
        if i != j
    )
    expected = sum(delta(pool[i], pool[j]) for i in range(n) for j in range(n) if i != j)
    return 1 - (observed / n) / (expected / (n * (n - 1)))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("seed", SEEDS)
def test_alpha_equals_its_definition_with_gaps(seed: int, level: str) -> None:
    random = rng(seed)
    human, judge = ratings(seed, n=25)
    third = random.integers(5, size=25)
    data = [[None if random.random() < 0.25 else float(value + 1) for value in row] for row in (human, judge, third)]
    got = krippendorff_alpha(data, level=level, domain=[1, 2, 3, 4, 5], rng=rng())  # type: ignore[arg-type]
    assert got.value == pytest.approx(alpha_by_definition(data, level), abs=1e-12)


@pytest.mark.parametrize("kind", ["tau_b", "spearman", "somers_d"])
@pytest.mark.parametrize("distinct", [4, 1_000])
@pytest.mark.parametrize("seed", SEEDS)
def test_rank_statistics_equal_scipy(seed: int, distinct: int, kind: str) -> None:
    random = rng(seed)
    x = random.integers(distinct, size=80).astype(float)
    y = np.round(x + random.normal(0, distinct / 3, size=80))
    want = {
        "tau_b": stats.kendalltau(x, y).statistic,
        "spearman": stats.spearmanr(x, y).statistic,
        "somers_d": stats.somersd(x, y).statistic,
    }[kind]
    assert rank_agreement(x, y, kind=kind, rng=rng()).value == pytest.approx(want, abs=1e-12)  # type: ignore[arg-type]


def test_table_and_pairwise_paths_give_the_same_statistic() -> None:
    random = rng(3)
    x, y = random.integers(20, size=(2, 200)).astype(float)
    fine = {kind: rank_agreement(x, y, kind=kind, rng=rng()).value for kind in ("tau_b", "somers_d", "spearman")}  # type: ignore[arg-type]
    levels, coarse = np.unique(x), np.unique(y)
    assert max(len(levels), len(coarse)) > 12  # so the above went pair by pair
    from judge.calibration.rank_correlation import table_rank_statistic

    table = count_table(np.searchsorted(levels, x), np.searchsorted(coarse, y), max(len(levels), len(coarse)))
    for kind, value in fine.items():
        assert float(table_rank_statistic(table[None], kind)[0]) == pytest.approx(value, abs=1e-12)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", SEEDS)
def test_kendall_w_equals_friedman(seed: int) -> None:
    scores = rng(seed).integers(4, size=(15, 4))
    want = stats.friedmanchisquare(*scores)  # rows are treatments here, raters the blocks
    got = kendall_w(scores)
    assert got.chi2 == pytest.approx(want.statistic, abs=1e-9)
    assert got.w == pytest.approx(want.statistic / (4 * 14), abs=1e-9)
    mean = np.mean([stats.spearmanr(scores[:, i], scores[:, j]).statistic for i in range(4) for j in range(i)])
    # the identity with the mean rank correlation is exact without ties only
    distinct = rng(seed).permuted(np.tile(np.arange(15), (4, 1)), axis=1).T
    exact = np.mean([stats.spearmanr(distinct[:, i], distinct[:, j]).statistic for i in range(4) for j in range(i)])
    assert kendall_w(distinct).mean_spearman == pytest.approx(exact, abs=1e-12)
    assert got.mean_spearman == pytest.approx(mean, abs=0.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_area_under_the_curve_equals_scikit_learn_with_ties(seed: int) -> None:
    random = rng(seed)
    passed = random.integers(2, size=70)
    scores = np.round(passed + random.normal(0, 1, 70), 1)
    assert auroc(passed, scores, rng=rng()).value == pytest.approx(roc_auc_score(passed, scores), abs=1e-12)
    probability = np.round(random.random(70), 1)
    found = brier(passed, probability)
    assert found.score == pytest.approx(brier_score_loss(passed, probability), abs=1e-12)
    parts = (found.reliability or 0) - (found.resolution or 0) + (found.uncertainty or 0)
    assert parts == pytest.approx(found.score, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_isotonic_equals_scikit_learn(seed: int) -> None:
    random = rng(seed)
    values, weights = random.integers(5, size=40).astype(float), random.integers(1, 5, size=40).astype(float)
    want = IsotonicRegression().fit_transform(np.arange(40), values, sample_weight=weights)
    assert isotonic(values, weights) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 20), (20, 20), (3, 17), (81, 263)])
def test_intervals_of_a_share_equal_statsmodels(successes: int, n: int) -> None:
    assert wilson(successes, n) == pytest.approx(proportion_confint(successes, n, method="wilson"), abs=1e-12)
    assert clopper_pearson(successes, n) == pytest.approx(proportion_confint(successes, n, method="beta"), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_paired_tests_equal_statsmodels(seed: int) -> None:
    random = rng(seed)
    table = random.integers(1, 30, size=(4, 4))
    want, got = SquareTable(table, shift_zeros=False), marginal_shift(table)
    stuart, bhapkar = want.homogeneity(method="stuart_maxwell"), want.homogeneity(method="bhapkar")
    assert (got.stuart_maxwell, got.stuart_maxwell_p) == pytest.approx((stuart.statistic, stuart.pvalue), abs=1e-9)
    assert (got.bhapkar, got.bhapkar_p) == pytest.approx((bhapkar.statistic, bhapkar.pvalue), abs=1e-9)
    assert got.bowker == pytest.approx(want.symmetry().statistic, abs=1e-9)
    small = random.integers(0, 12, size=(2, 2))
    assert mcnemar(small).p == pytest.approx(sm_mcnemar(small, exact=True).pvalue, abs=1e-12)
    p = random.random(9)
    assert holm(p.tolist()) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-12)
    assert benjamini_yekutieli(p.tolist()) == pytest.approx(multipletests(p, method="fdr_by")[1], abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_binary_rates_equal_scikit_learn(seed: int) -> None:
    random = rng(seed)
    human = random.integers(2, size=50)
    judge = np.where(random.random(50) < 0.8, human, 1 - human)
    got = binary_agreement(human, judge, rng=rng())
    (fail_fail, fail_pass), (pass_fail, pass_pass) = confusion_matrix(human, judge, labels=[0, 1])
    assert (got.confusion.fail_fail, got.confusion.pass_pass) == (fail_fail, pass_pass)
    assert got.tpr.value == pytest.approx(pass_pass / (pass_pass + pass_fail))
    assert got.tnr.value == pytest.approx(fail_fail / (fail_fail + fail_pass))
    assert got.f1.value == pytest.approx(f1_score(human, judge), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_icc_equals_analysis_of_variance(seed: int) -> None:
    """ICC(C,k) is Cronbach's alpha, and ICC(1,1) follows from scipy's one-way F: F = MSB / MSW."""
    random = rng(seed)
    scores = random.normal(size=(20, 1)) + 0.7 * random.normal(size=(20, 4)) + random.normal(size=4)
    f = stats.f_oneway(*scores).statistic
    assert icc(scores, form="1,1", rng=rng()).value == pytest.approx((f - 1) / (f + 3), abs=1e-10)
    assert icc(scores, form="C,k", rng=rng()).value == pytest.approx(cronbach_alpha(scores).value, abs=1e-10)


@pytest.mark.parametrize("kind", ["kappa", "tau_b"])
def test_vectorised_bootstrap_equals_a_loop_over_the_library(kind: str) -> None:
    human, judge = ratings(4, n=150)
    random = rng(8)
    picks = random.integers(150, size=(1_500, 150))
    if kind == "kappa":
        looped = [cohen_kappa_score(human[p], judge[p], weights="quadratic", labels=range(5)) for p in picks]
        from judge.calibration.kappa import pair_statistic

        statistic = pair_statistic(human, judge, np.arange(150), 5, 5, lambda t: coefficient(t, "cohen", "quadratic"))
    else:
        looped = [stats.kendalltau(human[p], judge[p]).statistic for p in picks]
        statistic = rank_statistic(human.astype(float), judge.astype(float), np.arange(150), "tau_b")
    got = bootstrap(statistic, n=150, rng=rng(1), resamples=10_000)
    # standard error of a .025 quantile over 1,500 draws is about .07 sd, so .25 sd is over three of them
    assert (got.low, got.high) == pytest.approx(np.quantile(looped, [0.025, 0.975]), abs=0.25 * np.std(looped))


@pytest.mark.parametrize("seed", SEEDS)
def test_jackknife_equals_leaving_each_cluster_out_by_hand(seed: int) -> None:
    from judge.calibration.kappa import pair_statistic
    from judge.calibration.resampling import leave_one_out

    human, judge = ratings(seed, n=40, levels=3)
    cluster = np.arange(40) // 4
    statistic = pair_statistic(human, judge, cluster, 3, 3, coefficient)
    values, counts = leave_one_out(statistic)
    by_hand = [cohen_kappa_score(human[cluster != g], judge[cluster != g], labels=range(3)) for g in range(10)]
    assert sorted(np.repeat(values, counts.astype(int))) == pytest.approx(sorted(by_hand), abs=1e-12)


def test_posterior_of_independent_pairs_is_the_dirichlet_posterior() -> None:
    """With each item its own cluster and c near 1, bounds follow numpy's own Dirichlet draws."""
    from judge.calibration.kappa import pair_statistic
    from judge.calibration.resampling import posterior_values

    cells = np.asarray([30, 4, 6, 60])
    code = np.repeat(np.arange(4), cells)
    statistic = pair_statistic(code // 2, code % 2, np.arange(100), 2, 2, coefficient)
    ours = posterior_values(statistic, draws=40_000, spread=1.0, rng=rng(1))
    direct = coefficient(rng(2).dirichlet(cells + 0.25, size=40_000).reshape(-1, 2, 2))
    assert np.quantile(ours, [0.05, 0.5, 0.95]) == pytest.approx(np.quantile(direct, [0.05, 0.5, 0.95]), abs=0.006)
    assert bounded(statistic, n=100, rng=rng(3)).lower == pytest.approx(np.quantile(direct, 0.05), abs=0.03)
