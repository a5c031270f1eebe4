"""Statistics over items drawn by unequal chances: against scikit-learn, by hand, and by drawing again and again."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from judge.calibration.confusion import binary_agreement
from judge.calibration.inclusion import effective, relative, unevenness
from judge.calibration.kappa import agreement_coefficient
from judge.calibration.proportions import share
from judge.calibration.resampling import WEIGHTED
from judge.errors import StatisticsError
from judge.store.label_draw import proportional


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_equal_weights_change_nothing() -> None:
    flags = rng().random(30) < 0.8
    human = (rng(1).random(30) < 0.6).astype(float)
    tasks = [i // 3 for i in range(30)]
    for groups in (None, tasks):
        assert share(flags, groups=groups, weights=[4.0] * 30, rng=rng()) == share(flags, groups=groups, rng=rng())
        weighted = binary_agreement(human, flags, groups=groups, weights=[4.0] * 30, rng=rng())
        assert weighted == binary_agreement(human, flags, groups=groups, rng=rng())


def test_a_share_by_hand() -> None:
    found = share([1, 0, 1, 1, np.nan], weights=[10, 5, 2.5, 2.5, 100], rng=rng())
    assert found.value == pytest.approx(0.75)  # 15 of 20
    assert found.n == 4
    assert found.method.endswith(WEIGHTED)
    assert found.lower is not None
    assert found.upper is not None
    assert found.lower < 0.75 < found.upper


def test_weighted_kappas_are_those_of_scikit_learn() -> None:
    human, judge = rng(1).integers(1, 6, 60), rng(2).integers(1, 6, 60)
    judge = np.where(rng(3).random(60) < 0.6, human, judge)
    weights = rng(4).uniform(1, 10, 60)
    for distances, theirs in (("unweighted", None), ("linear", "linear"), ("quadratic", "quadratic")):
        found = agreement_coefficient(
            human.tolist(),
            judge.tolist(),
            domain=[1, 2, 3, 4, 5],
            weights=distances,  # type: ignore[arg-type]
            item_weights=weights,
            rng=rng(),
        )
        assert found.value == pytest.approx(cohen_kappa_score(human, judge, weights=theirs, sample_weight=weights))
        assert found.method.endswith(WEIGHTED)


def test_a_missing_rating_takes_its_weight_with_it() -> None:
    human, judge, weights = [1.0, 0.0, 1.0, 0.0, None], [1.0, 0.0, 0.0, 0.0, 1.0], [1.0, 2.0, 3.0, 4.0, 50.0]
    found = agreement_coefficient(human, judge, domain=[0.0, 1.0], item_weights=weights, rng=rng())
    assert found.value == pytest.approx(cohen_kappa_score(human[:4], judge[:4], sample_weight=weights[:4]))


def test_unequal_weights_are_less_evidence() -> None:
    flags, tasks = np.ones(60), [i // 3 for i in range(60)]
    weights = np.where(np.arange(60) % 6 < 3, 9.0, 1.0)  # every second task weighs nine times as much
    for groups in (None, tasks):
        all_right = share(flags, groups=groups, weights=weights, rng=rng())
        plain = share(flags, groups=groups, rng=rng())
        assert all_right.value == 1.0
        assert all_right.lower is not None
        assert plain.lower is not None
        assert all_right.lower < plain.lower - 0.01
    assert effective(weights) == pytest.approx(300**2 / (30 * 81 + 30))
    assert unevenness(weights, np.asarray(tasks)) == pytest.approx(20 / (100**2 / (10 * 81 + 10) * 1.0), rel=1e-9)


@pytest.mark.parametrize("weights", [[1.0, 0.0, 2.0], [1.0, -1.0, 2.0], [1.0, np.nan, 2.0], [1.0, 2.0]])
def test_weights_that_are_none_are_refused(weights: list[float]) -> None:
    with pytest.raises(StatisticsError, match="weight"):
        relative(weights, np.ones(3, dtype=bool))


@pytest.mark.parametrize("seldom", [False, True])
def test_drawn_again_and_again_the_estimate_is_unbiased_and_its_bound_trusts_no_more_than_it_says(seldom: bool) -> None:
    """Errors among the runs that are drawn often (uncertain ones), or all among those that are drawn seldom."""
    draw = rng(11)
    size, n, times = 900, 150, 300
    doubt = draw.uniform(0.05, 1.0, size)
    wrong = draw.random(size) < (np.where(doubt < 0.4, 0.2, 0.0) if seldom else 0.35 * doubt)
    chances = proportional(doubt.tolist(), n)
    truth = 1 - wrong.mean()
    weighted, plain, above, held = [], [], 0, 0
    for _ in range(times):
        here = draw.random(size) < chances
        right = (~wrong[here]).astype(float)
        found = share(right, weights=1 / chances[here], rng=draw, draws=400)
        assert found.value is not None
        assert found.lower is not None
        assert found.low is not None
        assert found.high is not None
        weighted.append(found.value)
        plain.append(right.mean())
        above += found.lower > truth
        held += found.low <= truth <= found.high
    error = np.std(weighted) / np.sqrt(times)
    assert abs(np.mean(weighted) - truth) < 4 * error + 0.003  # a ratio of sums is biased by less than this
    assert abs(np.mean(plain) - truth) > 0.03
    assert above / times <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / times)
    assert held / times >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / times)
