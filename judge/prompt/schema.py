"""The JSON Schema of a reply: reason and evidence first, the score last, and only legal scores.

It stays inside what OpenAI's strict mode, Anthropic's structured outputs and llama.cpp's grammars all
understand: every object closed, every key required, no bounds on numbers or lengths. What a schema cannot
hold, the parser checks.
"""

from __future__ import annotations

from typing import Any

from judge.types.rubric import BinaryScale, Criterion, LevelScale, RangeScale, Rubric

NOT_APPLICABLE = "not_applicable"
UNKNOWN = "unknown"
_MOST_VALUES = 21
"""Values of a grid that are listed one by one; a finer scale is a free number."""


def reply_schema(rubric: Rubric) -> dict[str, Any]:
    """Schema for the whole reply: a flat object for one criterion, else an object keyed by criterion id."""
    if len(rubric.criteria) == 1:
        return _answer(rubric, rubric.criteria[0])
    return closed({criterion.id: _answer(rubric, criterion) for criterion in rubric.criteria})


def legal_values(criterion: Criterion) -> tuple[float, ...] | None:
    """Every score that the scale allows, worst first, or None where they are too many to list."""
    scale = criterion.scale
    if isinstance(scale, LevelScale):
        return tuple(float(level.value) for level in scale.levels)
    if isinstance(scale, BinaryScale):
        return (0.0, 1.0)
    if scale.step is None or (scale.max - scale.min) / scale.step > _MOST_VALUES - 1:
        return None
    count = int((scale.max - scale.min) / scale.step + 1e-9) + 1
    return tuple(round(scale.min + k * scale.step, 10) for k in range(count))


def score_words(criterion: Criterion) -> tuple[str, ...]:
    """Scores that are words: pass and fail, and the ways of giving none."""
    words = ("pass", "fail") if isinstance(criterion.scale, BinaryScale) else ()
    return (*words, *((NOT_APPLICABLE,) if criterion.applies_when else ()), UNKNOWN)


def number(value: float) -> int | float:
    """`value` as it stands in JSON: without a point where it is whole."""
    return int(value) if float(value).is_integer() else value


def _score(criterion: Criterion) -> dict[str, Any]:
    words = {"type": "string", "enum": list(score_words(criterion))}
    scale = criterion.scale
    if isinstance(scale, BinaryScale):
        return words
    values = legal_values(criterion)
    if values is None:
        whole = isinstance(scale, RangeScale) and _is_whole(scale.min) and _is_whole(scale.step)
        return {"anyOf": [{"type": "integer" if whole else "number"}, words]}
    numbers = [number(value) for value in values]
    kind = "integer" if all(isinstance(value, int) for value in numbers) else "number"
    return {"anyOf": [{"type": kind, "enum": numbers}, words]}


def _is_whole(value: float | None) -> bool:
    return value is not None and float(value).is_integer()


def _answer(rubric: Rubric, criterion: Criterion) -> dict[str, Any]:
    text = {"type": "string"}
    step = {"type": "integer"}
    keys: dict[str, Any] = {}
    if rubric.procedure == "requirements":
        met = {"type": "string", "enum": ["yes", "no", "unknown"]}
        steps = {"type": "array", "items": step}
        keys["requirements"] = list_of(closed({"id": text, "steps": steps, "quote": text, "met": met}))
        keys["wrong_steps"] = list_of(closed({"step": step, "why": text}))
        keys["failure_case"] = text
    keys["reason"] = text
    if criterion.evidence != "none":
        keys["evidence"] = list_of(closed({"step": step, "quote": text}))
        if criterion.evidence == "required":
            keys["evidence"]["minItems"] = 1
    keys["score"] = _score(criterion)
    return closed(keys)


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    """An object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def list_of(items: dict[str, Any]) -> dict[str, Any]:
    """A list of any length."""
    return {"type": "array", "items": items}
