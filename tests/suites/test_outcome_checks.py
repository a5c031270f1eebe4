"""What a run left behind: each kind of check, what it refuses, and what it cannot see."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from suite_records import recorded

from judge.errors import MissingExtra, UsageError
from judge.policy.outcome import check_outcome, check_reward
from judge.types.suite import OutcomeCheck


@pytest.fixture
def left(tmp_path: Path) -> Path:
    folder = tmp_path / "left"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "shop.db")) as database, database:
        database.execute("CREATE TABLE orders (id INTEGER, status TEXT)")
        database.execute("INSERT INTO orders VALUES (90210, 'delivered')")
    (folder / "note.txt").write_text("first line\nrefund refused\n", encoding="utf-8")
    (folder / "state.json").write_text('{"orders": [{"status": "open", "total": 3}]}', encoding="utf-8")
    (tmp_path / "secret.txt").write_text("outside", encoding="utf-8")
    return folder


def status(value: dict[str, Any], folder: Path | None, **options: Any) -> str:
    (check,) = check_outcome([OutcomeCheck.from_json(value)], folder, **options)
    return check.status


SELECT = "SELECT status FROM orders WHERE id = 90210"


@pytest.mark.parametrize(
    ("check", "right"),
    [
        ({"sql": {"database": "shop.db", "query": SELECT, "equals": "delivered"}}, True),
        ({"sql": {"database": "shop.db", "query": SELECT, "equals": "refunded"}}, False),
        ({"sql": {"database": "shop.db", "query": "SELECT id FROM orders", "equals": 90210.0}}, True),
        ({"sql": {"database": "shop.db", "query": "SELECT id FROM orders", "rows": 1}}, True),
        ({"sql": {"database": "shop.db", "query": "SELECT id FROM orders WHERE id = 1", "equals": 1}}, False),
        ({"sql": {"database": "shop.db", "query": "SELECT nothing FROM orders", "equals": 1}}, False),
        ({"sql": {"database": "gone.db", "query": "SELECT 1", "equals": 1}}, False),
        ({"file": {"path": "note.txt", "contains": "refused"}}, True),
        ({"file": {"path": "note.txt", "contains": "Refused"}}, False),
        ({"file": {"path": "note.txt", "regex": "^refund .*d$"}}, True),
        ({"file": {"path": "note.txt", "equals": "first line"}}, False),
        ({"file": {"path": "gone.txt", "contains": "a"}}, False),
        ({"file": {"path": "gone.txt", "absent": True}}, True),
        ({"file": {"path": "note.txt", "absent": True}}, False),
        ({"json": {"path": "state.json", "at": "orders.0.status", "equals": "open"}}, True),
        ({"json": {"path": "state.json", "at": "orders.0.total", "equals": "3"}}, False),
        ({"json": {"path": "state.json", "at": "orders.1.status", "equals": "open"}}, False),
        ({"json": {"path": "note.txt", "at": "a", "equals": 1}}, False),
    ],
)
def test_each_kind_of_check(check: dict[str, Any], right: bool, left: Path) -> None:
    assert status(check, left) == ("passed" if right else "failed")


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "link.txt"])
def test_a_path_out_of_the_folder_is_refused(path: str, left: Path) -> None:
    (left / "link.txt").symlink_to(left.parent / "secret.txt")
    with pytest.raises(UsageError, match="leads out of the folder"):
        status({"file": {"path": path, "contains": "outside"}}, left)


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM orders",
        "PRAGMA writable_schema = 1",
        "WITH gone AS (SELECT 1) DELETE FROM orders",
        "ATTACH DATABASE 'other.db' AS other",
    ],
)
def test_a_query_that_writes_is_refused_and_changes_nothing(query: str, left: Path) -> None:
    with pytest.raises(UsageError, match=r"SELECT|more than read"):
        status({"sql": {"database": "shop.db", "query": query, "rows": 0}}, left)
    assert status({"sql": {"database": "shop.db", "query": SELECT, "equals": "delivered"}}, left) == "passed"


def test_a_query_without_end_is_unmeasured(left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judge.policy.outcome.SQL_SECONDS", 0.2)
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    assert status({"sql": {"database": "shop.db", "query": endless, "equals": 1}}, left) == "not_applicable"


def test_a_database_url_without_sqlalchemy_names_the_package(left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(MissingExtra, match="SQLAlchemy"):
        status({"sql": {"database": "postgresql://shop/orders", "query": "SELECT 1", "equals": 1}}, left)
    with pytest.raises(UsageError, match="Name the file"):
        status({"sql": {"database": "sqlite:///shop.db", "query": "SELECT 1", "equals": 1}}, left)


def test_what_nobody_kept_is_neither_right_nor_wrong() -> None:
    (check,) = check_outcome([OutcomeCheck.from_json({"file": {"path": "a", "contains": "b"}})], None)
    assert (check.status, check.detail.startswith("not measured")) == ("not_applicable", True)


def test_a_command_runs_only_when_allowed_and_in_a_copy(left: Path) -> None:
    writes = "import pathlib; pathlib.Path('note.txt').write_text('changed'); raise SystemExit(3)"
    check = {"command": {"argv": [sys.executable, "-c", writes], "exit": 3, "seconds": 300}}
    assert status(check, left) == "not_applicable"
    assert status(check, left, allow_commands=True) == "passed"
    assert (left / "note.txt").read_text(encoding="utf-8").startswith("first line")
    assert (
        status({"command": {"argv": [sys.executable, "-c", writes], "seconds": 300}}, left, allow_commands=True)
        == "failed"
    )


def test_a_command_that_hangs_fails_when_its_time_is_up(left: Path) -> None:
    hangs = {"command": {"argv": [sys.executable, "-c", "import time; time.sleep(30)"], "seconds": 0.3}}
    assert status(hangs, left, allow_commands=True) == "failed"


def test_a_shell_metacharacter_is_an_argument(left: Path) -> None:
    says = {
        "command": {
            "argv": [sys.executable, "-c", "import sys; sys.exit(len(sys.argv[1]))", "a;b"],
            "exit": 3,
            "seconds": 300,
        }
    }
    assert status(says, left, allow_commands=True) == "passed"


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        (1.0, "passed"),
        (1, "passed"),
        (0.99, "failed"),
        (0.0, "failed"),
        (None, "not_applicable"),
        (True, "not_applicable"),
    ],
)
def test_a_reward_of_one_is_right_and_no_reward_is_no_zero(reward: object, expected: str) -> None:
    assert check_reward(recorded([], labels={"reward": reward})).status == expected
