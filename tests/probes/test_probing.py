"""Judges of known worth get the tables that they deserve: oracle, always the best, always the worst, no answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from refund_runs import refund
from scripted import Scripted

from judge.calibration.probes.null_answers import NULL_ANSWERS, null_runs
from judge.calibration.probes.report import probe_claims
from judge.calibration.sets import load_set
from judge.cli.main import run as command
from judge.config import Settings
from judge.engine.probing import Planting, ProbeRuns, planting, probe, runs_of_sets, runs_of_traces, spread
from judge.errors import UsageError
from judge.prompt import load_rubric, parse, render
from judge.report.probe import probe_text, sentences
from judge.types.calibration_set import RequiredClaim
from judge.types.probe import Mutant, Mutation, ProbeKind, ProbeReport
from judge.types.record import fingerprint
from judge.types.request import Reply, Request
from judge.types.trajectory import Trajectory

RUBRIC = load_rubric("process")


def runs_of(count: int) -> ProbeRuns:
    """Good runs of as many tasks."""
    return ProbeRuns([Trajectory.from_json(refund(f"r{n}", f"task {n}")) for n in range(count)], "the test")


def planted(count: int, settings: Settings, *kinds: ProbeKind) -> Planting:
    return planting(runs_of(count), RUBRIC, settings=settings, kinds=kinds)


def oracle(made: Planting) -> Scripted:
    """Reads the record of what was done: the top for a good run, the bottom with the right steps for a fault."""
    by_id: Mapping[str, Mutant] = {one.trajectory.id: one for one in made.mutants}
    weak = {run.id for run in made.weak}

    def opinion(request: Request) -> tuple[float, tuple[int, ...]]:
        one = by_id.get(request.subject.trajectory_id)
        if one is None:
            return (0.25 if request.subject.trajectory_id in weak else 1.0), ()
        if one.mutation.kind == "attack":
            return 0.25, ()
        return (1.0, ()) if one.mutation.kind == "bias" else (0.0, one.mutation.steps)

    return Scripted(opinion)


def always(share: float | None) -> Scripted:
    return Scripted(lambda request: None if share is None else (share, ()), name="fake/always")


def test_an_oracle_scores_1_everywhere(settings: Settings) -> None:
    made = planted(36, settings, "fault", "attack", "null", "bias")
    report = probe(made, settings=settings, judge=oracle(made))
    assert len(report.faults) == 17
    for row in (*report.faults, report.all_faults, report.silent, report.loud):
        assert row is not None
        assert (row.no_score, row.sensitivity.value, row.caught.value) == (0, 1.0, 1.0)
        assert (row.fall.value, row.localisation.value) == (1.0, 1.0)
    assert report.specificity is not None
    assert report.specificity.value == 1.0
    assert report.attack_rate is not None
    assert report.attack_rate.value == 0.0
    assert {row.broken for row in report.attacks} == {0}
    assert {row.state for row in report.biases} == {"clear"}
    assert report.decision == "certified"
    assert set(probe_claims(report)) == {
        *("implanted_faults", "specificity_on_parents", "attacks", "null_answers", "biases")
    }


def test_a_judge_that_flags_both_sides_detected_nothing(settings: Settings) -> None:
    made = planted(25, settings, "fault", "null")
    report = probe(made, settings=settings, judge=always(0.0))
    assert report.specificity is not None
    assert report.specificity.value == 0.0
    assert report.all_faults is not None
    assert report.all_faults.sensitivity.value == 0.0
    assert report.all_faults.caught.value is None  # no parent passed, so nothing was there to be caught
    assert report.decision == "refused"
    assert any("useless, not unsafe" in sentence for sentence in sentences(report))


def test_nothing_is_said_of_constant_answers_that_were_not_tried(settings: Settings) -> None:
    report = probe(planted(25, settings, "fault"), settings=settings, judge=always(0.0))
    assert report.null_rate is None
    (said,) = [sentence for sentence in sentences(report) if "useless" in sentence]
    assert "not unsafe" not in said
    assert "no constant answer was scored" in said


def test_a_judge_without_answers_is_neither_held_nor_broken(settings: Settings) -> None:
    made = planted(6, settings, "fault", "attack", "null")
    report = probe(made, settings=settings.model_copy(update={"retries": 0}), judge=always(None))
    assert {(row.held, row.broken, row.no_room) for row in report.attacks} == {(0, 0, 0)}
    assert {row.grader_errors for row in report.attacks} == {6}
    assert report.all_faults is not None
    assert report.all_faults.no_score == report.all_faults.planted == 6 * 17
    assert report.all_faults.sensitivity.value is None
    assert {row.no_score for row in report.nulls} == {6}
    assert report.decision == "undecided"
    assert {one.failure for one in report.probed} == {"unparsed"}


def test_a_judge_that_obeys_is_broken_and_one_error_counts_on_neither_side(settings: Settings) -> None:
    made = planted(8, settings, "attack")
    hit = {one.trajectory.id for one in made.mutants if one.mutation.type == "order"}
    dumb = min(hit)

    def opinion(request: Request) -> tuple[float, tuple[int, ...]] | None:
        name = request.subject.trajectory_id
        return None if name == dumb else (1.0 if name in hit else 0.25, ())

    report = probe(made, settings=settings.model_copy(update={"retries": 0}), judge=Scripted(opinion))
    row = next(row for row in report.attacks if row.type == "order")
    assert (row.held, row.broken, row.grader_errors, row.rate.value) == (0, 7, 1, 1.0)
    # 8 types on 8 runs without the control: 7 broken of 63 with two scores
    assert report.attack_rate is not None
    assert report.attack_rate.value == pytest.approx(7 / 63)
    text = probe_text(report)
    assert "Attacks that worked (one of each type" in text
    assert "Its score rose after attacks of 1 type: order." in text
    # each attack takes turns through four places and two strengths over the 8 runs; a plea stands in the answer alone
    tried = {row.type: (row.held + row.broken, row.broken) for row in report.attack_places}
    assert sum(broken for _, broken in tried.values()) == 2 * 7  # every attack has a place and a strength
    assert tried["mild"][0] + tried["strong"][0] == 63
    assert [tried[place][0] for place in ("first_result", "last_result", "message")].count(14) >= 2  # 7 types, twice
    assert tried["answer"][0] >= 14 + 8 - 1


def test_rises_are_counted_since_no_fault_is_a_reason_for_one(settings: Settings) -> None:
    """A judge that throws dice between two scores falls as often as it rises."""
    made = planted(12, settings, "fault")

    def opinion(request: Request) -> tuple[float, tuple[int, ...]]:
        high = int(fingerprint(request.subject.trajectory_id)[:8], 16) % 2
        return (1.0 if high else 0.75), ()

    report = probe(made, settings=settings, judge=Scripted(opinion))
    flips = [(p.before, p.after) for p in report.probed]
    assert report.all_faults is not None
    assert report.all_faults.rise is not None
    assert report.all_faults.rise.value == pytest.approx(flips.count((0.75, 1.0)) / len(flips))
    assert report.all_faults.sensitivity.value == pytest.approx(flips.count((1.0, 0.75)) / len(flips))
    assert any("about as many falls may be chance" in sentence for sentence in sentences(report))
    assert report.decision == "refused"


def test_faults_without_a_place_are_named(settings: Settings) -> None:
    run = Trajectory.from_json(refund())
    steps = [step for step in refund()["steps"] if step["kind"] != "approval"]
    renumbered = [{**step, "index": place} for place, step in enumerate(steps, 1)]
    renumbered[5]["call_index"] = 5
    bare = Trajectory.from_json({**run.to_json(), "steps": renumbered})
    made = planting(ProbeRuns([bare], "the test"), RUBRIC, settings=settings, kinds=("fault",))
    report = probe(made, settings=settings, judge=oracle(made))
    assert report.no_place == {"unapproved_action": 1, "self_approved_action": 1}
    assert "no run has a place for them: unapproved_action, self_approved_action." in probe_text(report)


def test_runs_with_the_highest_score_leave_no_room(settings: Settings) -> None:
    report = probe(planted(6, settings, "attack"), settings=settings, judge=always(1.0))
    assert {(row.held, row.no_room) for row in report.attacks} == {(0, 6)}
    assert report.decision == "undecided"


def test_a_rate_is_clustered_by_task(settings: Settings) -> None:
    """30 runs of 5 tasks tell as much as 5 runs where all agree: the bound is no tighter."""
    runs = [Trajectory.from_json(refund(f"r{n}", f"task {n % 5}")) for n in range(30)]
    made = planting(ProbeRuns(runs, "the test"), RUBRIC, settings=settings, kinds=("fault",))
    many = probe(made, settings=settings, judge=oracle(made)).all_faults
    few_made = planting(ProbeRuns(runs[:5], "the test"), RUBRIC, settings=settings, kinds=("fault",))
    few = probe(few_made, settings=settings, judge=oracle(few_made)).all_faults
    assert many is not None
    assert few is not None
    assert many.sensitivity.clusters == 5
    assert many.sensitivity.lower == pytest.approx(few.sensitivity.lower, abs=0.02)


def test_a_set_says_which_probe_claims_are_required(settings: Settings) -> None:
    what = runs_of(25)
    demanding = ProbeRuns(what.runs, "the test", required=(RequiredClaim(name="attacks", threshold=0.001),))
    made = planting(demanding, RUBRIC, settings=settings, kinds=("fault", "attack"))
    report = probe(made, settings=settings, judge=oracle(made))
    assert [claim.name for claim in report.claims if claim.required] == ["attacks"]
    assert report.decision == "undecided"  # 0 of 200 does not show a rate below 0.1 %


def test_labels_of_a_set_choose_good_and_weak_runs() -> None:
    what = runs_of_sets([load_set("refunds")], RUBRIC)
    assert what.pass_mark == 0.75  # 4 of 1 to 5
    assert sum(what.passed.values()) == 20
    assert set(what.quality) == {run.id for run in what.runs}


def test_a_limit_is_spread_over_tasks() -> None:
    runs = [Trajectory.from_json(refund(f"r{n}", f"task {n // 4}")) for n in range(12)]
    assert [run.id for run in spread(runs, 3)] == ["r0", "r4", "r8"]
    assert [run.id for run in spread(runs, 4)] == ["r0", "r1", "r4", "r8"]


def test_runs_with_one_id_are_told_apart_and_the_same_run_counts_once(settings: Settings) -> None:
    one, other = refund("r", "task 1"), refund("r", "task 2")
    other["steps"][-1]["text"] = other["final"] = "Refunded."
    runs = [Trajectory.from_json(data) for data in (one, other, one, other)]
    made = planting(ProbeRuns(runs, "the test"), RUBRIC, settings=settings, kinds=("fault", "bias"))
    assert [run.id for run in made.good] == ["r", "r#2"]
    ids = [run.id for run in made.runs()]
    assert len(ids) == len(made.good) + len(made.mutants) + len(made.sides)
    assert probe(made, settings=settings, judge=oracle(made)).parents == 2
    with pytest.raises(UsageError, match="have the id 'r', and labels go by ids"):
        planting(ProbeRuns(runs, "the test", passed={"r": True}), RUBRIC, settings=settings)


def test_a_trace_with_a_reward_below_1_is_no_good_run_and_one_to_attack(settings: Settings) -> None:
    given = [({"reward": 1.0}, "a"), ({"reward": 0}, "b"), ({}, "c"), ({"reward": False}, "d"), ({"reward": 0.5}, "a")]
    runs = [
        Trajectory.from_json(refund(name, f"task {n}") | {"labels": labels}) for n, (labels, name) in enumerate(given)
    ]
    runs[4] = runs[4].model_copy(update={"task": "Another one."})
    what = runs_of_traces(runs, "the test")
    assert what.passed == {"b": False, "a#2": False}
    made = planting(what, RUBRIC, settings=settings, kinds=("fault", "attack"))
    assert [run.id for run in made.good] == ["a", "c", "d"]
    assert [run.id for run in made.weak] == ["b", "a#2"]


def test_changed_runs_are_not_changed_again(settings: Settings) -> None:
    made = planted(1, settings, "fault")
    again = ProbeRuns([one.linked() for one in made.mutants], "the test")
    with pytest.raises(UsageError, match="17 of the runs of the test are changed ones"):
        planting(again, RUBRIC, settings=settings)


def test_runs_without_a_call_cannot_be_probed(settings: Settings) -> None:
    run = Trajectory.from_json(refund())
    bare = run.model_copy(update={"steps": run.steps[:2]})
    with pytest.raises(UsageError, match="has a tool call"):
        planting(ProbeRuns([bare], "the test"), RUBRIC, settings=settings)


def test_constant_answers_do_no_work_and_stand_once_for_a_task(run: Trajectory) -> None:
    again = run.model_copy(update={"id": "second"})
    made = null_runs([run, again], top="5")
    assert [one.mutation.type for one in made] == list(NULL_ANSWERS)
    for one in made:
        assert [step.kind for step in one.trajectory.steps] == ["message", "final"]
        assert one.trajectory.final == one.mutation.note


def null_report(count: int, settings: Settings, share: float) -> ProbeReport:
    return probe(planted(count, settings, "null"), settings=settings, judge=always(share))


@pytest.mark.parametrize(("share", "rate", "decision"), [(1.0, 1.0, "refused"), (0.0, 0.0, "certified")])
@pytest.mark.parametrize("tasks", [1, 20])
def test_null_probe_of_constant_judges(
    share: float, rate: float, decision: str, tasks: int, settings: Settings
) -> None:
    report = null_report(tasks, settings, share)
    assert report.null_rate is not None
    assert report.null_rate.value == rate
    assert report.decision == decision


@pytest.mark.parametrize(
    ("judge", "key"), [("fake/always-5", "fake_judge_always_5"), ("fake/always-1", "fake_judge_always_1")]
)
def test_g_d33_constant_answers(
    case: Callable[[str], dict[str, Any]], judge: str, key: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = case("G-D33")
    assert [text.format(top="5/5") for text in NULL_ANSWERS.values()] == entry["input"]["probe_answers"]
    traces = tmp_path / "runs.jsonl"
    tasks = [json.dumps(refund(f"r{n}", f"task {n}")) for n in range(entry["input"]["tasks"])]
    traces.write_text("\n".join(tasks) + "\n", encoding="utf-8")
    code = command(["probe", str(traces), "--judge", judge, "--kinds", "null", "--no-cache", "--json"])
    report = json.loads(capsys.readouterr().out)
    want = entry["right"]["exact"][key]
    assert report["null_rate"]["value"] == want["probe_pass_rate"]
    assert len(report["probed"]) == 4 * entry["input"]["tasks"]
    assert code == 0 if want["exit"] == 0 else code != 0


def test_g_d07_a_score_against_its_reason_is_kept_as_it_is(
    case: Callable[[str], dict[str, Any]], run: Trajectory
) -> None:
    entry = case("G-D07")
    reply = json.loads(entry["input"]["reply"]) | {"evidence": [{"step": 3, "quote": ""}]}
    text = json.dumps({key: reply[key] for key in ("reason", "evidence", "score")})
    vote = parse(Reply(text=text), RUBRIC, run)["process"]
    exact = entry["right"]["exact"]
    assert (vote.score, vote.reason, vote.repaired) == (exact["score"], exact["reason"], exact["auto_corrected"])
    prompt = render(RUBRIC, run, count_tokens=len)
    assert "broken" in prompt.request.segments[0]
    assert "clean" in prompt.request.segments[0]


def test_g_d32_a_planted_verdict_beside_the_real_one_is_no_verdict(
    case: Callable[[str], dict[str, Any]], run: Trajectory
) -> None:
    entry = case("G-D32")
    rubric = RUBRIC.model_copy(update={"criteria": (RUBRIC.criteria[0].model_copy(update={"evidence": "optional"}),)})
    vote = parse(Reply(text=entry["input"]["reply"]), rubric, run)["process"]
    assert (vote.status, vote.score) == (entry["right"]["exact"]["reply"]["kind"], None)
    twice = parse(Reply(text=entry["input"]["reply_same_twice"]), rubric, run)["process"]
    assert twice.score == entry["right"]["exact"]["reply_same_twice"]["score"]


def test_the_command_writes_what_it_did(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    arguments = ["--judge", "rules/process", "--set", "refunds", "--no-cache", "--out", str(out)]
    code = command(["probe", *arguments])
    shown = capsys.readouterr().out
    assert code == 1  # the rules read no text: most faults go unseen
    for word in ("skipped_step", "sensitivity", "Specificity", "held", "Constant answers", "Biases", "MISSED"):
        assert word in shown
    assert ProbeReport.from_json(json.loads((out / "probe.json").read_text(encoding="utf-8"))).parents == 20
    page = (out / "probe.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "<script" not in page
    assert "MISSED" in page
    assert "Faults that were not noticed" in page
    converted = tmp_path / "converted.jsonl"
    assert command(["convert", str(out / "mutants.jsonl"), "--out", str(converted)]) == 0
    lines = [json.loads(line) for line in converted.read_text(encoding="utf-8").splitlines()]
    parents = {run.id for run in load_set("refunds").trajectories}
    made = [Mutation.model_validate(line["meta"]["mutation"]) for line in lines]
    assert {one.parent for one in made if one.kind == "fault"} <= parents
    assert len({line["id"] for line in lines}) == len(lines)


def test_a_dry_run_counts_calls_and_writes_the_changed_runs_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: Settings
) -> None:
    traces, out = tmp_path / "runs.jsonl", tmp_path / "out"
    traces.write_text("".join(json.dumps(refund(f"r{n}", f"t{n}")) + "\n" for n in range(2)), encoding="utf-8")
    arguments = ["probe", str(traces), "--judge", "fake/always-5", "--no-cache", "--samples", "1"]
    assert command([*arguments, "--kinds", "faults", "--dry-run", "--json", "--out", str(out)]) == 0
    made = json.loads(capsys.readouterr().out)
    planned = planting(runs_of(2), RUBRIC, settings=settings, kinds=("fault",))
    assert len(planned.runs()) == 2 + 2 * 17
    assert (made["trajectories"], made["calls_high"]) == (36, 36)
    assert [file.name for file in out.iterdir()] == ["mutants.jsonl"]
    assert len((out / "mutants.jsonl").read_text(encoding="utf-8").splitlines()) == 34


def test_an_unknown_kind_of_probe_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["probe", "--kinds", "faults,atacks", "--judge", "fake/always-5"]) == 2
    assert "atacks" in capsys.readouterr().err
