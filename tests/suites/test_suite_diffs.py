"""Two runs of a suite: what changed, whether that may be chance, and what must not get worse."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from suite_records import recorded

from judge.cli.main import run as judge
from judge.engine.suite import SuiteRun, run_traces
from judge.engine.suite_diff import compare_results
from judge.errors import FingerprintMismatch, UsageError
from judge.report.suite_page import diff_page
from judge.types.suite import SuiteResult

SuiteOf = Callable[..., SuiteRun]
CASES = "suite: s\nattempts: 2\ncases:\n" + "".join(
    f"  - {{id: {name}, outcome: reward, tags: [{tag}], split: {split}}}\n"
    for name, tag, split in (
        ("fixed", "easy", "dev"),
        ("broken", "money", "dev"),
        ("same", "easy", "dev"),
        ("shaky", "money", "dev"),
        ("unseen", "easy", "dev"),
        ("held", "easy", "holdout"),
    )
)
BASE = {"fixed": [0, 0], "broken": [1, 1], "same": [1, 1], "shaky": [1, 1], "unseen": [None], "held": [1, 1]}
CANDIDATE = {"fixed": [1, 1], "broken": [0, 0], "same": [1, 1], "shaky": [1, 0], "unseen": [1], "held": [0, 0]}


def result(suite: SuiteRun, rewards: dict[str, list[Any]]) -> SuiteResult:
    runs = [
        recorded([], id=f"{case}-{n}", group=case, labels={"reward": reward})
        for case, given in rewards.items()
        for n, reward in enumerate(given)
    ]
    return run_traces(suite, runs)


def test_each_case_is_fixed_broken_unchanged_flaky_or_unmeasured(suite_of: SuiteOf) -> None:
    suite = suite_of(CASES, split="all")
    made = compare_results(result(suite, BASE), result(suite, CANDIDATE))
    changes = {case.id: case.change for case in made.cases}
    assert changes == {
        "fixed": "fixed",
        "broken": "broken",
        "same": "unchanged",
        "shaky": "flaky",
        "unseen": "unmeasured",
    }
    # stable pairs: one gained, one lost, one kept: exact two-sided p of 1 of 2 is 1
    assert made.p == 1.0
    assert made.critical_regressions == ()


def test_four_gains_without_a_loss_have_p_of_one_eighth(suite_of: SuiteOf) -> None:
    text = "suite: s\ncases:\n" + "".join(f"  - {{id: c{n}, outcome: reward}}\n" for n in range(4))
    suite = suite_of(text)
    before, after = ({f"c{n}": [value] for n in range(4)} for value in (0, 1))
    # 2 * 0.5^4
    assert compare_results(result(suite, before), result(suite, after)).p == pytest.approx(0.125)


def test_under_a_critical_tag_a_flaky_or_a_missing_case_is_a_regression(suite_of: SuiteOf) -> None:
    suite = suite_of(CASES)
    base = result(suite, BASE)
    assert compare_results(base, result(suite, CANDIDATE), critical=["money"]).critical_regressions == (
        "broken",
        "shaky",
    )
    shorter = result(suite, CANDIDATE)
    shorter = shorter.model_copy(update={"cases": tuple(case for case in shorter.cases if case.id != "broken")})
    made = compare_results(base, shorter, critical=["money"])
    assert (made.critical_regressions, made.only_base) == (("shaky", "broken"), ("broken",))


def test_a_critical_tag_that_no_case_has_is_warned_about(suite_of: SuiteOf) -> None:
    suite = suite_of(CASES)
    made = compare_results(result(suite, BASE), result(suite, BASE), critical=["mony"])
    assert any("No case has the critical tag 'mony'" in text for text in made.warnings)


def test_results_of_two_suites_are_not_compared(suite_of: SuiteOf) -> None:
    one = result(suite_of(CASES), BASE)
    with pytest.raises(FingerprintMismatch):
        compare_results(one, one.model_copy(update={"suite": "other"}))
    with pytest.raises(UsageError, match="Neither result has a case"):
        compare_results(one, one, split="holdout")


def test_the_holdout_is_compared_only_when_asked_for_and_every_look_counts(
    suite_of: SuiteOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    suite = suite_of(CASES, split="all")
    names = []
    for number, rewards in enumerate((BASE, CANDIDATE, {**BASE, "held": [1, 0]})):
        names.append(f"{number}.json")
        Path(names[-1]).write_text(json.dumps(result(suite, rewards).to_json()), encoding="utf-8")

    def look(base: str, candidate: str, *extra: str) -> dict[str, Any]:
        judge(["diff", base, candidate, "--json", *extra])
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    plain = look(names[0], names[1])
    assert (plain["holdout_looks"], "held" in {case["id"] for case in plain["cases"]}) == (None, False)
    first = look(names[0], names[1], "--holdout")
    assert (first["holdout_looks"], [case["change"] for case in first["cases"]]) == (1, ["broken"])
    assert look(names[0], names[1], "--holdout")["holdout_looks"] == 1  # the same pair is the same look
    assert look(names[0], names[2], "--holdout")["holdout_looks"] == 2


@pytest.mark.parametrize(
    ("extra", "code"), [([], 1), (["--critical-tag", "easy"], 0), (["--critical-tag", "money"], 1)]
)
def test_the_exit_says_whether_something_got_worse(
    suite_of: SuiteOf, tmp_path: Path, extra: list[str], code: int
) -> None:
    suite = suite_of(CASES)
    for name, rewards in (("a", BASE), ("b", CANDIDATE)):
        (tmp_path / name).write_text(json.dumps(result(suite, rewards).to_json()), encoding="utf-8")
    page = tmp_path / "page.html"
    assert judge(["diff", str(tmp_path / "a"), str(tmp_path / "b"), "--html", str(page), *extra]) == code
    assert page.is_file()


def test_a_file_that_is_no_result_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"cases": 1}', encoding="utf-8")
    assert judge(["diff", str(tmp_path / "a.json"), str(tmp_path / "a.json")]) == 2
    assert judge(["diff", str(tmp_path / "gone.json"), str(tmp_path / "a.json")]) == 2


def test_the_page_stands_alone_and_escapes_what_traces_say(suite_of: SuiteOf) -> None:
    suite = suite_of(CASES)
    made = compare_results(result(suite, BASE), result(suite, CANDIDATE))
    evil = made.cases[1].model_copy(update={"reasons": ("<script>alert(1)</script>",)})
    page = diff_page(made.model_copy(update={"cases": (evil,)}))
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "http:" not in page
    assert "https:" not in page
