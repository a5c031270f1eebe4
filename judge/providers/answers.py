"""The reply JSON of judges that call no model, in the form that the request's schema asks for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from judge.types.record import Record
from judge.types.request import Request

PASS, FAIL = "pass", "fail"
UNKNOWN, NOT_APPLICABLE = "unknown", "not_applicable"


class Answer(Record):
    """An answer to one criterion.

    Attributes:
        score: A number on the criterion's scale, or one of the words "pass", "fail", "unknown", "not_applicable".
        evidence: (step, quote) pairs; an empty quote cites the step alone.
    """

    score: float | str
    reason: str
    evidence: tuple[tuple[int, str], ...] = ()


def write(request: Request, answers: Mapping[str, Answer]) -> str:
    """The reply as JSON text: flat for one criterion, keyed by criterion id for several, the score last."""
    names = list(request.subject.criteria)
    written = {name: _one(answers[name], _schema(request, name)) for name in names if name in answers}
    body: Any = written.get(names[0], {}) if len(names) == 1 else written
    return json.dumps(body, ensure_ascii=False)


def on_scale(request: Request, criterion: str, share: float) -> float | str:
    """The legal value nearest to `share` of the way from the worst (0) to the best (1); of two, the lower.

    A binary scale is passed from one half up.
    """
    low, high = request.subject.criteria[criterion]
    legal = legal_scores(_schema(request, criterion))
    if PASS in legal and FAIL in legal:
        return PASS if share >= 0.5 else FAIL
    numbers = [value for value in legal if isinstance(value, int | float)]
    aim = low + share * (high - low)
    if not numbers:
        return round(aim, 6)
    return min(sorted(numbers), key=lambda value: abs(value - aim))


def legal_scores(schema: Mapping[str, Any]) -> tuple[Any, ...]:
    """Values that the schema of one answer lists for its score; empty where any number will do."""
    score = schema.get("properties", {}).get("score", {})
    found: list[Any] = []
    for option in [score, *score.get("anyOf", ()), *score.get("oneOf", ())]:
        found += option.get("enum", ())
        if "const" in option:
            found.append(option["const"])
    return tuple(found)


def _schema(request: Request, criterion: str) -> Mapping[str, Any]:
    properties = request.reply_schema.get("properties", {})
    inner = properties.get(criterion)
    found: Mapping[str, Any] = inner if isinstance(inner, dict) and "properties" in inner else request.reply_schema
    return found


def _one(answer: Answer, schema: Mapping[str, Any]) -> dict[str, Any]:
    evidence: Sequence[dict[str, Any]] = [{"step": step, "quote": quote} for step, quote in answer.evidence]
    own = {"reason": answer.reason, "evidence": evidence, "score": _spelled(answer.score, legal_scores(schema))}
    extra = {"requirements": [], "wrong_steps": [], "failure_case": ""}
    properties = schema.get("properties", {})
    before = {name: value for name, value in extra.items() if name in properties}
    return {**before, **own}


def _spelled(score: float | str, legal: Sequence[Any]) -> Any:
    if isinstance(score, str):
        return score
    if PASS in legal and FAIL in legal and score in (0, 1):
        return PASS if score == 1 else FAIL
    return int(score) if float(score).is_integer() else score
