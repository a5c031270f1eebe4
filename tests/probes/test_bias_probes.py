"""Each bias probe finds a defect that was dialled into a judge, the larger the more, and spares the innocent."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import numpy as np
import pytest
from refund_runs import refund
from scripted import Scripted

from judge.calibration.probes.biases import BAND, BIASES, SIGNED, WELL_KNOWN, WORDY, bias_pairs, well_known
from judge.calibration.probes.findings import bias_state, paired_change
from judge.calibration.probes.language import PARALLEL
from judge.calibration.probes.path_faults import FILLERS
from judge.calibration.probes.scale_use import (
    LENGTH_BAND,
    MIDDLE_BAND,
    USE_BAND,
    length_given_quality,
    pull_to_middle,
    use_of_scale,
)
from judge.config import Settings
from judge.engine.probing import ProbeRuns, planting, probe
from judge.types.probe import BiasRow, Mutation, Probed
from judge.types.request import Request
from judge.types.rubric import Criterion, RangeScale, Rubric
from judge.types.trajectory import Trajectory

JUDGE = "fake/vain"
DIALS = (0.0, 0.1, 0.25, 0.4)
MARKS = {
    "length": (WORDY[:40],),
    "filler_messages": (FILLERS[0],),
    "formatting": ("- **I refunded",),
    "language": tuple(one.closing for one in PARALLEL),
    "agent_name": tuple(SIGNED.format(name=name) for name in WELL_KNOWN),
    "self_preference": (SIGNED.format(name="vain"),),
}


def rubric_of(*criteria: str) -> Rubric:
    unit = RangeScale(min=0, max=1)
    asked = tuple(Criterion(id=name, question=f"How good is the {name}?", scale=unit) for name in criteria)
    return Rubric(id="test", version="1", title="Test", intent="Test.", criteria=asked)


def noise(name: str, sd: float) -> float:
    """Fixed for a run, as far as a name is random."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
    return float(np.random.default_rng(seed).normal(0, sd))


def row_of(settings: Settings, bias: str, dial: float, sd: float = 0.0) -> BiasRow:
    """What the probe says of a judge that adds `dial` where it sees the mark of one bias."""

    def opinion(request: Request) -> tuple[float, tuple[int, ...]]:
        text = "".join(request.segments)
        seen = any(mark in text for mark in MARKS[bias])
        return min(1.0, max(0.0, 0.5 + dial * seen + noise(request.subject.trajectory_id, sd))), ()

    runs = [Trajectory.from_json(refund(f"r{n}", f"task {n}")) for n in range(24)]
    made = planting(ProbeRuns(runs, "the test"), rubric_of("path"), settings=settings, judge=JUDGE, kinds=("bias",))
    report = probe(made, settings=settings, judge=Scripted(opinion, JUDGE))
    return next(row for row in report.biases if row.type == bias)


@pytest.mark.parametrize("bias", BIASES)
def test_a_dialled_defect_is_recovered_monotonically(settings: Settings, bias: str) -> None:
    rows = [row_of(settings, bias, dial) for dial in DIALS]
    found = [row.effect.value for row in rows]
    assert found == pytest.approx(DIALS)
    assert all(a < b for a, b in pairwise(found) if a is not None and b is not None)
    assert rows[0].state != "flagged"
    assert rows[-1].state == "flagged"


def test_the_other_way_round_is_flagged_as_well(settings: Settings) -> None:
    assert row_of(settings, "formatting", -0.4).state == "flagged"


def test_an_innocent_judge_that_wobbles_stays_unflagged(settings: Settings) -> None:
    assert {row_of(settings, bias, 0.0, sd=0.1).state for bias in BIASES} <= {"clear", "undecided"}


def test_an_order_of_criteria_that_counts_is_found(settings: Settings) -> None:
    """A judge that favours whatever is asked first: .9 against .3, so that the weighted mean moves."""
    rubric = rubric_of("path", "answer")
    heavy = rubric.model_copy(
        update={"criteria": (rubric.criteria[0].model_copy(update={"weight": 3.0}), rubric.criteria[1])}
    )

    class First(Scripted):
        async def complete(self, request: Request):  # type: ignore[no-untyped-def]
            import json

            from judge.types.request import Reply
            from judge.types.trajectory import Usage

            body = {
                name: {"reason": "Scripted.", "evidence": [], "score": 0.9 if place == 0 else 0.3}
                for place, name in enumerate(request.subject.criteria)
            }
            return Reply(text=json.dumps(body), model=self.name, usage=Usage(input_tokens=0, output_tokens=0))

    runs = [Trajectory.from_json(refund(f"r{n}", f"task {n}")) for n in range(24)]
    made = planting(ProbeRuns(runs, "the test"), heavy, settings=settings, judge=JUDGE, kinds=("bias",))
    report = probe(made, settings=settings, judge=First(lambda request: None, JUDGE))
    row = next(row for row in report.biases if row.type == "criteria_order")
    # forward (3 * .9 + .3) / 4 = .75, reverse (3 * .3 + .9) / 4 = .45
    assert row.effect.value == pytest.approx(-0.3)
    assert row.state == "flagged"


def pairs(rng: np.random.Generator, tasks: int, shift: float, sd: float) -> list[Probed]:
    mutation = Mutation(kind="bias", type="length", parent="p")
    out = []
    for task in range(tasks):
        before, after = np.clip(0.5 + rng.normal(0, sd, 2) + (0, shift), 0, 1)
        out.append(Probed(mutation=mutation, cluster=str(task), before=float(before), after=float(after)))
    return out


@pytest.mark.parametrize("shift", [0.0, BAND])
def test_innocent_judges_are_flagged_no_more_often_than_the_nominal_rate(shift: float) -> None:
    """Two-sided intervals at 95 %: at the very edge of the band 2.5 %, inside it less."""
    rng = np.random.default_rng(20261130)
    flagged = sum(
        bias_state(paired_change(pairs(rng, 24, shift, 0.15), rng), (-BAND, BAND)) == "flagged" for _ in range(200)
    )
    assert flagged <= 10  # of 200: 5 expected at most, 10 is the 98 % point of Binomial(200, .025)


def test_length_beyond_quality_is_found_and_quality_alone_is_not() -> None:
    rng = np.random.default_rng(7)
    n = 120
    quality = rng.integers(0, 5, n) / 4
    length = 2_000 * quality + rng.normal(0, 400, n)  # good runs are longer, and no judge is to blame for that
    groups = [str(k // 2) for k in range(n)]
    found = []
    for dial in (0.0, 0.4, 1.2):
        score = quality + dial * (length - 2_000 * quality) / 2_000 + rng.normal(0, 0.12, n)
        found.append(length_given_quality(score, length, quality, groups=groups, rng=rng))
    values = [one.value for one in found]
    assert all(a is not None and b is not None and a < b for a, b in pairwise(values))
    states = [bias_state(one, (-LENGTH_BAND, LENGTH_BAND)) for one in found]
    assert states[0] == "clear"
    assert states[-1] == "flagged"


def test_a_partial_correlation_matches_the_formula_of_pairwise_ones() -> None:
    """r(xy.z) = (r_xy - r_xz r_yz) / sqrt((1 - r_xz²)(1 - r_yz²)); ranks of five runs by hand."""
    score, length, quality = [1, 3, 2, 5, 4], [2, 1, 4, 3, 5], [1, 2, 3, 4, 5]
    # squared differences 14, 4, 4, so r = 1 - 6 d / 120 = .3, .8, .8; (.3 - .64) / .36 = -.9444
    got = length_given_quality(score, length, quality, rng=np.random.default_rng(0))
    assert got.value == pytest.approx(-0.34 / 0.36)


def test_a_pull_to_the_middle_is_found_and_monotone() -> None:
    rng = np.random.default_rng(11)
    quality = rng.integers(0, 5, 80) / 4
    groups = [str(k) for k in range(80)]
    found = [
        pull_to_middle(0.5 + (1 - dial) * (quality - 0.5), quality, groups=groups, rng=rng) for dial in (0.0, 0.3, 0.7)
    ]
    values = [one.value for one in found]
    assert all(a is not None and b is not None and a > b for a, b in pairwise(values))
    states = [bias_state(one, (-MIDDLE_BAND, MIDDLE_BAND)) for one in found]
    assert states[0] == "clear"
    assert states[-1] == "flagged"


def test_a_scale_that_is_used_in_part_is_found_wherever_the_part_lies() -> None:
    rng = np.random.default_rng(12)
    quality = rng.integers(0, 5, 80) / 4
    groups = [str(k) for k in range(80)]
    for end in (0.0, 0.5, 1.0):
        found = [use_of_scale(end + (1 - d) * (quality - end), quality, groups=groups, rng=rng) for d in (0, 0.3, 0.7)]
        # scores shrunk by d have a spread smaller by that share
        assert [one.value for one in found] == pytest.approx([-2 * d * quality.std() for d in (0, 0.3, 0.7)])
        assert bias_state(found[-1], (-USE_BAND, USE_BAND)) == "flagged"
    careful = use_of_scale(np.clip(quality + rng.normal(0, 0.15, 80), 0, 1), quality, groups=groups, rng=rng)
    assert bias_state(careful, (-USE_BAND, USE_BAND)) == "clear"
    assert use_of_scale(quality, np.full(80, 0.5), rng=rng).value is None


def test_a_spread_at_the_edge_of_the_band_is_flagged_no_more_often_than_the_nominal_rate() -> None:
    rng = np.random.default_rng(20261201)
    flagged = 0
    for _ in range(200):
        quality = rng.integers(0, 5, 60) / 4  # its standard deviation is sqrt(2) / 4
        shrunk = 0.5 + (1 - USE_BAND / 2 / (2**0.5 / 4)) * (quality - 0.5)
        flagged += bias_state(use_of_scale(shrunk, quality, rng=rng), (-USE_BAND, USE_BAND)) == "flagged"
    assert flagged <= 10  # as above


def test_both_sides_of_a_pair_say_the_same(run: Trajectory) -> None:
    others, plains = bias_pairs([run], judge=JUDGE)
    assert [one.mutation.type for one in others] == list(BIASES)
    assert {one.mutation.type for one in plains} == {"language", "agent_name", "self_preference"}
    parents = {run.id, *(one.trajectory.id for one in plains)}
    for one in others:
        assert one.mutation.parent in parents
        assert one.trajectory.final is not None
        assert "refunded 40 for INV-7" in one.trajectory.final


def test_a_judge_is_not_tried_with_its_own_name_where_names_are_at_stake() -> None:
    assert [well_known("vain", turn) for turn in range(4)] == ["GPT-5", "Claude", "Gemini", "GPT-5"]
    assert {well_known("claude-haiku-4-5", turn) for turn in range(6)} == {"GPT-5", "Gemini"}
