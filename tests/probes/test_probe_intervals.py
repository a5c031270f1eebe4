"""Intervals of probes count tasks: they agree with a bootstrap of whole tasks, and cover the truth as stated."""

from __future__ import annotations

import numpy as np
import pytest

from judge.calibration.probes.findings import attack_rate, fault_row
from judge.types.probe import Mutation, Probed

FAULT = Mutation(kind="fault", type="padding", parent="p", steps=(3,), outcome="survived")


def pairs(rng: np.random.Generator, tasks: int, runs: int, *, mean: float = 0.6, size: float = 2.0) -> list[Probed]:
    """Pairs of tasks that differ in how easily a fault is noticed: a share drawn from Beta(mean, size) for each."""
    out = []
    for task in range(tasks):
        chance = rng.beta(mean * size, (1 - mean) * size)
        for _ in range(runs):
            noticed = rng.random() < chance
            after = float(rng.choice([0.25, 0.5])) if noticed else 1.0
            probed = Probed(mutation=FAULT, cluster=str(task), before=1.0, after=after, passed_before=True)
            out.append(probed.model_copy(update={"passed_after": after >= 0.75, "cited": (3,) if noticed else ()}))
    return out


def by_bootstrap(probed: list[Probed], rng: np.random.Generator, draws: int = 4_000) -> dict[str, tuple[float, float]]:
    """Percentiles of the sensitivity and the fall when whole tasks are drawn anew."""
    tasks = sorted({p.cluster for p in probed})
    falls = [[(p.before or 0) - (p.after or 0) for p in probed if p.cluster == task] for task in tasks]
    sums = np.asarray([[sum(f > 0 for f in own), sum(own), len(own)] for own in falls])
    drawn = sums[rng.integers(len(tasks), size=(draws, len(tasks)))].sum(1)
    shares = drawn[:, :2] / drawn[:, 2:]
    low, high = np.percentile(shares, [2.5, 97.5], axis=0)
    return {"sensitivity": (low[0], high[0]), "fall": (low[1], high[1])}


def test_intervals_agree_with_a_bootstrap_of_whole_tasks() -> None:
    rng = np.random.default_rng(4)
    probed = pairs(rng, tasks=40, runs=5)
    row = fault_row("padding", probed, rng)
    plain = by_bootstrap(probed, rng)
    for name, found in (("sensitivity", row.sensitivity), ("fall", row.fall)):
        assert found.clusters == 40
        assert found.low is not None
        assert found.high is not None
        # never narrower by more than the noise of the bootstrap; wider by what 40 tasks cost
        width = plain[name][1] - plain[name][0]
        assert 0.95 < (found.high - found.low) / width < 1.35
        assert (found.low, found.high) == pytest.approx(plain[name], abs=0.05)


def test_pairs_of_one_task_count_as_one_witness_and_not_as_many() -> None:
    rng = np.random.default_rng(5)
    probed = pairs(rng, tasks=12, runs=10, size=0.5)  # a task is noticed nearly always or nearly never
    clustered = fault_row("padding", probed, rng).sensitivity
    apart = [p.model_copy(update={"cluster": str(n)}) for n, p in enumerate(probed)]
    single = fault_row("padding", apart, rng).sensitivity
    assert clustered.value == single.value
    wide = [one.high - one.low for one in (clustered, single) if one.high is not None and one.low is not None]
    assert wide[0] > 2 * wide[1]


@pytest.mark.parametrize(("mean", "size"), [(0.6, 2.0), (0.9, 4.0)])
def test_the_true_sensitivity_lies_in_the_interval_as_often_as_stated(mean: float, size: float) -> None:
    """In 200 simulated probings of 20 tasks; 183 is the 2 % point of Binomial(200, .95)."""
    rng = np.random.default_rng(6)
    inside = {"two-sided": 0, "bound": 0}
    for _ in range(200):
        found = fault_row("padding", pairs(rng, tasks=20, runs=3, mean=mean, size=size), rng).sensitivity
        assert found.low is not None
        assert found.high is not None
        assert found.lower is not None
        inside["two-sided"] += found.low <= mean <= found.high
        inside["bound"] += found.lower <= mean
    assert min(inside.values()) >= 183


def test_where_nothing_broke_the_interval_is_that_of_the_tasks() -> None:
    """0 of 60 in 20 tasks: about as far as 0 of 20 goes, where Clopper and Pearson give 1 - .05^(1/20) = .139."""
    held = [
        Probed(mutation=FAULT.model_copy(update={"kind": "attack"}), cluster=str(n % 20), before=0.25, after=0.25)
        for n in range(60)
    ]
    found = attack_rate(held, np.random.default_rng(0))
    assert found.value == 0.0
    assert found.upper is not None
    assert 0.139 <= found.upper < 0.25


def test_a_fall_is_never_said_to_reach_beyond_the_scale() -> None:
    """Three tasks that fall by 1, 1 and .7: Student's t with 2 degrees of freedom alone would go to 1.33."""
    falls = (1.0, 1.0, 0.7)
    probed = [Probed(mutation=FAULT, cluster=str(n), before=1.0, after=1 - fall) for n, fall in enumerate(falls)]
    found = fault_row("padding", probed, np.random.default_rng(0)).fall
    assert found.value == pytest.approx(0.9)
    assert (found.high, found.upper) == (1.0, 1.0)
    assert found.low is not None
    assert -1.0 <= found.low < 0.9
