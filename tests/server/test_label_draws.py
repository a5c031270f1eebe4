"""The draw of what is labelled: every design draws each run with the chance that it records."""

from __future__ import annotations

import numpy as np
import pytest

from judge.errors import UsageError
from judge.store.label_draw import Known, draw, proportional, unsureness

KNOWN = {f"r{k:02d}": Known(score=k % 5 / 4, spread=0.5 if k % 7 == 0 else 0.0) for k in range(30)}


@pytest.mark.parametrize("order", ["random", "stratified", "uncertainty"])
def test_weighted_by_the_recorded_chances_the_estimate_is_unbiased(order: str) -> None:
    """Horvitz-Thompson total of a quantity that depends on the score, over 3000 draws of 12 from 30."""
    value = {id: 1.0 + 3 * (known.score or 0) for id, known in KNOWN.items()}
    truth = sum(value.values())  # 30 + 3 * 6 * (0 + 1/4 + 1/2 + 3/4 + 1) = 75
    assert truth == 75.0
    rng = np.random.default_rng(5)
    totals, counts = [], dict.fromkeys(KNOWN, 0)
    chances: dict[str, float] = {}
    for _ in range(3000):
        drawn = draw(KNOWN, 12, order, rng)  # type: ignore[arg-type]
        assert len(drawn) == 12
        totals.append(sum(value[one.id] / one.probability for one in drawn))
        for one in drawn:
            counts[one.id] += 1
            chances[one.id] = one.probability
    assert np.mean(totals) == pytest.approx(truth, abs=4 * np.std(totals) / np.sqrt(3000) + 1e-9)
    for id, chance in chances.items():
        # four standard errors of a share of 3000, and a little for thirty looks
        assert counts[id] / 3000 == pytest.approx(chance, abs=0.045), id


def test_chances_in_proportion_never_exceed_one_and_sum_to_the_draw() -> None:
    # 10 : 1 : 1 : 1 with three drawn: the first is certain, the other two places are shared by three
    assert proportional([10, 1, 1, 1], 3) == pytest.approx([1, 2 / 3, 2 / 3, 2 / 3])
    assert proportional([1, 1], 2) == pytest.approx([1, 1])


def test_a_judge_that_said_nothing_is_most_unsure_and_nobody_is_left_out() -> None:
    assert unsureness(Known()) == 1.0
    assert unsureness(Known(score=0.5)) == 1.0
    assert unsureness(Known(score=1.0)) == 0.25
    assert unsureness(Known(score=1.0, spread=1.0)) == 1.0


def test_the_order_depends_on_the_seed_alone() -> None:
    first, again = (draw(KNOWN, 10, "uncertainty", np.random.default_rng(3)) for _ in range(2))
    assert first == again
    assert first != draw(KNOWN, 10, "uncertainty", np.random.default_rng(4))


def test_a_stratified_draw_reaches_every_score_or_says_that_it_cannot() -> None:
    drawn = draw(KNOWN, 5, "stratified", np.random.default_rng(0))
    assert {KNOWN[one.id].score for one in drawn} == {0.0, 0.25, 0.5, 0.75, 1.0}
    with pytest.raises(UsageError, match="leaves some without a label"):
        draw(KNOWN, 4, "stratified", np.random.default_rng(0))
