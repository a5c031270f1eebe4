"""Scripted judges and juries of them, live on a shipped set, in Python and on the command line."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import judge
from judge.calibration.sets import load_set
from judge.cli.main import run
from judge.config import Settings
from judge.engine.comparing import compare_set
from judge.engine.facade import score_many
from judge.engine.jury_file import load_jury
from judge.errors import TerminalError, UsageError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def jury_file(folder: Path, name: str = "bench", **fields: Any) -> str:
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(fields), encoding="utf-8")  # JSON is YAML
    return f"jury:{path}"


def settings(folder: Path) -> Settings:
    return Settings(cache_dir=folder / "cache", certificates=folder / "certificates")


def verdicts(folder: Path, jury: str, n: int = 6) -> list[Any]:
    runs = load_set("refunds").trajectories[:n]
    return list(score_many(runs, "process", judge=jury, settings=settings(folder)))


def test_a_live_jury_gives_one_verdict_with_a_vote_a_seat(own_folder: Path) -> None:
    jury = jury_file(own_folder, members=["fake/always-5", "fake/always-4", "fake/always-2"], rule="median")
    for verdict in verdicts(own_folder, jury):
        assert (verdict.judge, verdict.status, verdict.score) == ("jury/bench", "ok", 4)
        (result,) = verdict.criteria
        assert [vote.score for vote in result.votes] == [5, 4, 2]
        assert (result.votes[2].detail or {})["judge"] == "fake/always-2"
        assert verdict.reason.startswith("fake/always-4: ")
        assert verdict.calls == 6  # each member takes two samples on an ordinal scale, as it would alone


def test_the_third_seat_costs_no_call_where_the_first_two_agree(own_folder: Path) -> None:
    agree = jury_file(own_folder, members=["rules/process", "fake/always-5", "fake/always-1"], seating="on_split")
    seats = Counter(len(v.criteria[0].votes) for v in verdicts(own_folder, agree, 12))
    assert set(seats) == {2, 3}  # the rules give some runs a 5 and some not


def test_screening_calls_the_second_judge_after_a_pass_alone(own_folder: Path) -> None:
    failing = jury_file(own_folder, "a", members=["fake/always-2", "fake/always-5"], seating="screen", pass_mark=4)
    passing = jury_file(own_folder, "b", members=["fake/always-5", "fake/always-2"], seating="screen", pass_mark=4)
    assert [(v.calls, v.score) for v in verdicts(own_folder, failing, 2)] == [(2, 2), (2, 2)]
    assert [(v.calls, v.score) for v in verdicts(own_folder, passing, 2)] == [(4, 2), (4, 2)]


def test_a_tie_of_a_live_jury_is_inconclusive(own_folder: Path) -> None:
    jury = jury_file(own_folder, members=["fake/always-5", "fake/always-2"])
    (verdict,) = verdicts(own_folder, jury, 1)
    assert (verdict.status, verdict.score) == ("inconclusive", None)
    assert verdict.criteria[0].tie


def test_a_reserve_sits_in_for_a_judge_that_gives_no_score(own_folder: Path) -> None:
    jury = jury_file(
        own_folder,
        members=["fake/always-unknown", "fake/always-4", "fake/always-5"],
        reserves=["fake/always-3"],
        rule="median",
    )
    (verdict,) = verdicts(own_folder, jury, 1)
    assert verdict.score == 4
    assert [vote.status for vote in verdict.criteria[0].votes].count("ok") == 3


def test_a_rule_that_learns_cannot_sit_live(own_folder: Path) -> None:
    jury = jury_file(own_folder, members=["fake/always-5", "fake/always-4", "fake/always-2"], rule="dawid_skene")
    with pytest.raises(UsageError, match="learns from many runs"):
        verdicts(own_folder, jury, 1)


def test_a_jury_file_names_the_field_that_is_wrong(own_folder: Path) -> None:
    with pytest.raises(UsageError, match="members"):
        load_jury(jury_file(own_folder, members=["fake/always-5"]), settings(own_folder))
    with pytest.raises(UsageError, match="sits twice"):
        load_jury(jury_file(own_folder, members=["fake/always-5", "fake/always-5"]), settings(own_folder))
    with pytest.raises(UsageError, match="cannot be read"):
        load_jury("jury:nowhere.yaml", settings(own_folder))


def test_a_jury_is_calibrated_as_one_judge_whose_spec_holds_its_members(own_folder: Path) -> None:
    from datetime import UTC, datetime

    from judge.engine.calibrating import calibrate_set

    jury = jury_file(own_folder, members=["rules/process", "fake/always-4", "fake/always-2"], rule="median")
    used = settings(own_folder).model_copy(update={"judge": jury})
    found = calibrate_set("refunds", settings=used, now=datetime(2026, 1, 1, tzinfo=UTC), criterion="passed_path")
    spec = found.certificate.scope.judge
    assert (spec.name, spec.provider) == ("jury/bench", "jury")
    assert [member.name for member in spec.members or ()] == ["rules/process", "fake/always-4", "fake/always-2"]
    assert spec.jury is not None
    other = spec.model_copy(update={"jury": spec.jury.model_copy(update={"rule": "mean"})})
    assert other.fingerprint != spec.fingerprint


def test_live_judges_and_rubrics_are_compared_on_the_test_split(own_folder: Path) -> None:
    jury = jury_file(own_folder, members=["rules/process", "fake/always-4", "fake/always-2"], rule="median")
    found = compare_set(
        "refunds", ["rules/process", "fake/always-4", jury], settings=settings(own_folder), criterion="passed_path"
    )
    rows = {row.judge: row for row in found.comparison.judges}
    assert set(rows) == {"rules/process", "fake/always-4", "jury/bench"}
    assert rows["fake/always-4"].tpr is not None
    assert rows["fake/always-4"].tpr.value == 1.0
    assert "None of them is shown to agree with people beyond chance." in found.comparison.decision.words
    assert found.reasons["fake/always-4"]


def test_python_compares_and_asks_for_a_switch_as_the_command_does(own_folder: Path) -> None:
    found = judge.compare("refunds", ["rules/process", "fake/always-4"], criterion="passed_path", cache=False)
    assert [row.judge for row in found.comparison.judges] == ["fake/always-4", "rules/process"]
    switched = found.switch("rules/process", "fake/always-4", margin=0.05)
    assert (switched.decision, switched.usd_change) == ("undecided", 0.0)


def test_two_versions_of_a_rubric_are_told_apart_by_the_verdicts_that_change(
    own_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = (ROOT / "rubrics" / "process.yaml").read_text(encoding="utf-8")
    changed = re.sub(r"(?m)^version:.*$", 'version: "2"', shipped)
    assert changed != shipped
    (own_folder / "process2.yaml").write_text(changed, encoding="utf-8")
    script = {"default": 4, "trajectories": {}}
    (own_folder / "same.yaml").write_text(json.dumps(script), encoding="utf-8")
    names = ["fake/same.yaml, process 1", "fake/same.yaml, process 2"]
    command = ["compare", "--set", "refunds", "-j", "fake/same.yaml", "-r", "process", "-r", "process2.yaml"]
    command += ["--criterion", "passed_path", "--old", names[0], "--new", names[1], "--json"]
    assert run(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert sorted(row["judge"] for row in document["judges"]) == names
    assert document["switch"]["flips"] == []  # a scripted judge does not read its rubric
    assert document["n"] == 25


def test_one_rubric_twice_is_no_comparison(own_folder: Path) -> None:
    with pytest.raises(UsageError, match="Two rubrics are 'process 1'"):
        compare_set("refunds", ["rules/process"], settings=settings(own_folder), rubrics=["process", "process"])


def recorded(folder: Path) -> list[str]:
    runs = [f"r{i}" for i in range(8)]
    said = {"A": [1, 1, 1, 1, 0, 0, 0, 0], "a": [1, 1, 1, 0, 1, 0, 0, 0]}
    rows = [
        {"trajectory_id": run, "judge": name, "score": value, "why": f"{name} says {value}"}
        for name, values in said.items()
        for run, value in zip(runs, values, strict=True)
    ]
    (folder / "verdicts.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (folder / "labels.csv").write_text(
        "trajectory_id,value,rater,rater_kind\n"
        + "\n".join(f"{run},{'pass' if i < 4 else 'fail'},ann,human" for i, run in enumerate(runs)),
        encoding="utf-8",
    )
    mapped = "id=trajectory_id,value=score,source=judge,reason=why"
    return ["compare", "--verdicts", "verdicts.jsonl", "--labels", "labels.csv", "--map", mapped]


def test_the_command_prints_judges_pairs_and_decision_as_json(
    own_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*recorded(own_folder), "--old", "A", "--new", "a", "--margin", "0.1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"judges", "pairs", "decision", "switch"} <= set(document)
    assert [row["judge"] for row in document["judges"]] == ["A", "a"]
    assert document["pairs"][0]["p"] == 0.5  # 2 to 0: 2 / 2^2
    assert document["switch"]["decision"] == "undecided"
    assert [(f["item"], f["old_reason"], f["new_reason"]) for f in document["switch"]["flips"]] == [
        ("r3", "A says 1", "a says 0"),
        ("r4", "A says 0", "a says 1"),
    ]


def test_the_command_writes_a_page_without_scripts_or_addresses(own_folder: Path) -> None:
    assert run([*recorded(own_folder), "--price", "A=0.02", "--price", "a=0.01", "--out", "report"]) == 0
    page = (own_folder / "report" / "compare.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4
    assert "<script" not in page
    assert json.loads((own_folder / "report" / "compare.json").read_text(encoding="utf-8"))["n"] == 8
    assert (own_folder / "report" / "compare.txt").read_text(encoding="utf-8").startswith("== 2 judges")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare"], "Nothing to compare on"),
        (["compare", "--set", "refunds", "--old", "x"], "both --old and --new"),
        (["compare", "--verdicts", "v", "--labels", "l", "--price", "free"], "NAME=USD is needed"),
        (["compare", "--set", "refunds", "--old", "x", "--new", "x"], "cannot take its own place"),
        (["compare", "--set", "refunds", "--judge", "fake/always-1", "--price", "a=1"], "for recorded judges"),
    ],
)
def test_wrong_use_is_told(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--price", "B=0.1"], "No judge in the files is named 'B'"),
        (["--criterion", "cost"], "No criterion of the labels is named 'cost'"),
        (["--pass-mark", "3"], "the scale is binary"),
        (["--scale", "0-1", "--pass-mark", "2"], "no value can pass"),
        (["--scale", "0-1", "--pass-mark", "0"], "every value passes"),
    ],
)
def test_what_would_be_ignored_or_decide_nothing_is_refused(
    own_folder: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = recorded(own_folder)
    assert run([*given, *options]) == 2
    assert message in capsys.readouterr().err


def test_verdicts_that_were_scored_into_one_file_are_compared_on_one_criterion_of_a_sets_labels(
    own_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ROOT / "calibration_sets" / "refunds"
    for judge_name in ("fake/always-4", "rules/process"):  # scoring again appends
        command = ["score", str(folder / "trajectories.jsonl"), "--judge", judge_name, "--out", "verdicts.jsonl"]
        assert run(command) == 0
    capsys.readouterr()
    # the file of labels holds another criterion too, on another scale
    command = ["compare", "--verdicts", "verdicts.jsonl", "--labels", str(folder / "labels.jsonl"), "--scale", "1-5"]
    assert run([*command, "--criterion", "process", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["judge"]: row["scored"] for row in document["judges"]} == {"fake/always-4": 25, "rules/process": 25}
    assert document["left_out"]["of another criterion (passed_path) (labels)"] == 40


def test_judges_that_fail_on_every_run_end_with_the_code_of_a_provider(
    own_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own_folder / "mute.yaml").write_text('{repeat: true, replies: [{text: "no JSON"}]}', encoding="utf-8")
    (own_folder / "dumb.yaml").write_text('{repeat: true, replies: [{text: "none either"}]}', encoding="utf-8")
    both = ["compare", "--set", "refunds", "--judge", "fake/mute.yaml"]
    assert run([*both, "--judge", "fake/dumb.yaml"]) == 4
    said = capsys.readouterr()
    assert "No judge gave a score on any of the 25 shared runs: nothing can be compared." in said.out
    assert "failed on every run" in said.err
    assert run([*both, "--judge", "rules/process"]) == 0
    assert "fake/mute.yaml gave no score on any run" in capsys.readouterr().out


def test_a_judge_that_is_not_in_the_file_is_named_with_the_nearest(
    own_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*recorded(own_folder), "-j", "B"]) == 2
    assert "'B'" in capsys.readouterr().err


def test_files_of_several_criteria_name_them_until_one_is_chosen(
    own_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [f"r{i}" for i in range(6)]
    said = [
        {"trajectory_id": run, "judge": name, "criterion": criterion, "score": (i + k + j) % 2}
        for j, name in enumerate("AB")
        for k, criterion in enumerate(("tone", "truth"))
        for i, run in enumerate(runs)
    ]
    people = [
        {"trajectory_id": run, "criterion": criterion, "value": (i + k) % 2, "rater": "ann", "rater_kind": "human"}
        for k, criterion in enumerate(("tone", "truth"))
        for i, run in enumerate(runs)
    ]
    (own_folder / "v.jsonl").write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
    (own_folder / "l.jsonl").write_text("\n".join(map(json.dumps, people)), encoding="utf-8")
    command = ["compare", "--verdicts", "v.jsonl", "--labels", "l.jsonl", "--scale", "binary"]
    command += ["--map", "id=trajectory_id,value=score,source=judge,criterion_path=criterion"]
    assert run(command) == 2
    error = capsys.readouterr().err
    assert "l.jsonl holds 2 criteria: tone, truth." in error
    assert "Name one with --criterion." in error
    for criterion in ("tone", "truth"):
        assert run([*command, "--criterion", criterion, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert (document["criterion"], document["n"]) == (criterion, 6)
        assert {row["judge"]: row["right"]["value"] for row in document["judges"]} == {"A": 1.0, "B": 0.0}


def test_a_member_whose_key_is_refused_midway_stops_the_run_and_what_is_judged_is_given(own_folder: Path) -> None:
    (own_folder / "key.yaml").write_text("replies: [4, 4, 4, 4, {error: 401}]", encoding="utf-8")
    # a reserve sits in for answers that are missing, not for a provider that takes no calls: the jury would be another
    jury = jury_file(own_folder, members=["fake/always-4", "fake/key.yaml"], reserves=["fake/always-1"], rule="mean")
    runs = load_set("refunds").trajectories[:5]
    given: list[Any] = []
    one_by_one = settings(own_folder).model_copy(update={"concurrency": 1})
    with pytest.raises(TerminalError, match=r"fake/key.yaml answered 401: .* 2 judged"):
        given.extend(score_many(runs, "process", judge=jury, settings=one_by_one))
    assert [verdict.score for verdict in given] == [4, 4]
