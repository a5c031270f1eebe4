"""One joined data set → one report, with every degenerate case named and no absent number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from calibration_parts import examined, joined, pairs, said

from judge.calibration.evidence import measured_claims, more_labels
from judge.calibration.examine import Beside
from judge.calibration.pass_mark import Costs
from judge.types.rubric import RangeScale

FIVE = RangeScale(min=1, max=5, step=1)
# 40 passed runs of which 38 pass, 20 failed runs of which 15 are caught.
MIXED = [(1.0, 1.0)] * 38 + [(0.0, 1.0)] * 2 + [(0.0, 0.0)] * 15 + [(1.0, 0.0)] * 5


def test_the_rates_of_a_binary_judge_by_hand() -> None:
    report = examined(pairs(MIXED))
    assert report.statistics["tpr"].value == pytest.approx(38 / 40)
    assert report.statistics["tnr"].value == pytest.approx(15 / 20)
    assert report.statistics["agreement"].value == pytest.approx(53 / 60)
    # chance: 40/60 · 43/60 + 20/60 · 17/60 = .57222; (.88333 - .57222) / (1 - .57222) = .72727
    assert report.statistics["kappa"].value == pytest.approx(0.72727, abs=1e-5)
    # shift: (5 - 2) / 60
    assert report.statistics["leniency"].value == pytest.approx(3 / 60)
    assert report.label_counts == {"failed": 20, "passed": 40}
    assert report.confusion is not None
    assert report.confusion.counts == ((15, 5), (2, 38))
    assert "75 %" in report.sentences[0]
    assert "do not use it to find failures" in report.sentences[0]


def test_a_failed_verdict_is_wrong_in_every_rate_so_breaking_the_judge_raises_none() -> None:
    whole = examined(pairs(MIXED)).statistics
    rows = [(None, label) if verdict != label else (verdict, label) for verdict, label in MIXED]
    broken = examined(pairs(rows))
    assert broken.failures == {"truncated": 7}
    for name in ("tpr", "tnr", "agreement", "kappa"):
        assert broken.statistics[name].value == pytest.approx(whole[name].value), name
    assert broken.statistics["parse_failures"].value == pytest.approx(7 / 60)
    assert any("7 of 60 verdicts have no score" in sentence for sentence in broken.sentences)


def test_a_failed_verdict_on_an_ordinal_scale_counts_as_far_off_as_can_be() -> None:
    rows = [(float(v), float(v)) for v in (1, 2, 3, 4, 5)] * 6
    gone = [(None, 5.0), *rows[1:]]
    far = [(1.0, 5.0), *rows[1:]]
    assert examined(pairs(gone, FIVE)).statistics["kappa_quadratic"].value == pytest.approx(
        examined(pairs(far, FIVE)).statistics["kappa_quadratic"].value
    )


def test_labels_of_one_class_leave_the_other_rate_unknown() -> None:
    report = examined(pairs([(1.0, 1.0)] * 12))
    assert report.statistics["tnr"].value is None
    assert report.statistics["tnr"].reason
    assert report.statistics["kappa"].value is None
    assert "No run was failed by people" in report.sentences[0]
    assert measured_claims(report)["tnr"].value is None


def test_a_constant_judge_is_called_one_and_has_no_agreement_beyond_chance() -> None:
    report = examined(pairs([(1.0, 1.0)] * 30 + [(1.0, 0.0)] * 10))
    assert report.statistics["kappa"].value == pytest.approx(0.0)
    assert report.statistics["tnr"].value == 0.0
    assert report.health is not None
    assert report.health.constant
    assert any("It gives every run the same score" in sentence for sentence in report.sentences)
    assert any("no more than the 75 %" in sentence for sentence in report.sentences)


def test_a_judge_without_a_single_score_gives_a_report_all_the_same() -> None:
    report = examined(pairs([(None, 1.0), (None, 0.0), (None, 1.0)]))
    assert report.statistics["tpr"].value == 0.0
    assert report.statistics["parse_failures"].value == 1.0
    assert report.health is None


def test_an_ordinal_scale_with_a_cut_has_both_kinds_of_numbers_and_without_one_no_rates() -> None:
    rows = [(float(v), float(label)) for v, label in [(1, 1), (2, 1), (3, 3), (4, 5), (5, 4), (5, 5)] * 5]
    cut = examined(pairs(rows, FIVE), cut=4.0)
    assert cut.label_counts == {"failed": 15, "passed": 15}
    assert cut.statistics["tpr"].value == 1.0
    assert cut.statistics["kappa_quadratic"].value is not None
    # exact levels agree in 3 of 6; pass and fail agree in all 6
    assert cut.statistics["agreement"].value == pytest.approx(0.5)
    assert cut.statistics["pass_fail_agreement"].value == 1.0
    assert cut.baselines["always the most common label"] == {"agreement": pytest.approx(1 / 3)}
    assert cut.baselines["always pass"]["pass_fail_agreement"] == pytest.approx(0.5)
    assert cut.levels is not None
    assert sum(map(sum, cut.levels.counts)) == 30
    plain = examined(pairs(rows, FIVE))
    assert plain.cut is None
    assert not {"tpr", "tnr", "kappa"} & set(plain.statistics)
    assert {"tau_b", "spearman", "somers_d", "ccc", "icc", "kappa_quadratic"} <= set(plain.statistics)
    assert "labels_passed" not in measured_claims(plain)
    assert plain.pass_rate is None


def three_raters(people: int) -> list[tuple[str, list[float]]]:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 60)
    names = ["ann", "bob", "cas"][:people]
    return [(name, np.where(rng.random(60) < 0.1, 1 - truth, truth).astype(float).tolist()) for name in names]


@pytest.mark.parametrize("people", [1, 2, 3])
def test_two_raters_give_a_ceiling_and_three_the_alternative_annotator_test(people: int) -> None:
    raters = three_raters(people)
    labels = [said(f"t{i}", v, name, rater_kind="human") for name, values in raters for i, v in enumerate(values)]
    verdicts = [said(f"t{i}", v) for i, v in enumerate(raters[0][1])]
    report = examined(joined(verdicts, labels))
    assert bool(report.ceiling) == (people >= 2)
    assert (report.alternative_annotator is not None) == (people >= 3)
    assert ("ceiling" in measured_claims(report)) == (people >= 2)
    assert report.raters == tuple(name for name, _ in raters)


def test_agents_are_ranked_and_one_agent_alone_is_not() -> None:
    verdicts = [said(f"{agent}{i}", float(agent == "x" or i % 2)) for agent in "xy" for i in range(20)]
    labels = [said(o.item, o.value, "people", group=o.item[1:], rater_kind="human") for o in verdicts]
    data = joined(verdicts, labels)
    agents = {item: item[0] for item in data.items}
    report = examined(data, beside=Beside(agents=agents))
    assert report.ranking is not None
    assert report.ranking.agents[0].agent == "x"
    assert report.ranking.top_stays is not None
    assert measured_claims(report)["rank_stability"].value == report.ranking.top_stays
    assert examined(data, beside=Beside(agents=dict.fromkeys(agents, "x"))).ranking is None


def test_agents_with_the_same_mean_are_not_said_to_be_ranked() -> None:
    verdicts = [said(f"{agent}{i}", 1.0) for agent in "xy" for i in range(20)]
    labels = [said(o.item, float(i % 2), "people", group=o.item[1:]) for i, o in enumerate(verdicts)]
    sentences = examined(
        joined(verdicts, labels), beside=Beside(agents={o.item: o.item[0] for o in verdicts})
    ).sentences
    assert "It ranks no agent first: 2 of 2 agents have the same mean." in sentences


def test_a_small_slice_is_shown_with_a_warning() -> None:
    verdicts = [said(f"t{i}", 1.0) for i in range(30)]
    labels = [said(f"t{i}", 1.0, "people", slices={"tool": "rare" if i < 5 else "usual"}) for i in range(30)]
    parts = {part.value: part for part in examined(joined(verdicts, labels)).slices}
    assert parts["rare"].warning == "only 5 labels: read it as a hint"
    assert parts["usual"].warning == ""
    assert (parts["rare"].n, parts["usual"].n) == (5, 25)


def test_repeats_give_wobble_and_the_claim_needs_three_of_fifty_runs() -> None:
    def report(items: int, repeats: int) -> dict[str, object]:
        verdicts = [said(f"t{i}", float(i % 2), sample=k) for i in range(items) for k in range(repeats)]
        labels = [said(f"t{i}", float(i % 2), "people") for i in range(items)]
        found = examined(joined(verdicts, labels))
        assert found.wobble[0].found.flip_rate.value == 0.0
        return dict(measured_claims(found))

    assert "flip_rate" in report(50, 3)
    assert "flip_rate" not in report(49, 3)
    assert "flip_rate" not in report(50, 2)
    assert examined(pairs(MIXED)).wobble == ()


def test_two_orders_have_their_agreement_in_the_report() -> None:
    verdicts = [said(f"t{i}", 1.0, order="ab") for i in range(10)]
    verdicts += [said(f"t{i}", float(i > 2), order="ba") for i in range(10)]
    report = examined(joined(verdicts, [said(f"t{i}", 1.0, "people") for i in range(10)]))
    assert report.statistics["order_agreement"].value == pytest.approx(0.7)
    assert report.failures == {"the two orders disagree": 3}


def test_disagreements_stand_worst_first_with_what_each_side_said() -> None:
    rows = [(1.0, 5.0), (None, 4.0), (4.0, 5.0), (5.0, 5.0)]
    beside = Beside(reasons={"t0": "It looped."}, notes={"t0": "Fine."}, views={"t0": "[S1] hello"})
    found = examined(pairs(rows, FIVE), beside=beside).disagreements
    assert [d.item for d in found] == ["t1", "t0", "t2"]
    assert (found[1].reason, found[1].note, found[1].view) == ("It looped.", "Fine.", "[S1] hello")
    assert found[0].failure == "failed: truncated"


def test_a_metric_is_a_second_axis_and_a_constant_one_is_left_out() -> None:
    data = pairs(MIXED)
    redundant = {item: 0.0 if label else 3.0 for item, label in zip(data.items, data.labels, strict=True)}
    found = examined(data, beside=Beside(metrics={"redundant": redundant, "same": dict.fromkeys(data.items, 1.0)}))
    assert [m.metric for m in found.metrics] == ["redundant"]
    assert found.metrics[0].with_people.value == pytest.approx(-1.0)
    assert found.metrics[0].association.value is not None
    assert -1 < found.metrics[0].association.value < 0
    assert found.metrics[0].disagreements  # where the judge passes runs with redundant calls, and the other way


def test_a_reason_that_speaks_of_a_fault_at_the_top_of_the_scale_is_for_a_person() -> None:
    data = pairs([(1.0, 1.0), (1.0, 1.0), (0.0, 0.0)])
    reasons = {"t0": "It never asked for approval.", "t1": "No errors at all.", "t2": "Perfect run."}
    health = examined(data, beside=Beside(reasons=reasons)).health
    assert health is not None
    assert health.contradictions == ("t0", "t2")


def test_a_review_band_is_chosen_on_dev_and_reported_on_test() -> None:
    rows = [(float(v), float(v >= 3)) for v in (1, 2, 3, 4, 5)] * 10
    data = replace(pairs([(float(v >= 3), y) for v, y in rows]), scores=tuple(v for v, _ in rows), score_scale=FIVE)
    costs = Costs(false_pass=10, false_fail=2, review=1)
    report = examined(data, dev=data, costs=costs)
    assert report.automation is not None
    assert report.automation.on_test.coverage.value is not None
    assert examined(data, costs=costs).automation is None
    assert any("With the given costs" in sentence for sentence in report.sentences)


def test_the_pass_rate_is_corrected_only_where_the_design_is_declared() -> None:
    assert examined(pairs(MIXED), design="random").pass_rate.corrected.value is not None  # type: ignore[union-attr]
    for design, why in (("unknown", "is not declared"), ("constructed", "a sample of no population")):
        rate = examined(pairs(MIXED), design=design).pass_rate
        assert rate is not None
        assert rate.corrected.value is None
        assert why in (rate.corrected.reason or "")


def test_more_labels_are_asked_for_by_the_claim_and_more_for_fewer_labels() -> None:
    few = examined(pairs([(1.0, 1.0)] * 5 + [(0.0, 0.0)] * 3))
    asked = more_labels(few, measured_claims(few), "default", ())
    assert (asked["labels_passed"], asked["labels_failed"]) == (25, 27)
    assert asked["kappa"] > 7
    assert asked["tnr"] > 8
    many = examined(pairs([(1.0, 1.0)] * 200 + [(0.0, 0.0)] * 200))
    assert more_labels(many, measured_claims(many), "default", ()) == {}


def test_the_same_data_and_seed_give_the_same_report() -> None:
    assert examined(pairs(MIXED)) == examined(pairs(MIXED))
