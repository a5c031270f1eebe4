"""Suite files: what loads, and the line and advice of everything that does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.engine.suite_file import load_suite
from judge.errors import UsageError

GOOD = """\
suite: shop
attempts: 4
cases:
  - id: one
    task: Refund order 90210.
    outcome:
      - sql: {database: shop.db, query: SELECT 1, equals: 1}
      - file: {path: note.txt, equals: 1}
      - json: {path: a.json, at: b, equals: true}
    trajectory: {must_not_call: [issue_refund], max_steps: 8, max_usd: 0.25, finish_status: blocked}
    invariants: [no_repeats, {read_before_mutation: {read: get, mutate: set}}, {at_most: {retries: 2}}]
    tags: [hostile]
    split: holdout
"""


def load(tmp_path: Path, text: str) -> str:
    """The error of a file with that text."""
    path = tmp_path / "cases.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_suite(path)
    return caught.value.message.replace(str(path), "cases.yaml")


def test_a_whole_case_loads_with_values_of_the_right_kind(tmp_path: Path) -> None:
    path = tmp_path / "cases.yaml"
    path.write_text(GOOD, encoding="utf-8")
    (case,) = load_suite(path).cases
    assert not isinstance(case.outcome, str)
    sql, file, json = case.outcome
    # what a database or JSON holds has a type, what a file holds is text
    assert (sql.sql and sql.sql.equals, file.file and file.file.equals, json.json_ and json.json_.equals) == (
        1,
        "1",
        True,
    )
    assert [rule.id for rule in case.invariants] == ["no_repeats", "read_before_mutation", "at_most"]
    assert (case.trajectory.max_usd, case.split) == (0.25, "holdout")


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("    task:", "    taks:", 5, "Did you mean 'task'?"),
        ("max_steps: 8", "max_step: 8", 10, "Did you mean 'max_steps'?"),
        ("database: shop.db", "databse: shop.db", 7, "Did you mean 'database'?"),
        ("max_steps: 8", "max_steps: eight", 10, "max_steps is 'eight'"),
        ("max_steps: 8", "max_steps: 0", 10, "greater than or equal to 1"),
        ("attempts: 4", "attempts: 0", 2, "greater than or equal to 1"),
        ("split: holdout", "split: test", 13, "split is 'test'"),
        ("no_repeats,", "no_repeat,", 11, "Did you mean 'no_repeats'?"),
        ("{retries: 2}", "{retry: 2}", 11, "Did you mean 'retries'?"),
        ("query: SELECT 1, equals: 1", "query: SELECT 1", 7, "one of equals and rows"),
        ("path: note.txt, equals: 1", "path: note.txt", 8, "exactly one of contains, regex, equals and absent"),
        ("  - id: one\n", "  - id: one two\n", 4, "id is 'one two'"),
        ("finish_status: blocked", "finish_status: no", 10, "quote it"),
        ("    split: holdout\n", "    split: holdout\n    fixture: nowhere\n", 14, "there is no folder"),
        ("tags: [hostile]", "tags: hostile", 12, "tags is 'hostile'"),
        ("suite: shop\n", "", 1, "'suite' is missing"),
        ("outcome:", "outcome: reward\n    answer:", 7, "answer"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path: Path, old: str, new: str, line: int, says: str) -> None:
    assert old in GOOD
    message = load(tmp_path, GOOD.replace(old, new, 1))
    assert says in message
    assert f"cases.yaml:{line}:" in message


def test_two_cases_of_one_id_are_refused(tmp_path: Path) -> None:
    text = "suite: s\ncases:\n  - {id: a, outcome: reward}\n  - {id: a, outcome: reward}\n"
    assert "two cases share an id" in load(tmp_path, text).lower()


def test_a_case_that_checks_nothing_is_refused(tmp_path: Path) -> None:
    assert "checks nothing" in load(tmp_path, "suite: s\ncases:\n  - {id: a, task: b}\n")


@pytest.mark.parametrize("text", ["", "- a\n", "suite: [\n", "suite: s\n", "suite: s\ncases: []\n"])
def test_a_file_that_is_no_suite_is_refused(tmp_path: Path, text: str) -> None:
    assert "cases.yaml:" in load(tmp_path, text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_suite(tmp_path / "gone.yaml")
