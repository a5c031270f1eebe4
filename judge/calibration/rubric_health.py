"""Whether a judge uses its scale: saturation, resolution, and reasons that contradict their scores."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from judge.calibration.findings import RubricHealth

FAULT = re.compile(r"\b(fail\w*|wrong\w*|error\w*|never|missing|skipp\w*|invent\w*|without approval|unsafe)\b", re.I)
PRAISE = re.compile(
    r"\b(no (errors?|faults?|problems?)|every requirement|all requirements|perfect\w*|flawless\w*)\b", re.I
)


def rubric_health(
    items: Sequence[str],
    scores: Sequence[float | None],
    reasons: Mapping[str, str],
    *,
    low: float,
    high: float,
    legal: int | None,
) -> RubricHealth | None:
    """The health of one criterion from its scores; None without any.

    Args:
        items, scores: Of the same runs, in the same order; None where a run has no score.
        reasons: Item to the judge's reason. A reason at the top that speaks of a fault, or at the bottom that speaks
            of none, is listed for a person to read; the score stays as it is.
        low, high: Ends of the scale. `legal` is the number of its values, None where any number between is legal.
    """
    known = np.asarray([score for score in scores if score is not None], dtype=np.float64)
    if not len(known):
        return None
    distinct = len(np.unique(known))
    return RubricHealth(
        saturation=float((known == high).mean()),
        values_used=distinct,
        values_legal=legal,
        constant=distinct == 1,
        contradictions=tuple(
            item
            for item, score in zip(items, scores, strict=True)
            if (reason := reasons.get(item))
            and (
                (score == high and FAULT.search(reason) and not PRAISE.search(reason))
                or (score == low and PRAISE.search(reason))
            )
        ),
    )
