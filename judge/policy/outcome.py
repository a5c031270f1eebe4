"""Checks of what a run left behind: a database, a file, a JSON value, a program's exit status.

They look at the world and never at the trajectory. Everything is confined to the folder that the run worked in and
is only read; a command runs in a copy of it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

from judge.errors import MissingExtra, UsageError
from judge.types.json_equality import json_equal
from judge.types.metric import Check
from judge.types.suite import CommandCheck, FileCheck, JsonCheck, OutcomeCheck, SqlCheck
from judge.types.trajectory import Trajectory

SQL_SECONDS = 5.0
_MOST_BYTES = 20_000_000
_MOST_ROWS = 100_000
_READ_ONLY = {
    "postgresql": ("SET TRANSACTION READ ONLY", f"SET LOCAL statement_timeout = {int(SQL_SECONDS * 1000)}"),
    "mysql": (f"SET SESSION max_execution_time = {int(SQL_SECONDS * 1000)}", "START TRANSACTION READ ONLY"),
}
"""Elsewhere the transaction is rolled back, which undoes whatever a query did."""


class Unmeasured(Exception):
    """What should be looked at is not there to be looked at; the message says what."""


def check_outcome(
    checks: Sequence[OutcomeCheck], folder: Path | None, *, allow_commands: bool = False
) -> tuple[Check, ...]:
    """One check for each of `checks`, in order, with ids "outcome:sql", "outcome:file" and so on, numbered.

    Args:
        folder: What the run left behind; None where nothing was kept. Then every check is not applicable, and the
            attempt is unmeasured: a state that nobody saw is neither right nor wrong.
        allow_commands: Whether command checks may run; else they are not applicable.

    Raises:
        UsageError: A path leaves the folder, a query is no single SELECT, a pattern does not compile.
        MissingExtra: A SQLAlchemy URL without SQLAlchemy installed.
    """
    out = []
    for number, check in enumerate(checks, start=1):
        kind, one = _kind(check)
        id = f"outcome:{kind}" + (f":{number}" if len(checks) > 1 else "")
        try:
            problem = _problem(one, folder, allow_commands)
        except Unmeasured as error:
            out.append(Check(id=id, severity="rule", status="not_applicable", detail=f"not measured: {error}"))
            continue
        status = "failed" if problem else "passed"
        out.append(Check(id=id, severity="rule", status=status, detail=problem or _said(one)))
    return tuple(out)


def check_reward(trajectory: Trajectory) -> Check:
    """Whether the benchmark's own reward is 1 or more; not applicable where the trajectory carries none."""
    reward = trajectory.labels.get("reward")
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        detail = f"not measured: labels.reward is {reward!r}, a number was needed"
        return Check(id="outcome:reward", severity="rule", status="not_applicable", detail=detail)
    status = "passed" if reward >= 1 else "failed"
    return Check(id="outcome:reward", severity="rule", status=status, detail=f"reward {reward:g}")


Kind = SqlCheck | FileCheck | JsonCheck | CommandCheck


def _kind(check: OutcomeCheck) -> tuple[str, Kind]:
    for name, one in (("sql", check.sql), ("file", check.file), ("json", check.json_), ("command", check.command)):
        if one is not None:
            return name, one
    raise UsageError("An outcome check of no kind was given; it needs one of sql, file, json and command.")


def _said(check: Kind) -> str:
    match check:
        case SqlCheck():
            return f"{check.query} gives " + (f"{check.rows} rows" if check.rows is not None else repr(check.equals))
        case JsonCheck():
            return f"{check.at} in {check.path} is {check.equals!r}"
        case FileCheck():
            return f"{check.path} is absent" if check.absent else f"{check.path} is as wanted"
        case CommandCheck():
            return f"{check.argv[0]} ended with {check.exit}"


def _problem(check: Kind, folder: Path | None, allow_commands: bool) -> str:
    """What is wrong, or ""."""
    match check:
        case SqlCheck():
            return _sql(check, folder)
        case FileCheck():
            return _file(check, _kept(folder))
        case JsonCheck():
            return _json(check, _kept(folder))
        case CommandCheck():
            if not allow_commands:
                raise Unmeasured("commands are off; they need allow_commands: true in the suite and --allow-commands")
            return _command(check, _kept(folder))


def _kept(folder: Path | None) -> Path:
    if folder is None or not folder.is_dir():
        raise Unmeasured("nothing that the run left behind was kept")
    return folder


def inside(folder: Path, name: str) -> Path:
    """The path `name` inside `folder`.

    Raises:
        UsageError: It leads out of the folder, by "..", by being absolute or by a link.
    """
    root = folder.resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        raise UsageError(
            f"The path {name!r} leads out of the folder that is checked.",
            hint="Name a file inside the fixture, without .. and without a link that leads out of it.",
        )
    return path


def _text(path: Path, name: str) -> str | None:
    """The file's text, or None where there is no such file."""
    if not path.is_file():
        return None
    if path.stat().st_size > _MOST_BYTES:
        raise Unmeasured(f"{name} has {path.stat().st_size:,} bytes, at most {_MOST_BYTES:,} are read")
    return path.read_text(encoding="utf-8", errors="replace")


def _file(check: FileCheck, folder: Path) -> str:
    path = inside(folder, check.path)
    if check.absent is not None:
        there = path.exists()
        return "" if there != check.absent else f"{check.path} is {'there' if there else 'absent'}"
    text = _text(path, check.path)
    if text is None:
        return f"there is no file {check.path}"
    if check.equals is not None:
        return "" if text == check.equals else f"{check.path} holds {_head(text)}, wanted {_head(check.equals)}"
    if check.contains is not None:
        return "" if check.contains in text else f"{check.path} does not contain {check.contains!r}"
    pattern = check.regex or ""
    return "" if compiled(pattern).search(text) else f"{check.path} has nothing that matches {pattern!r}"


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, where ^ and $ match at lines.

    Raises:
        UsageError: It does not compile.
    """
    try:
        return re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise UsageError(f"The pattern {pattern!r} does not compile: {error}.") from None


def _head(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def _json(check: JsonCheck, folder: Path) -> str:
    text = _text(inside(folder, check.path), check.path)
    if text is None:
        return f"there is no file {check.path}"
    try:
        value = json.loads(text)
    except ValueError as error:
        return f"{check.path} is not JSON: {error}"
    for part in check.at.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return f"{check.path} has no {check.at}: nothing at {part!r}"
    return (
        "" if json_equal(value, check.equals) else f"{check.at} is {_head(json.dumps(value))}, wanted {check.equals!r}"
    )


def _sql(check: SqlCheck, folder: Path | None) -> str:
    query = _select(check.query)
    rows = _alchemy(check, query) if "://" in check.database else _sqlite(check, query, _kept(folder))
    if rows is None:
        return f"there is no database {check.database}"
    if isinstance(rows, str):
        return rows
    if check.rows is not None:
        return "" if len(rows) == check.rows else f"the query gives {len(rows)} rows, wanted {check.rows}"
    if not rows:
        return f"the query gives no row, wanted {check.equals!r}"
    value = rows[0][0]
    return "" if json_equal(value, check.equals) else f"the query gives {value!r}, wanted {check.equals!r}"


def _select(query: str) -> str:
    text = query.strip().rstrip(";").strip()
    if not re.match(r"(?i)(select|with)\b", text):
        raise UsageError(f"The query {query!r} is no SELECT.", hint="An outcome check only reads.")
    return text


def _sqlite(check: SqlCheck, query: str, folder: Path) -> list[Any] | str | None:
    import sqlite3

    path = inside(folder, check.database)
    if not path.is_file():
        return None
    # mode=ro opens no file that is not there and writes nothing; the authorizer also keeps ATTACH and PRAGMA out
    connection = sqlite3.connect(f"file:{quote(path.as_posix())}?mode=ro", uri=True, timeout=SQL_SECONDS)
    end = time.monotonic() + SQL_SECONDS
    allowed = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
    try:
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY)
        connection.set_progress_handler(lambda: int(time.monotonic() > end), 10_000)
        return connection.execute(query).fetchmany(_MOST_ROWS)
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            raise Unmeasured(f"the query took longer than {SQL_SECONDS:g} s") from None
        return f"the query fails: {error}"
    except sqlite3.DatabaseError as error:
        if "not authorized" in str(error) or "prohibited" in str(error):
            raise UsageError(f"The query {query!r} does more than read: {error}.") from None
        return f"the query fails: {error}"
    finally:
        connection.close()


def _alchemy(check: SqlCheck, query: str) -> list[Any] | str:
    if check.database.startswith("sqlite"):
        raise UsageError(
            f"The database {check.database!r} is a SQLite URL.",
            hint="Name the file inside the fixture: database: shop.db",
        )
    try:
        sqlalchemy: Any = import_module("sqlalchemy")
    except ImportError:
        raise MissingExtra(
            "The outcome check names a database by a URL, and SQLAlchemy is not installed.",
            hint="Install it with `pip install sqlalchemy`, or name a SQLite file.",
        ) from None
    engine = sqlalchemy.create_engine(check.database)
    try:
        with engine.connect() as connection:
            for statement in _READ_ONLY.get(engine.dialect.name, ()):
                connection.execute(sqlalchemy.text(statement))
            found = connection.execute(sqlalchemy.text(query)).fetchmany(_MOST_ROWS)
            connection.rollback()
            return [tuple(row) for row in found]
    except sqlalchemy.exc.OperationalError as error:
        raise Unmeasured(f"the database does not answer: {type(error.orig).__name__}") from None
    except sqlalchemy.exc.SQLAlchemyError as error:
        return f"the query fails: {type(error).__name__}"
    finally:
        engine.dispose()


def _command(check: CommandCheck, folder: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="judge-outcome-") as place:
        copy = Path(place) / "left"
        shutil.copytree(folder, copy, symlinks=True)
        try:
            done = subprocess.run(
                list(check.argv),
                cwd=copy,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=check.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"{check.argv[0]} took longer than {check.seconds:g} s"
        except OSError as error:
            raise Unmeasured(f"{check.argv[0]} cannot be run: {error.strerror}") from None
    if done.returncode == check.exit:
        return ""
    said = done.stdout.decode("utf-8", errors="replace").strip().splitlines()
    return f"{check.argv[0]} ended with {done.returncode}, wanted {check.exit}" + (
        f": {said[-1][:200]}" if said else ""
    )
