"""What a report says of the judges of a jury: coverage, replacements, and the jury without each of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_judges import judged

from judge.calibration.jury_errors import jury_errors, same_model
from judge.calibration.jury_members import votes_again, without_member
from judge.calibration.recorded_jury import seat
from judge.calibration.sets import load_set
from judge.calibration.shared_runs import shared_runs
from judge.cli.main import run
from judge.engine.jury_report import recorded_jury_report
from judge.errors import StatisticsError
from judge.report.jury import jury_lines
from judge.types.jury import Jury

RNG = np.random.default_rng(1)
LABELS = [1, 1, 1, 0, 0, 0, 1, 0]


def report(jury: Jury, **said: list[float | None]) -> Any:
    data = {name: judged(name, values, LABELS) for name, values in said.items()}
    return recorded_jury_report(jury, seat(jury, data), data, {}, rng=np.random.default_rng(1))


def test_leaving_one_out_is_counted_by_hand() -> None:
    # a is right on all 8, b on 6 (wrong on 0 and 3), c on 5 (wrong on 0, 1 and 4)
    jury = Jury(name="jury/j", members=("a", "b", "c"))
    found = report(
        jury,
        a=[1, 1, 1, 0, 0, 0, 1, 0],
        b=[0, 1, 1, 1, 0, 0, 1, 0],
        c=[0, 0, 1, 0, 1, 0, 1, 0],
    )
    rows = {juror.judge: juror for juror in found.jurors}
    # majority: run 0 is 1,0,0 → wrong; every other run has two right: 7 of 8
    # without a: b and c tie on 1, 3 and 4 (a tie is worth half) and are both wrong on 0: 4 + 1.5 of 8
    # without c: a and b tie on 0 and 3: 6 + 1 of 8. without b: a and c tie on 0, 1 and 4: 5 + 1.5 of 8
    assert [rows[name].without.value for name in "abc"] == [0.6875, 0.8125, 0.875]
    assert [rows[name].without_unsettled for name in "abc"] == [3, 3, 2]
    assert [rows[name].adds.value for name in "abc"] == [0.1875, 0.0625, 0.0]
    assert [rows[name].alone.value for name in "abc"] == [1.0, 0.75, 0.625]
    low, high = rows["a"].adds.low, rows["a"].adds.high
    assert low is not None
    assert high is not None
    assert low < 0.1875 < high


def test_any_name_of_a_recorded_judge_can_be_left_out() -> None:
    said = {"a": [1.0] * 8, "GPT (medium)": [1.0] * 8, "Ω-judge": [0.0] * 8}
    found = report(Jury(name="jury/j", members=tuple(said)), **said)
    assert [juror.without.value for juror in found.jurors] == [0.5, 0.5, 0.5]


def test_failed_jurors_and_their_replacements_are_counted_by_cause() -> None:
    jury = Jury(name="jury/j", members=("a", "b"), reserves=("r",))
    found = report(
        jury,
        a=[None, 1, 1, 0, None, 0, 1, 0],
        b=[1, 1, 1, 0, 0, 0, 1, 0],
        r=[1, 0, 0, 1, 0, 1, 0, 1],
    )
    a, b, r = found.jurors
    assert (a.called, a.scored, a.replaced, a.failures) == (8, 6, 2, {"failed: no value": 2})
    assert (b.called, b.scored, b.replaced, b.failures) == (8, 8, 0, {})
    assert (r.reserve, r.called, r.scored) == (True, 2, 2)
    assert a.alone.value == 0.75  # a run without a score earns nothing


def test_a_judge_that_never_gives_a_score_is_named_and_the_others_are_compared() -> None:
    jury = Jury(name="jury/j", members=("a", "b", "c"))
    found = report(jury, a=[0, 1, 1, 0, 0, 0, 1, 0], b=[1, 0, 1, 0, 0, 0, 1, 0], c=[None] * 8)
    assert found.members == ("a", "b")
    assert found.mean_phi == pytest.approx(-1 / 7)  # one error each on other runs: (0·6 - 1·1) / (1·7)
    assert "c gave no score on any run: its seat is empty." in found.warnings
    alone = report(jury, a=[1.0] * 8, b=[None] * 8, c=[None] * 8)
    assert alone.phi == ()
    assert "unknown: no two judges gave scores" in jury_lines("j", alone)[1]


def test_a_member_that_waits_for_splits_shows_how_often_it_was_called() -> None:
    jury = Jury(name="jury/j", members=("a", "b", "c"), seating="on_split")
    found = report(
        jury,
        a=[1, 1, 1, 0, 0, 0, 1, 0],
        b=[0, 1, 1, 1, 0, 0, 1, 0],
        c=[1, 0, 0, 0, 1, 1, 0, 1],
    )
    assert [juror.called for juror in found.jurors] == [8, 8, 2]
    assert found.members == ("a", "b", "c")  # recorded judges answered on every run, called or not


def test_answers_that_were_never_given_are_not_made_up() -> None:
    rest = without_member(Jury(name="jury/j", members=("a", "b", "c"), seating="on_split"), "a")
    assert isinstance(rest, Jury)
    assert (rest.members, rest.seating) == (("b", "c"), "all")
    known: dict[str, dict[str, float | None]] = {"b": {"x": 1.0, "y": 1.0}, "c": {"y": 0.0}}
    with pytest.raises(StatisticsError, match="c was not asked on 1 of 2 runs"):
        votes_again(rest, ["x", "y"], known, binary=True, settle=float)
    assert votes_again(rest, ["y"], known, binary=True, settle=float) == [(1.0, 0.0)]  # a tie
    assert without_member(Jury(name="jury/j", members=("a", "b")), "a") == "b"


def test_two_copies_of_one_judge_count_as_one() -> None:
    assert same_model("openai/gpt-4o", "litellm/openai/gpt-4o")
    assert not same_model("GPT-4o", "gpt-4o")  # names that differ only in case stay two
    labels = [1, 1, 1, 0, 0, 0, 1, 0]
    first, second = [0, 1, 1, 0, 0, 0, 1, 1], [1, 0, 1, 0, 0, 1, 1, 0]
    names = ("openai/m", "litellm/openai/m", "other/n")
    data = [judged(names[0], first, labels), judged(names[1], first, labels), judged(names[2], second, labels)]
    found = jury_errors(shared_runs(data), names)
    assert found.distinct == 2
    # wrong: first on 0 and 7, second on 1 and 5: phi = (0·4 - 2·2) / sqrt(2·6·2·6) = -1/3, counted as 0 → two votes
    assert found.mean_phi == pytest.approx(-1 / 3)
    assert found.effective_votes == 2.0
    assert "openai/m and litellm/openai/m are one model under two names: they are one judge, not two." in found.warnings
    alone = jury_errors(shared_runs(data[:2]), names[:2])
    assert (alone.distinct, alone.effective_votes) == (1, 1.0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "juries").mkdir()
    runs = [label for label in load_set("refunds").labels if label.criterion == "passed_path"]
    truth = {label.trajectory_id: 5 if label.value in (1, "pass", True) else 1 for label in runs}
    names = sorted(truth)
    # a is right; b is wrong on every third run; c fails to answer on every fifth and is else right; d sits in
    b = {name: (6 - truth[name] if place % 3 == 0 else truth[name]) for place, name in enumerate(names)}
    c: dict[str, Any] = {
        name: {"finish": "refusal"} if place % 5 == 0 else truth[name] for place, name in enumerate(names)
    }
    for judge, script in {"a": truth, "b": b, "c": c, "d": truth}.items():
        (tmp_path / f"{judge}.yaml").write_text(json.dumps({"trajectories": script, "default": 1}), encoding="utf-8")
    return tmp_path


def write_jury(folder: Path, **fields: Any) -> None:
    given = {"members": ["fake/a.yaml", "fake/b.yaml", "fake/c.yaml"], "rule": "median", **fields}
    (folder / "juries" / "bench.yaml").write_text(json.dumps(given), encoding="utf-8")


def test_a_live_jury_is_reported_judge_by_judge_in_text_page_and_json(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_jury(folder, reserves=["fake/d.yaml"])
    command = ["compare", "--set", "refunds", "--criterion", "passed_path", "-j", "jury/bench", "-j", "rules/process"]
    assert run([*command, "--out", "report", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["juries"]["jury/bench"]
    rows = {juror["judge"]: juror for juror in found["jurors"]}
    n = rows["fake/a.yaml"]["runs"]
    assert [rows[f"fake/{name}.yaml"]["called"] for name in "abc"] == [n, n, n]
    failed = n - rows["fake/c.yaml"]["scored"]
    assert failed > 0
    assert rows["fake/c.yaml"]["failures"] == {"failed: refusal": failed}
    assert (rows["fake/c.yaml"]["replaced"], rows["fake/d.yaml"]["called"]) == (failed, failed)
    assert rows["fake/a.yaml"]["alone"]["value"] == 1.0
    assert rows["fake/b.yaml"]["adds"]["value"] is not None
    text = (folder / "report" / "compare.txt").read_text(encoding="utf-8")
    assert f"a reserve took its seat on {failed}" in text
    assert "the jury without it" in text
    assert "the jury without it" in (folder / "report" / "compare.html").read_text(encoding="utf-8")


def test_errors_of_a_live_member_that_waits_are_compared_only_where_it_sat_alone_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_jury(folder, seating="on_split")
    command = ["compare", "--set", "refunds", "--criterion", "passed_path", "-j", "jury/bench", "--json"]
    assert run([*command, "-j", "rules/process"]) == 0
    waiting = json.loads(capsys.readouterr().out)["juries"]["jury/bench"]
    assert waiting["members"] == ["fake/a.yaml", "fake/b.yaml"]
    without_a = waiting["jurors"][0]["without"]
    assert without_a["value"] is None
    assert "fake/c.yaml was not asked" in without_a["reason"]
    assert run([*command, "-j", "fake/c.yaml"]) == 0
    beside = json.loads(capsys.readouterr().out)["juries"]["jury/bench"]
    assert beside["members"] == ["fake/a.yaml", "fake/b.yaml", "fake/c.yaml"]
    assert beside["jurors"][0]["without"]["value"] is not None
    assert beside["jurors"][2]["called"] < beside["jurors"][2]["runs"]  # called on splits alone, as before


def test_a_calibration_of_a_jury_reports_its_judges(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_jury(folder)
    command = ["calibrate", "refunds", "--judge", "jury/bench", "--criterion", "passed_path", "--profile", "advisory"]
    assert run([*command, "--out", "report", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [juror["judge"] for juror in document["jury"]["jurors"]] == ["fake/a.yaml", "fake/b.yaml", "fake/c.yaml"]
    for name in ("report.txt", "report.html"):
        assert "the jury without it" in (folder / "report" / name).read_text(encoding="utf-8")
    assert json.loads((folder / "report" / "report.json").read_text(encoding="utf-8"))["jury"]["members"]


def recorded(folder: Path, *, split: bool = False) -> list[str]:
    """Three judges on 60 runs: a errs on every 6th, b on every 5th, c on every 4th."""
    every = {"a": 6, "b": 5, "c": 4}
    rows = [
        {"id": f"r{i}", "judge": name, "score": (i % 2) if i % n else 1 - i % 2}
        for i in range(60)
        for name, n in every.items()
    ]
    (folder / "v.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    people = [
        {"id": f"r{i}", "value": i % 2, "rater": "ann", "rater_kind": "human"}
        | ({"split": "dev" if i < 24 else "test"} if split else {})
        for i in range(60)
    ]
    (folder / "l.jsonl").write_text("\n".join(map(json.dumps, people)), encoding="utf-8")
    command = ["--verdicts", "v.jsonl", "--labels", "l.jsonl", "--scale", "binary"]
    label_map = "id=id,value=value,source=rater,rater_kind=rater_kind" + (",split=split" if split else "")
    return [*command, "--map", "id=id,value=score,source=judge", "--label-map", label_map]


def test_a_jury_of_recorded_judges_is_calibrated_and_certified_as_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "juries" / "three.yaml").write_text(json.dumps({"members": ["a", "b", "c"]}), encoding="utf-8")
    command = [*recorded(folder), "--profile", "advisory", "--json"]
    assert run(["calibrate", *command, "--judge", "jury/three"]) == 0
    document = json.loads(capsys.readouterr().out)
    # two of three err together where i divides by 6 and 5, 6 and 4, or 5 and 4: 0, 30; 0, 12, 24, 36, 48; 0, 20, 40
    wrong = {0, 12, 20, 24, 30, 36, 40, 48}
    assert document["verdicts"] == {f"r{i}": float(1 - i % 2 if i in wrong else i % 2) for i in range(60)}
    scope = document["certificate"]["scope"]["judge"]
    assert (scope["name"], scope["jury"]["members"]) == ("jury/three", ["a", "b", "c"])
    assert [juror["judge"] for juror in document["jury"]["jurors"]] == ["a", "b", "c"]
    switch = ["compare", *command[:-3], "--old", "a", "--new", "jury/three", "--certify", "--json"]
    assert run(switch) in (0, 1, 3)
    found = json.loads(capsys.readouterr().out)
    assert found["certificate"]["scope"]["judge"]["name"] == "jury/three"


def test_a_recorded_jury_that_learns_is_held_against_test_labels_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seats = {"members": ["a", "b", "c"], "rule": "weighted"}
    (folder / "juries" / "three.yaml").write_text(json.dumps(seats), encoding="utf-8")
    command = ["calibrate", *recorded(folder, split=True), "--profile", "advisory", "--judge", "jury/three"]
    assert run([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document["verdicts"]) == {f"r{i}" for i in range(24, 60)}
    # of 24 dev runs a errs on 4, b on 5, c on 6; log odds with 1/2 on either side
    right = {"a": 20, "b": 19, "c": 18}
    expected = {name: np.log((n + 0.5) / (24 - n + 0.5)) for name, n in right.items()}
    assert document["jury"]["weights"] == pytest.approx(expected)
    assert run(["calibrate", *recorded(folder), "--judge", "jury/three"]) == 2
    assert "learns from dev labels" in capsys.readouterr().err


def test_the_wobble_of_a_live_jury_is_that_of_its_votes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = sorted({label.trajectory_id for label in load_set("refunds").labels if label.criterion == "passed_path"})
    steady, wavering = [5, 5, 5], [5, 1, 5]  # the second vote of a wavering judge fails
    for judge, every in (("s1", 0), ("w1", 2), ("w2", 2)):
        script = {run: wavering if every and place % every == 0 else steady for place, run in enumerate(runs)}
        (folder / f"{judge}.yaml").write_text(json.dumps({"trajectories": script, "default": 5}), encoding="utf-8")
    write_jury(folder, members=["fake/s1.yaml", "fake/w1.yaml", "fake/w2.yaml"])
    command = ["calibrate", "refunds", "--judge", "jury/bench", "--criterion", "passed_path", "--profile", "advisory"]
    assert run([*command, "--repeats", "3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (wobble,) = document["report"]["wobble"]
    # on half of the runs the jury's three votes are pass, fail, pass: two of their three pairs differ
    tested = [name for name in runs if name in document["verdicts"]]
    half = sum(runs.index(name) % 2 == 0 for name in tested) / len(tested)
    assert wobble["found"]["flip_rate"]["value"] == pytest.approx(half * 2 / 3, abs=0.02)
    # the verdict itself is not made of the repeats: each member's own two or three samples, as its spec says
    assert document["certificate"]["scope"]["judge"]["samples"] is None
    assert run([*command, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["verdicts"] == document["verdicts"]
    assert plain["report"]["wobble"] == []
