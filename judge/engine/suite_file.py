"""A suite file as a `Suite`, with every fault at its line."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from judge.document import Document, Form, Path_, ScalarKind, read_document, read_text
from judge.errors import UsageError
from judge.policy.form import FORM as POLICY
from judge.types.record import Record
from judge.types.suite import (
    AnswerCheck,
    Case,
    CaseRubric,
    CommandCheck,
    FileCheck,
    JsonCheck,
    OutcomeCheck,
    SqlCheck,
    Suite,
    TrajectoryLimits,
)

_NUMBERS = frozenset(
    {"attempts", "seconds", "max_usd", "max_steps", "tolerance", "number", "exit", "rows", "pass_mark"}
)
_INSIDE_CASE: dict[str, type[Record]] = {
    "answer": AnswerCheck,
    "trajectory": TrajectoryLimits,
    "rubric": CaseRubric,
}
_NEEDED = {
    "tuple_type": "a list was needed",
    "model_type": "a mapping was needed",
    "dict_type": "a mapping was needed",
    "string_pattern_mismatch": "letters, digits, dots, dashes and underscores were needed",
    "extra_forbidden": "there is no such key or rule",
}
_OUTCOMES: dict[str, type[Record]] = {"sql": SqlCheck, "file": FileCheck, "json": JsonCheck, "command": CommandCheck}


def _keys(path: Path_) -> tuple[str, ...] | None:
    if path == ():
        return _names(Suite)
    if path[0] != "cases" or len(path) < 2:
        return None
    if len(path) == 2:
        return _names(Case)
    if path[2] == "invariants":
        return POLICY.keys(("checks", *path[3:]))
    if path[2] == "outcome":
        if len(path) == 4:
            return _names(OutcomeCheck)
        if len(path) == 5 and str(path[4]) in _OUTCOMES:
            return _names(_OUTCOMES[str(path[4])])
        return None
    record = _INSIDE_CASE.get(str(path[2])) if len(path) == 3 else None
    return _names(record) if record else None


def _names(record: type[Record]) -> tuple[str, ...]:
    return tuple(field.alias or name for name, field in record.model_fields.items())


def _kind(path: Path_) -> ScalarKind:
    key = path[-1] if path else ""
    if "invariants" in path[:3] and len(path) > 4:
        return POLICY.kind(("checks", *path[3:]))
    if key in ("allow_commands", "absent"):
        return "boolean"
    if key == "equals" or "equals" in path:
        # what a file holds is text, what a database or JSON holds may be anything
        return "text" if "file" in path else "json"
    return "number" if key in _NUMBERS else "text"


FORM = Form("A suite is a YAML mapping with the keys suite and cases.", _keys, _kind)
"""What a suite file looks like."""


def load_suite(path: str | Path) -> Suite:
    """The suite in a YAML file.

    Raises:
        UsageError: It cannot be read, or something in it is wrong; every fault is named with its line.
    """
    file = Path(path)
    document = read_document(read_text(file, "suite", UsageError), FORM)
    suite: Suite | None = None
    if document.data is not None and not document.findings:
        try:
            suite = Suite.model_validate(document.data)
        except ValidationError as error:
            problems = error.errors(include_url=False)
            places = [problem["loc"] for problem in problems]
            for problem in problems:
                at = problem["loc"]
                # a list whose only item is wrong is also reported as too short
                if not any(len(other) > len(at) and other[: len(at)] == at for other in places):
                    _explain(document, at, problem["type"], problem["msg"], problem.get("input"))
    if suite is None:
        wrong = sorted(document.findings, key=lambda finding: finding.line)
        lines = [f"{file}:{finding.line}: {finding.message}" for finding in wrong]
        more = f"\n(and {len(lines) - 20} more)" if len(lines) > 20 else ""
        raise UsageError("\n".join(lines[:20]) + more, hint="docs/suites.md shows every key of a suite file.")
    for case in suite.cases:
        if case.fixture is not None and not (file.parent / case.fixture).is_dir():
            line = document.line(("cases", suite.cases.index(case), "fixture"))
            raise UsageError(
                f"{file}:{line}: case {case.id!r} has the fixture {case.fixture!r}, and there is no folder."
            )
    return suite


def _explain(document: Document, loc: tuple[int | str, ...], kind: str, message: str, found: object) -> None:
    """A pydantic error at its line, naming the case, without names of types."""
    path: Path_ = ()
    for part in loc:
        if (*path, part) in document.lines:
            path = (*path, part)
    # a value that fits no form of a union is reported once for each form: say it once
    if any(finding.line == document.line(path) for finding in document.findings):
        return
    what = message.removeprefix("Value error, ")
    where = ".".join(str(part) for part in path if not isinstance(part, int) and part != "cases")
    if kind == "missing":
        what = f"the key {loc[-1]!r} is missing"
    elif kind != "value_error":
        shown = "a mapping" if isinstance(found, dict) else "a list" if isinstance(found, list) else repr(found)[:80]
        what = f"{where or 'the suite'} is {shown}: {_NEEDED.get(kind) or what[:1].lower() + what[1:]}"
    document.wrong(document.line(path), "invalid", f"{what}{_owner(document, loc, what)}.")


def _owner(document: Document, loc: tuple[int | str, ...], what: str) -> str:
    cases = (document.data or {}).get("cases")
    if (
        len(loc) < 2
        or not isinstance(loc[1], int)
        or not isinstance(cases, list)
        or not isinstance(cases[loc[1]], dict)
    ):
        return ""
    name = cases[loc[1]].get("id")
    return f" (case {name!r})" if name and repr(name) not in what else ""
