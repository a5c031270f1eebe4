"""The fixed parts of a pairwise prompt: rules, rubric, task and reply schema, rendered once for each rubric."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from judge.prompt.rubric_text import Frame, Same, shipped_template, variables
from judge.prompt.schema import NOT_APPLICABLE, UNKNOWN, closed, list_of
from judge.types.record import fingerprint
from judge.types.rubric import Criterion, Rubric

FIRST, SECOND = "X", "Y"
"""Names of the two runs in the prompt, by place."""
TIE = "tie"


def pair_frame(rubric: Rubric) -> Frame:
    """The fixed parts for `rubric`. A template of its own is about one run, and is not used."""
    return _frame(Same(rubric))


def pair_template_version(rubric: Rubric) -> str:
    """sha256 of the fixed text and the reply schema that this rubric gives; part of every cache key."""
    return pair_frame(rubric).template


@lru_cache(maxsize=256)
def _frame(same: Same) -> Frame:
    rubric = same.rubric
    segment = shipped_template("pairwise_rubric").render(variables(rubric)).strip() + "\n"
    closing = (
        shipped_template("pairwise_closing")
        .render(
            policy=rubric.policy,
            many=len(rubric.criteria) > 1,
            ids=", ".join(criterion.id for criterion in rubric.criteria),
            shape=_shape(rubric),
            cites=any(criterion.evidence != "none" for criterion in rubric.criteria),
        )
        .strip()
    )
    system = shipped_template("pairwise_system").render().strip()
    schema = pair_schema(rubric)
    return Frame(
        system=system,
        rubric=segment,
        closing=closing,
        schema=schema,
        template=fingerprint([system, segment, closing, schema]),
        scales={criterion.id: (criterion.scale.low, criterion.scale.high) for criterion in rubric.criteria},
    )


def pair_schema(rubric: Rubric) -> dict[str, Any]:
    """Schema of the reply: reason, evidence, and the winner last; flat for one criterion, else by criterion id."""
    if len(rubric.criteria) == 1:
        return _answer(rubric.criteria[0])
    return closed({criterion.id: _answer(criterion) for criterion in rubric.criteria})


def winners(criterion: Criterion) -> tuple[str, ...]:
    """Everything that may stand under "winner"."""
    return (FIRST, SECOND, TIE, *((NOT_APPLICABLE,) if criterion.applies_when else ()), UNKNOWN)


def _answer(criterion: Criterion) -> dict[str, Any]:
    text = {"type": "string"}
    keys: dict[str, Any] = {"reason": text}
    if criterion.evidence != "none":
        keys["evidence"] = list_of(closed({"step": text, "quote": text}))
        if criterion.evidence == "required":
            keys["evidence"]["minItems"] = 1
    keys["winner"] = {"type": "string", "enum": list(winners(criterion))}
    return closed(keys)


def _shape(rubric: Rubric) -> str:
    keys = ['"reason": "..."']
    if any(criterion.evidence != "none" for criterion in rubric.criteria):
        keys.append(f'"evidence": [{{"step": "{FIRST}4", "quote": "..."}}, {{"step": "{SECOND}2", "quote": "..."}}]')
    known = {winners(criterion) for criterion in rubric.criteria}
    listed = " | ".join(f'"{word}"' for word in known.pop()) if len(known) == 1 else "one of its winners"
    return "{" + ", ".join([*keys, f'"winner": {listed}']) + "}"
