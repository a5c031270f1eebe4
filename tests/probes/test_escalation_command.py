"""`judge escalate`: a threshold chosen on dev labels and checked on test labels; a cheap judge that may go first."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judge.cli.main import run as command
from judge.config import Settings, load_settings
from judge.engine.escalation_plan import plan_escalation
from judge.engine.facade import score_many
from judge.engine.guarantee import EscalationPlan, save_plan
from judge.errors import TooFewLabels, UsageError
from judge.types import Label, Rubric, Trajectory
from judge.types.calibration_set import CalibrationSet, SetSettings
from judge.types.escalation import EscalationRules

RUBRIC = Rubric.model_validate({
    "id": "own", "version": "1", "title": "Own", "intent": "To test.",
    "criteria": [{"id": "ok", "question": "Did it pass?", "scale": "binary", "evidence": "none"}],
})  # fmt: skip
GRADED = Rubric.model_validate({
    "id": "graded", "version": "1", "title": "Graded", "intent": "To test.",
    "criteria": [{"id": "how", "question": "How well?", "scale": {"min": 1, "max": 5, "step": 1}, "evidence": "none"}],
})  # fmt: skip
PASS, FAIL, SPLIT_PASS = ["pass"] * 3, ["fail"] * 3, ["pass", "fail", "pass"]

Group = tuple[int, list[Any], int]
"""How many runs, the judge's votes on each, and what people say: 1 passed, 0 failed."""


def labelled(dev: list[Group], test: list[Group], **criterion: Any) -> tuple[CalibrationSet, dict[str, list[Any]]]:
    """A set with one run a task, and the script of a judge."""
    runs, labels, script = [], [], {}
    for split, groups in (("dev", dev), ("test", test)):
        for count, votes, label in groups:
            for _ in range(count):
                name = f"{split}-{len(runs)}"
                script[name] = votes
                runs.append(
                    Trajectory.from_json({
                        "schema": "judge.trajectory/1", "id": name, "group": name, "source": {"format": "native"},
                        "steps": [{"index": 1, "kind": "final", "text": name}],
                    })
                )  # fmt: skip
                labels.append(
                    Label.model_validate({
                        "trajectory_id": name, "criterion": criterion.get("id", "ok"), "value": label, "rater": "p",
                        "rater_kind": "human", "split": split,
                    })
                )  # fmt: skip
    asked = {"id": "ok", "rubric": "own", "scale": "binary", **criterion}
    settings = SetSettings.model_validate({
        "name": "mine", "title": "Mine", "criteria": [asked], "sampling_design": "random", "licence": "Apache-2.0",
    })  # fmt: skip
    return CalibrationSet(
        name="mine", settings=settings, trajectories=tuple(runs), labels=tuple(labels), card="A set."
    ), script


Make = Callable[[dict[str, list[Any]]], Settings]


@pytest.fixture
def judge_of(tmp_path: Path) -> Make:
    def make(script: dict[str, list[Any]]) -> Settings:
        path = tmp_path / "judge.json"
        path.write_text(json.dumps({"trajectories": script}), encoding="utf-8")
        flags = {"judge": f"fake/{path}", "samples": 3, "cache_dir": tmp_path / "cache"}
        return load_settings(flags, environment={}, folder=tmp_path)

    return make


HALF: list[Group] = [(32, PASS, 1), (4, SPLIT_PASS, 1), (4, SPLIT_PASS, 0)]
"""32 clear verdicts, all right; 8 with two of three votes, half of them right."""


def test_the_threshold_is_chosen_on_dev_and_checked_on_test(judge_of: Make) -> None:
    test: list[Group] = [(64, PASS, 1), (8, SPLIT_PASS, 1), (8, SPLIT_PASS, 0)]
    chosen, script = labelled(HALF, test)
    plan = plan_escalation(chosen, settings=judge_of(script), rubric=RUBRIC)
    picked = plan.guarantee.chosen
    # From three of three votes: 0 wrong of 32, at most 1 - .05 ** (1 / 32) = .0894. From two of three: 4 wrong of 40,
    # which may be .2135 at 95 %.
    assert (picked.threshold, picked.coverage, picked.disagreement) == (1.0, 0.8, 0.0)
    assert picked.upper == pytest.approx(0.0894, abs=1e-4)
    assert (plan.dev_tasks, plan.test) == (40, 80)
    assert plan.guarantee.holds is True
    assert (plan.guarantee.coverage.value, plan.guarantee.agreement.value) == (0.8, 1.0)
    assert plan.guarantee.agreement.lower is not None
    assert 0.9 <= plan.guarantee.agreement.lower <= 0.05 ** (1 / 64)  # the exact bound of 64 right of 64 is .9543
    # Split votes are a reason of their own: 16 of the 80, half of them wrong.
    split = next(row for row in plan.reasons if row.reason == "split_votes")
    assert (split.n, split.wrong.value) == (16, 0.5)
    assert plan.sent_on.value is not None
    assert plan.sent_on.value >= 0.2
    assert plan.agreement.value == 1.0
    assert plan.holds


def test_a_promise_that_test_labels_break_is_refused_with_the_number(judge_of: Make, tmp_path: Path) -> None:
    chosen, script = labelled(HALF, [(20, PASS, 1), (20, PASS, 0)])
    settings = judge_of(script)
    plan = plan_escalation(chosen, settings=settings, rubric=RUBRIC)
    assert (plan.guarantee.agreement.value, plan.guarantee.holds, plan.holds) == (0.5, False, False)
    save_plan(tmp_path / "g.json", plan)
    rules = EscalationRules(to=("person",), guarantee=tmp_path / "g.json")
    with pytest.raises(UsageError, match=r"was not reached: on test the bound 0\.\d+ does not reach 0\.9"):
        list(score_many(chosen.trajectories[:1], RUBRIC, settings=settings, escalate=rules))


def test_the_guarantee_is_applied_to_the_judge_that_it_was_made_for(judge_of: Make, tmp_path: Path) -> None:
    chosen, script = labelled(HALF, [(64, PASS, 1), (16, SPLIT_PASS, 1)])
    settings = judge_of(script)
    path = tmp_path / "g.json"
    save_plan(path, plan_escalation(chosen, settings=settings, rubric=RUBRIC))
    assert EscalationPlan.model_validate_json(path.read_text(encoding="utf-8")).schema_ == "judge.escalation/1"
    rules = EscalationRules(to=("person",), guarantee=path, audit=1e-9)
    found = list(score_many(chosen.trajectories[31:34], RUBRIC, settings=settings, escalate=rules))
    assert [v.escalation.results[0].reasons if v.escalation else () for v in found] == [
        (), ("split_votes", "low_confidence"), ("split_votes", "low_confidence"),
    ]  # fmt: skip
    other = settings.model_copy(update={"samples": 1})
    with pytest.raises(UsageError, match="with another judge than that of this run"):
        list(score_many(chosen.trajectories[:1], RUBRIC, settings=other, escalate=rules))


def test_a_cheap_judge_goes_first_where_its_fails_are_right(judge_of: Make, tmp_path: Path) -> None:
    """60 fails, all right: at least .05 ** (1 / 60) = .951 of them; 20 passes, half of them wrong, go up."""
    chosen, script = labelled([(20, FAIL, 0), (10, PASS, 0)], [(40, FAIL, 0), (10, PASS, 1)])
    settings = judge_of(script)
    plan = plan_escalation(chosen, settings=settings, rubric=RUBRIC, cheap=True)
    assert plan.cascade is not None
    assert (plan.cascade.allowed, plan.cascade.precision.value, plan.cascade.precision.n) == (True, 1.0, 60)
    assert plan.cascade.saved == 60 / 80
    assert plan.holds
    save_plan(tmp_path / "g.json", plan)
    strong = tmp_path / "strong.json"
    passes = [name for name, votes in script.items() if votes == PASS]
    strong.write_text(json.dumps({"trajectories": dict.fromkeys(passes, FAIL)}), encoding="utf-8")
    rules = EscalationRules(to=(f"fake/{strong}",), mode="cheap_first", guarantee=tmp_path / "g.json", audit=1e-9)
    found = list(score_many(chosen.trajectories, RUBRIC, settings=settings, escalate=rules))
    assert {verdict.trajectory_id for verdict in found if verdict.escalation} == set(passes)
    assert {verdict.score for verdict in found} == {0.0}


def test_a_cheap_judge_whose_fails_are_not_right_is_refused_with_the_number(judge_of: Make, tmp_path: Path) -> None:
    """30 fails, 24 right: .8, which may be .65 or less; .9 is needed."""
    chosen, script = labelled([(10, FAIL, 0), (10, PASS, 1)], [(14, FAIL, 0), (6, FAIL, 1), (10, PASS, 1)])
    settings = judge_of(script)
    plan = plan_escalation(chosen, settings=settings, rubric=RUBRIC, cheap=True)
    assert plan.cascade is not None
    assert (plan.cascade.allowed, plan.cascade.precision.value, plan.cascade.saved) == (False, 0.8, None)
    save_plan(tmp_path / "g.json", plan)
    rules = EscalationRules(to=("fake/always-pass",), mode="cheap_first", guarantee=tmp_path / "g.json")
    with pytest.raises(
        UsageError, match=r"may not go first: of 30 runs that it failed, people failed 80\.0% too, at least \d\d\.\d%"
    ):
        list(score_many(chosen.trajectories[:1], RUBRIC, settings=settings, escalate=rules))


def test_a_score_passes_from_the_mark_of_the_set(judge_of: Make, tmp_path: Path) -> None:
    """4 and 5 pass here, so [4, 5, 4] is one side and [3, 4, 4] is two votes of three."""
    mark = {"id": "good", "rubric": "graded", "judged_by": "how", "pass_mark": 4}
    chosen, script = labelled(
        [(32, [4, 5, 4], 1), (4, [3, 4, 4], 0), (4, [3, 4, 4], 1)],
        [(64, [4, 5, 5], 1), (8, [3, 4, 4], 0), (8, [3, 4, 4], 1)],
        **mark,
    )
    settings = judge_of(script)
    plan = plan_escalation(chosen, settings=settings, rubric=GRADED)
    assert (plan.criterion, plan.pass_mark, plan.guarantee.chosen.threshold) == ("good", 4, 1.0)
    assert next(row.n for row in plan.reasons if row.reason == "split_votes") == 16
    save_plan(tmp_path / "g.json", plan)
    rules = EscalationRules(to=("person",), guarantee=tmp_path / "g.json", audit=1e-9)
    found = list(score_many(chosen.trajectories[31:33], GRADED, settings=settings, escalate=rules))
    assert [verdict.escalation is not None for verdict in found] == [False, True]


def test_one_run_a_task_chooses(judge_of: Make) -> None:
    chosen, script = labelled([(40, PASS, 1)], [(40, PASS, 1)])
    one_task = tuple(
        run.model_copy(update={"group": "same"}) if run.id.startswith("dev") else run for run in chosen.trajectories
    )
    chosen = chosen.model_copy(update={"trajectories": one_task})
    plan = plan_escalation(chosen, settings=judge_of(script), rubric=RUBRIC)
    assert plan.dev_tasks == 1
    assert plan.guarantee.chosen.threshold is None
    assert "1 labels, 29 needed" in plan.guarantee.reason


def test_a_set_that_cannot_choose_or_check_is_refused(judge_of: Make) -> None:
    chosen, script = labelled([], [(5, PASS, 1)])
    with pytest.raises(TooFewLabels, match="0 dev tasks and 5 test runs"):
        plan_escalation(chosen, settings=judge_of(script), rubric=RUBRIC)
    graded = {"id": "how", "rubric": "graded", "scale": {"min": 1, "max": 5, "step": 1}}
    chosen, script = labelled([(5, [4] * 3, 4)], [(5, [4] * 3, 4)], **graded)
    with pytest.raises(UsageError, match="'how' of mine does not say whether a run passed"):
        plan_escalation(chosen, settings=judge_of(script), rubric=GRADED)


def test_the_command_prints_and_writes_what_it_found(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUDGE_CACHE_DIR", str(tmp_path / "cache"))
    flags = ["escalate", "--set", "docs_search", "--judge", "rules/process", "--cheap-first", "--out", "g.json"]
    assert command(flags) == 1  # four dev tasks choose nothing, and 21 fails are fewer than the 29 that show .9
    shown = capsys.readouterr().out
    assert "4 labels, 29 needed without an error" in shown
    assert "may NOT go first" in shown
    assert command([*flags, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads((tmp_path / "g.json").read_text(encoding="utf-8"))
    assert document["cascade"]["allowed"] is False
    (tmp_path / "g.json").write_text("{}", encoding="utf-8")
    runs = tmp_path / "runs.jsonl"
    runs.write_text(json.dumps({"messages": [{"role": "user", "content": "hi"}]}) + "\n", encoding="utf-8")
    asked = ["score", str(runs), "--judge", "rules/process", "--escalate-to", "person"]
    assert command([*asked, "--escalate-guarantee", "g.json"]) == 2
    assert "is no guarantee" in capsys.readouterr().err
