"""What a policy file looks like, and its text → a Policy with every fault at its line."""

from __future__ import annotations

import re
from typing import Any, get_args

from pydantic import ValidationError

from judge.document import Document, Form, Path_, ScalarKind, read_document, suggestion
from judge.types import policy as kinds
from judge.types.policy import Cap, Policy, Rule
from judge.types.record import Record
from judge.types.trajectory import OutcomeStatus

_RECORDS: dict[str, type[Record]] = {
    "before": kinds.Before,
    "approval": kinds.ApprovalRule,
    "allowed": kinds.AllowedRule,
    "sum": kinds.SumRule,
    "from_result": kinds.FromResultRule,
    "arguments": kinds.SchemaRule,
    "no_credentials": kinds.CredentialsRule,
    "read_before_write": kinds.ReadBeforeWrite,
    "read_before_mutation": kinds.ReadBeforeMutation,
    "no_repeats": kinds.NoRepeats,
    "custom": kinds.CustomRule,
}
"""The kinds of rule that are mappings with fixed keys."""


def _keys(path: Path_) -> tuple[str, ...] | None:
    if path == ():
        return tuple(Policy.model_fields)
    if path[0] != "checks":
        return None
    if len(path) == 2:
        return tuple(Rule.model_fields)
    if len(path) == 3:
        record = _RECORDS.get(str(path[2]))
        if record is not None:
            return tuple(field.alias or name for name, field in record.model_fields.items())
        if path[2] == "at_most":
            return get_args(Cap)
        if path[2] == "finish_agrees":
            return get_args(OutcomeStatus)
    return None


def _kind(path: Path_) -> ScalarKind:
    if len(path) < 3 or path[0] != "checks":
        return "text"
    inner = path[2:]
    if inner[-1] == "at_most" or inner[0] == "at_most":
        return "number"
    if inner == ("allowed", "optional"):
        return "boolean"
    switches = (("no_credentials",), ("no_repeats",), ("finish_agrees",))
    free = (("allowed", "values"), ("arguments", "schema"), ("custom", "parameters"))
    return "json" if inner in switches or inner[:2] in free else "text"


FORM = Form("A policy is a YAML mapping with the keys id and checks.", _keys, _kind)
"""The keys of a policy file and how its plain values are read."""


def read_policy(text: str) -> tuple[Policy | None, Document]:
    """A policy and the file it stands in; None with at least one error among the findings where it does not load."""
    document = read_document(text, FORM)
    if document.data is None or document.findings:
        return None, document
    try:
        return Policy.model_validate(document.data), document
    except ValidationError as error:
        problems = error.errors(include_url=False)
        places = [problem["loc"] for problem in problems]
        for problem in problems:
            at = problem["loc"]
            # a list whose only item is wrong is also reported as too short
            if not any(len(other) > len(at) and other[: len(at)] == at for other in places):
                _explain(document, at, problem["type"], problem["msg"], problem.get("input"))
    return None, document


def _explain(document: Document, loc: Path_, kind: str, message: str, found: Any) -> None:
    """A pydantic error as a finding: at its line, naming the key and the check, without type names."""
    path: Path_ = ()
    for part in loc:
        if (*path, part) in document.lines:
            path = (*path, part)
    where = ".".join(str(part) for part in path if not isinstance(part, int)) or "the policy"
    if kind == "missing":
        what = f"{where} lacks the key {loc[-1]!r}: add it"
    elif kind == "value_error":
        what = message.removeprefix("Value error, ")
    elif kind == "literal_error":
        legal = tuple(re.findall(r"'([^']*)'", message))
        what = f"{where} is {str(found)!r}. {suggestion(str(found), legal)}"
    else:
        shown = "a mapping" if isinstance(found, dict) else "a list" if isinstance(found, list) else repr(found)[:80]
        what = f"{where} is {shown}: {message[:1].lower()}{message[1:]}"
        if len(path) == 3 and path[2] in _RECORDS and kind == "model_type":
            what = f"{where} is {shown}, needed a mapping with {', '.join(_keys(path) or ())}"
    document.wrong(document.line(path), "invalid", what if what.endswith(("?", ".")) else f"{what}.")
