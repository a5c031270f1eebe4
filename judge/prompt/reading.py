"""The text of a rubric file → a Rubric, with every fault at its line."""

from __future__ import annotations

from jinja2 import TemplateSyntaxError
from pydantic import ValidationError

from judge.document import Document, Form, Path_, ScalarKind, read_document
from judge.errors import RubricError
from judge.prompt.rubric_text import VARIABLES, frame, undefined_names
from judge.types.rubric import Criterion, Level, RangeScale, Rubric, ViewSettings

_BOOLEANS = frozenset({"gate", "policy", "diagnostic", "reasoning", "system"})
_NUMBERS = frozenset({"weight", "gate_min", "value", "min", "max", "step", "result_chars"})


def _keys(path: Path_) -> tuple[str, ...] | None:
    if path == ():
        return tuple(Rubric.model_fields)
    if path == ("view",):
        return tuple(ViewSettings.model_fields)
    if path[0] == "criteria":
        if len(path) == 2:
            return tuple(Criterion.model_fields)
        if path[2] == "scale":
            if len(path) == 3:
                return (*RangeScale.model_fields, "levels")
            return tuple(Level.model_fields)
    return None


def _kind(path: Path_) -> ScalarKind:
    key = path[-1] if path else ""
    return "boolean" if key in _BOOLEANS else "number" if key in _NUMBERS else "text"


FORM = Form("A rubric is a YAML mapping with the keys id, version, title, intent, criteria.", _keys, _kind)
"""What a rubric file looks like."""


def read_rubric(text: str) -> tuple[Rubric | None, Document]:
    """A rubric and the file it stands in; None with at least one error among the findings where it does not load."""
    document = read_document(text, FORM)
    if document.data is None or document.findings:
        return None, document
    try:
        rubric = Rubric.model_validate(document.data)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        places = [problem["loc"] for problem in problems]
        for problem in problems:
            at = problem["loc"]
            # a list whose only item is wrong is also reported as too short
            if not any(len(other) > len(at) and other[: len(at)] == at for other in places):
                _explain(document, at, problem["type"], problem["msg"], problem.get("input"))
        return None, document
    _check_template(document, rubric)
    return (None if document.findings else rubric), document


def _check_template(document: Document, rubric: Rubric) -> None:
    if rubric.template is None:
        return
    at = ("template",)
    try:
        unknown = undefined_names(rubric.template)
    except TemplateSyntaxError as error:
        line = document.line_in(at, rubric.template, 0) + error.lineno - 1
        document.wrong(line, "template-syntax", f"The template does not parse: {error.message}.")
        return
    known = ", ".join(VARIABLES)
    for name in unknown:
        line = document.line_in(at, rubric.template, rubric.template.find(name))
        document.wrong(line, "undefined-variable", f"The template uses {name!r}, which does not exist. Known: {known}.")
    if not unknown:
        try:
            frame(rubric)
        except RubricError as error:
            document.wrong(document.line(at), "undefined-variable", error.message)


def _explain(document: Document, loc: tuple[str | int, ...], kind: str, message: str, found: object) -> None:
    """A pydantic error as a finding: at its line, naming the criterion, without type names."""
    path: tuple[str | int, ...] = ()
    for part in loc:
        if (*path, part) in document.lines:
            path = (*path, part)
    what = message.removeprefix("Value error, ")
    where = ".".join(str(part) for part in path if not isinstance(part, int))
    criterion = _criterion(document, loc)
    if kind == "missing":
        what = f"the key {loc[-1]!r} is missing"
    elif kind != "value_error":
        shown = "a mapping" if isinstance(found, dict) else "a list" if isinstance(found, list) else repr(found)[:80]
        what = f"{where or 'the rubric'} is {shown}: {what[:1].lower()}{what[1:]}"
    if kind == "value_error" and path == () and "two criteria" in what:
        path, code = _second(document, what), "duplicate-name"
    else:
        code = "invalid"
    owner = f" (criterion {criterion!r})" if criterion and repr(criterion) not in what else ""
    document.wrong(document.line(path), code, f"{what[:1].upper()}{what[1:]}{owner}.")


def _criterion(document: Document, loc: tuple[str | int, ...]) -> str | None:
    if len(loc) < 2 or loc[0] != "criteria" or not isinstance(loc[1], int) or document.data is None:
        return None
    criteria = document.data.get("criteria")
    entry = criteria[loc[1]] if isinstance(criteria, list) and loc[1] < len(criteria) else None
    name = entry.get("id") if isinstance(entry, dict) else None
    return str(name) if name else None


def _second(document: Document, message: str) -> tuple[str | int, ...]:
    """Where the second criterion of the name in `message` stands."""
    seen: set[str] = set()
    for position, entry in enumerate((document.data or {}).get("criteria", [])):
        name = str(entry.get("id"))
        if name in seen and repr(name) in message:
            return ("criteria", position, "id")
        seen.add(name)
    return ("criteria",)
