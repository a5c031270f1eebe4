"""The fixed parts of a prompt: everything that a rubric decides, rendered once and kept.

Templates run in jinja2's immutable sandbox with undefined names as errors. Text of a run never goes
through a template: it is joined to the rendered parts afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from judge.errors import RubricError
from judge.prompt.schema import legal_values, number, reply_schema, score_words
from judge.types.record import fingerprint
from judge.types.rubric import BinaryScale, Criterion, LevelScale, Rubric

VARIABLES = ("id", "title", "intent", "criteria", "procedure", "policy")
"""What a rubric's own template may use; docs/rubrics.md says what each holds."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What is equal for every run under one rubric.

    Attributes:
        system: Fixed rules.
        rubric, closing: First and last segment of the user text.
        schema: JSON Schema of the reply.
        template: sha256 of all of the above.
        scales: Criterion id to (low, high).
    """

    system: str
    rubric: str
    closing: str
    schema: dict[str, Any]
    template: str
    scales: dict[str, tuple[float, float]]


class Same:
    """A rubric as a key by identity: records with dicts in them have no hash, and frozen ones need none."""

    __slots__ = ("rubric",)

    def __init__(self, rubric: Rubric) -> None:
        self.rubric = rubric

    def __hash__(self) -> int:
        return id(self.rubric)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.rubric is self.rubric


def frame(rubric: Rubric) -> Frame:
    """The fixed parts for `rubric`, from memory after the first call.

    Raises:
        RubricError: The rubric's own template does not compile or names an unknown variable.
    """
    return _frame(Same(rubric))


def template_version(rubric: Rubric) -> str:
    """sha256 of the fixed text and the reply schema that this rubric gives; part of every cache key."""
    return frame(rubric).template


@lru_cache(maxsize=256)
def _frame(same: Same) -> Frame:
    rubric = same.rubric
    values = variables(rubric)
    own = rubric.template
    try:
        segment = (shipped_template("rubric") if own is None else environment().from_string(own)).render(values)
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise RubricError(
            f"The template of rubric {rubric.id!r} does not render: {error}.",
            hint=f"Known variables: {', '.join(VARIABLES)}.",
        ) from None
    cites = any(criterion.evidence != "none" for criterion in rubric.criteria) or rubric.procedure == "requirements"
    closing = shipped_template("closing").render(
        procedure=rubric.procedure,
        policy=rubric.policy,
        many=len(rubric.criteria) > 1,
        ids=", ".join(criterion.id for criterion in rubric.criteria),
        shape=_shape(rubric),
        cites=cites,
    )
    system = shipped_template("system").render().strip()
    schema = reply_schema(rubric)
    return Frame(
        system=system,
        rubric=segment.strip() + "\n",
        closing=closing.strip(),
        schema=schema,
        template=fingerprint([system, segment, closing, schema]),
        scales={criterion.id: (criterion.scale.low, criterion.scale.high) for criterion in rubric.criteria},
    )


@cache
def environment() -> ImmutableSandboxedEnvironment:
    """The sandbox that every template runs in."""
    return ImmutableSandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


@cache
def shipped_template(name: str) -> Template:
    """A template of this package by its name."""
    source = files("judge.prompt").joinpath("templates", f"{name}.jinja").read_text(encoding="utf-8")
    return environment().from_string(source)


def undefined_names(template: str) -> tuple[str, ...]:
    """Variables that `template` uses and that do not exist, sorted.

    Raises:
        jinja2.TemplateSyntaxError: `template` does not parse; it has the line.
    """
    used = meta.find_undeclared_variables(environment().parse(template))
    return tuple(sorted(used - set(VARIABLES)))


def variables(rubric: Rubric) -> dict[str, Any]:
    """The values of `VARIABLES`, as plain built-ins."""
    return {
        "id": rubric.id,
        "title": rubric.title,
        "intent": rubric.intent.strip(),
        "criteria": [_criterion(criterion) for criterion in rubric.criteria],
        "procedure": rubric.procedure,
        "policy": rubric.policy,
    }


def _criterion(criterion: Criterion) -> dict[str, Any]:
    return {
        "id": criterion.id,
        "question": criterion.question.strip(),
        "counts": criterion.counts.strip(),
        "not_counts": criterion.not_counts.strip(),
        "levels": _levels(criterion),
        "applies_when": (criterion.applies_when or "").strip().rstrip("."),
        "cite": criterion.cite.strip(),
        "evidence": criterion.evidence,
        "gate": criterion.gate,
    }


def _levels(criterion: Criterion) -> list[dict[str, str]]:
    scale = criterion.scale
    said = {key.strip(): text.strip() for key, text in criterion.anchors.items()}
    if isinstance(scale, LevelScale):
        return [
            {
                "score": str(level.value),
                "name": level.name,
                "anchor": (level.anchor or said.get(str(level.value)) or said.get(level.name) or "").strip(),
            }
            for level in scale.levels
        ]
    if isinstance(scale, BinaryScale):
        return [{"score": word, "name": "", "anchor": said.get(word, "")} for word in ("fail", "pass")]
    ends = {str(number(scale.low)): "worst", str(number(scale.high)): "best"}
    keys = sorted({*ends, *said}, key=_as_number)
    return [{"score": key, "name": ends.get(key, ""), "anchor": said.get(key, "")} for key in keys]


def _as_number(key: str) -> float:
    try:
        return float(key)
    except ValueError:
        return float("inf")


def _shape(rubric: Rubric) -> str:
    """The keys of an answer as a line of JSON, with the legal scores where they are the same for all criteria."""
    keys: list[str] = []
    if rubric.procedure == "requirements":
        keys.append('"requirements": [{"id": "...", "steps": [4], "quote": "...", "met": "yes|no|unknown"}]')
        keys.append('"wrong_steps": [{"step": 3, "why": "..."}]')
        keys.append('"failure_case": "..."')
    keys.append('"reason": "..."')
    if any(criterion.evidence != "none" for criterion in rubric.criteria):
        keys.append('"evidence": [{"step": 4, "quote": "..."}]')
    scores = {_scores(criterion) for criterion in rubric.criteria}
    keys.append(f'"score": {scores.pop()}' if len(scores) == 1 else '"score": one of its scores')
    return "{" + ", ".join(keys) + "}"


def _scores(criterion: Criterion) -> str:
    words = [f'"{word}"' for word in score_words(criterion)]
    if isinstance(criterion.scale, BinaryScale):
        return " | ".join(words)
    values = legal_values(criterion)
    if values is None:
        low, high = number(criterion.scale.low), number(criterion.scale.high)
        return " | ".join([f"a number from {low} to {high}", *words])
    return " | ".join([*(str(number(value)) for value in values), *words])
