"""`judge calibrate` on recorded files: exit statuses, one JSON document, what it says, and what it refuses."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from judge.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "scripts" / "published"
AGREEMENT_ONLY = str(PUBLISHED / "agreement_only.yaml")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every command runs in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("JUDGE_CONFIG", "JUDGE_CERTIFICATES"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def files(passed: int = 80, failed: int = 80, missed: int = 0, kind: str | None = "human") -> tuple[str, str]:
    """Verdicts equal to the labels but for `missed` failed runs that the judge passes."""
    verdicts, labels = ["trajectory_id,judge,score"], ["trajectory_id,rater,value,rater_kind"]
    for i in range(passed + failed):
        label = int(i < passed)
        verdict = 1 if label or i - passed < missed else 0
        verdicts.append(f"t{i},same,{verdict}")
        labels.append(f"t{i},ann,{label},{kind or ''}")
    Path("v.csv").write_text("\n".join(verdicts) + "\n", encoding="utf-8")
    Path("l.csv").write_text("\n".join(labels) + "\n", encoding="utf-8")
    return "v.csv", "l.csv"


def asked(capsys: pytest.CaptureFixture[str], *more: str, paths: tuple[str, str] = ("v.csv", "l.csv")) -> Any:
    """(exit status, JSON on stdout)."""
    code = run(["calibrate", "--verdicts", paths[0], "--labels", paths[1], "--json", *more])
    return code, json.loads(capsys.readouterr().out)


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = run(["calibrate", *arguments])
    return code, capsys.readouterr().err


def test_certified_is_0_refused_is_1_and_undecided_is_3(capsys: pytest.CaptureFixture[str]) -> None:
    files()
    code, answer = asked(capsys, "--settings", AGREEMENT_ONLY)
    assert (code, answer["certificate"]["decision"]) == (0, "certified")
    assert {"report", "certificate"} <= set(answer)
    assert answer["report"]["statistics"]["tnr"]["value"] == 1.0
    ceiling = next(claim for claim in answer["certificate"]["claims"] if claim["name"] == "ceiling")
    assert ceiling["estimate"] is None  # absent, and said to be
    files(missed=40)
    code, answer = asked(capsys, "--settings", AGREEMENT_ONLY)
    assert (code, answer["certificate"]["decision"]) == (1, "refused")
    files(8, 8)
    code, answer = asked(capsys, "--settings", AGREEMENT_ONLY)
    assert (code, answer["certificate"]["decision"]) == (3, "undecided")


def test_usage_errors_are_2(capsys: pytest.CaptureFixture[str]) -> None:
    verdicts, labels = files()
    given = ("--verdicts", verdicts, "--labels", labels)
    for arguments, said in (
        ((), "Nothing to calibrate on"),
        (("--verdicts", verdicts), "Nothing to calibrate on"),
        (("docs_search", *given), "not both"),
        ((*given, "--profile", "lax"), "No profile is named 'lax'"),
        ((*given, "--judge", "sane"), "same"),
        ((*given, "--map", "id:trajectory_id"), "is not NAME=PATH"),
        ((*given, "--map", "id=trajectory_id,valeu=score"), "valeu"),
        ((*given, "--scale", "5-1"), "--scale is"),
        ((*given, "--cost-review", "1"), "needs all of"),
        (("no_such_set",), "no_such_set"),
    ):
        code, error = error_of(capsys, *arguments)
        assert code == 2, arguments
        assert said in error, arguments


def test_files_that_do_not_fit_are_refused_with_what_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    files()
    given = ("--verdicts", "v.csv", "--labels", "l.csv")
    code, error = error_of(capsys, *given, "--map", "id=id,value=score,source=judge")
    assert code == 2
    assert "v.csv has no verdict: 160 × no id" in error
    Path("v.csv").write_text("trajectory_id,judge,score\nt1,a,1\nt1,b,1\n", encoding="utf-8")
    code, error = error_of(capsys, *given)
    assert code == 2
    assert "holds 2 judges: a, b" in error
    Path("v.csv").write_text("trajectory_id,judge,score\nt1,a,7\n", encoding="utf-8")
    code, error = error_of(capsys, *given)
    assert code == 2
    assert "outside the scale: '7'" in error
    assert "name another, e.g. --scale 1-5" in error
    code, error = error_of(capsys, *given, "--scale", "1-5")
    assert code == 2
    assert "outside the scale: '7'" in error
    assert "--scale" not in error


def test_several_criteria_in_one_file_have_to_be_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"t{i},ann,{i % 2},{name}" for i in range(6) for name in ("path", "tone")]
    Path("l.csv").write_text("trajectory_id,rater,value,what\n" + "\n".join(rows) + "\n", encoding="utf-8")
    Path("v.csv").write_text("trajectory_id,judge,score\n" + "\n".join(f"t{i},a,1" for i in range(6)), encoding="utf-8")
    mapped = ("--label-map", "id=trajectory_id,value=value,source=rater,criterion_path=what")
    code, error = error_of(capsys, "--verdicts", "v.csv", "--labels", "l.csv", *mapped)
    assert code == 2
    assert "holds 2 criteria: path, tone" in error
    code, answer = asked(capsys, *mapped, "--criterion", "tone")
    assert code == 1  # all three failed runs were passed
    assert answer["report"]["criterion"] == "tone"
    assert answer["report"]["left_out"]["of another criterion (path) (labels)"] == 6


def test_labels_without_a_stated_kind_do_not_open_the_gate_until_it_is_stated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    files(kind=None)
    code, answer = asked(capsys, "--settings", AGREEMENT_ONLY)
    assert (code, answer["certificate"]["decision"]) == (3, "undecided")
    assert "Labels of kind unstated do not open the gate" in answer["certificate"]["reasons"][0]
    code, answer = asked(capsys, "--settings", AGREEMENT_ONLY, "--rater-kind", "human")
    assert (code, answer["certificate"]["decision"]) == (0, "certified")


def test_the_advisory_profile_reports_and_blocks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    files(missed=40)
    code, answer = asked(capsys, "--profile", "advisory")
    assert (code, answer["certificate"]["decision"]) == (0, "undecided")


def test_an_ordinal_scale_with_a_pass_mark(capsys: pytest.CaptureFixture[str]) -> None:
    rows = "\n".join(f"t{i},a,{1 + i % 5}" for i in range(50))
    Path("v.csv").write_text("trajectory_id,judge,score\n" + rows, encoding="utf-8")
    Path("l.csv").write_text("trajectory_id,rater,value\n" + rows, encoding="utf-8")
    answer = asked(capsys, "--scale", "1-5", "--pass-mark", "4", "--rater-kind", "human")[1]
    assert answer["report"]["label_counts"] == {"failed": 30, "passed": 20}
    assert answer["report"]["statistics"]["kappa_quadratic"]["value"] == 1.0
    assert answer["certificate"]["pass_mark"] == 4.0


def native(*more: dict[str, Any]) -> None:
    """Our own files of verdicts and labels, as `judge score --out` and label files are written."""
    verdicts = [
        {"trajectory_id": f"t{i}", "judge": "j", "score": i % 2, "reason": "Because.", "fingerprints": {"judge": "aa"}}
        for i in range(60)
    ]
    labels = [
        {
            "trajectory_id": f"t{i}", "criterion": "polite", "value": float(i % 2 if i > 3 else 1), "rater": "ann",
            "rater_kind": "human", "split": "dev" if i >= 40 else "test", "rubric_version": "1",
        }
        for i in range(60)
    ]  # fmt: skip
    for name, rows in (("v.jsonl", [*verdicts, *more]), ("l.jsonl", labels)):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_files_of_our_own_need_no_mapping_and_keep_their_splits_and_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    native()
    report = asked(capsys, paths=("v.jsonl", "l.jsonl"))[1]["report"]
    assert (report["criterion"], report["split"], report["n"]) == ("polite", "test", 40)
    assert report["left_out"] == {"label of the dev split": 20}
    assert {d["item"]: d["reason"] for d in report["disagreements"]} == {"t0": "Because.", "t2": "Because."}
    native({"trajectory_id": "t99", "judge": "j", "score": 1, "fingerprints": {"judge": "bb"}})
    code, error = error_of(capsys, "--verdicts", "v.jsonl", "--labels", "l.jsonl")
    assert code == 2
    assert "mixes 2 different judges under the name 'j'" in error


def test_the_folder_holds_a_page_a_report_a_text_and_the_certificate(capsys: pytest.CaptureFixture[str]) -> None:
    files()
    assert run(["calibrate", "--verdicts", "v.csv", "--labels", "l.csv", "--out", "deep/r"]) == 3
    assert capsys.readouterr().err.count("wrote ") == 4
    names = {path.name for path in Path("deep/r").iterdir()}
    assert names == {"report.html", "report.json", "report.txt", "certificate.json"}
    kept = json.loads(Path("deep/r/certificate.json").read_text(encoding="utf-8"))
    shelf = Path(".judge/certificates") / f"{kept['id']}.json"
    assert json.loads(shelf.read_text(encoding="utf-8")) == kept


def test_the_text_says_first_what_it_means_and_lists_what_was_not_tested(capsys: pytest.CaptureFixture[str]) -> None:
    files(missed=40)
    assert run(["calibrate", "--verdicts", "v.csv", "--labels", "l.csv"]) == 1
    text = capsys.readouterr().out
    assert text.index("REFUSED") < text.index("do not use it to find failures") < text.index("kappa  ")
    assert "of the failed runs it caught 50 %" in text
    assert "Not tested: " in text


def test_a_real_judge_that_misses_failed_runs_is_refused_in_words(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = shared / "data" / "livemcpbench"
    paths = (str(data / "judge_outputs.jsonl"), str(data / "trajectories_with_human_label.jsonl"))
    fields = ("--fields", str(PUBLISHED / "livemcpbench.yaml"), "--judge", "openai_gpt-4.1-mini")
    assert run(["calibrate", "--verdicts", paths[0], "--labels", paths[1], *fields]) == 1
    text = capsys.readouterr().out
    assert "REFUSED" in text
    assert "it caught 57 % (95 % interval 39 % to 73 %), so do not use it to find failures" in text
    assert "tnr             .571 [.391, .735]" in text
    assert "246870" not in text  # a number of labels that nobody will make
    assert "more than 20,000 labels would be needed" in text


def test_a_judge_equal_to_250_labels_is_certified_for_agreement_alone(
    shared: Path, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    labels = str(shared / "data" / "agentprocessbench" / "human_labels" / "hotpotqa_final.jsonl")
    fields = ("--fields", str(PUBLISHED / "agentprocessbench_passed.yaml"))
    code, answer = asked(capsys, *fields, "--settings", AGREEMENT_ONLY, paths=(labels, labels))
    found = answer["certificate"]
    assert (code, found["decision"], found["n_labels"], found["n_groups"]) == (0, "certified", 250, 50)
    assert {"flip_rate", "attacks", "implanted_faults"} <= set(found["not_tested"])

    code, answer = asked(capsys, *fields, paths=(labels, labels))
    assert (code, answer["certificate"]["decision"]) == (3, "undecided")
    reasons = " ".join(answer["certificate"]["reasons"])
    for missing in ("flip when repeated: not tested", "attacks that move the verdict: not tested", "implanted faults"):
        assert missing in reasons

    rows = [line for line in Path(labels).read_text(encoding="utf-8").split("\n") if line]
    kept = [row for row in rows if '"final_label":1' in row][:5] + [r for r in rows if '"final_label":-1' in r][:3]
    few = home / "eight.jsonl"
    few.write_text("\n".join(kept), encoding="utf-8")
    code, answer = asked(capsys, *fields, "--settings", AGREEMENT_ONLY, paths=(labels, str(few)))
    assert (code, answer["certificate"]["decision"], answer["report"]["n"]) == (3, "undecided", 8)
    wanted = {claim["name"]: claim["more_labels"] for claim in answer["certificate"]["claims"]}
    assert (wanted["labels_passed"], wanted["labels_failed"]) == (25, 27)
    assert wanted["tnr"] > 27
    assert answer["label_next"]


def test_a_missing_package_for_signatures_is_told_before_anything_is_judged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("key").write_bytes(bytes(32))
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    code, said = error_of(capsys, "docs_search", "--judge", "rules/process", "--sign", "key")
    assert code == 2
    assert 'pip install "trajudge[sign]"' in said
    assert not Path(".judge").exists()


def test_a_certificate_that_covers_nothing_is_shown_as_such(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files()
    _, answer = asked(capsys, "--settings", AGREEMENT_ONLY)
    name, ends = answer["certificate"]["id"], answer["certificate"]["expires_at"]

    def shown() -> str:
        assert run(["certificates", "show", name]) == 0
        return capsys.readouterr().out

    assert "REVOKED" not in shown()
    assert "EXPIRED" not in shown()
    with monkeypatch.context() as later:
        later.setattr("judge.cli.certificates.datetime", Later)
        assert shown().splitlines()[0] == f"EXPIRED on {ends}, and covers nothing."
    assert run(["certificates", "revoke", name, "--reason", "The labels were leaked."]) == 0
    capsys.readouterr()
    first = shown().splitlines()[0]
    assert first.startswith("REVOKED on ")
    assert first.endswith(", and covers nothing: The labels were leaked.")


class Later(datetime):
    """Two hundred days from now: after the term of a certificate."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime.now(tz) + timedelta(days=200)
