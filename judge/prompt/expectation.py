"""The mean score under the judge's own token probabilities, where a reply carries them.

The alternatives of the one token that says the score are renormalised over the legal scores; what fell
elsewhere is kept as the illegal mass. Probabilities are taken before any grammar, so that mass is real.
"""

from __future__ import annotations

import math
import re

from judge.prompt.schema import legal_values, number
from judge.types.request import Reply, TokenLogprob
from judge.types.rubric import BinaryScale, Criterion, Rubric

_SCORE = re.compile(r'(?<!\\)"score"\s*:\s*"?')


def expectations(reply: Reply, rubric: Rubric) -> dict[str, tuple[float, float]]:
    """Criterion id → (expected score, illegal mass in [0, 1]).

    A criterion is left out where there are no log-probabilities, where its scores are not single tokens
    (two legal texts of which one begins the other, or a free number), or where the score cannot be located.
    """
    if not reply.logprobs:
        return {}
    joined = "".join(token.token for token in reply.logprobs)
    places = [found.end() for found in _SCORE.finditer(joined)]
    if len(rubric.criteria) == 1:
        places = places[-1:]
    elif len(places) != len(rubric.criteria) or not _in_order(joined, places, rubric):
        return {}
    out: dict[str, tuple[float, float]] = {}
    for criterion, place in zip(rubric.criteria, places, strict=False):
        legal = _legal_texts(criterion)
        token = _token_at(reply.logprobs, place)
        if legal and token is not None and (value := _mean(token, legal)) is not None:
            out[criterion.id] = value
    return out


def _in_order(joined: str, places: list[int], rubric: Rubric) -> bool:
    start = 0
    for criterion, place in zip(rubric.criteria, places, strict=True):
        if f'"{criterion.id}"' not in joined[start:place]:
            return False
        start = place
    return True


def _legal_texts(criterion: Criterion) -> dict[str, float]:
    if isinstance(criterion.scale, BinaryScale):
        return {"fail": 0.0, "pass": 1.0}
    texts = {str(number(value)): value for value in legal_values(criterion) or ()}
    if any(a != b and b.startswith(a) for a in texts for b in texts):
        return {}
    return texts


def _token_at(tokens: tuple[TokenLogprob, ...], place: int) -> TokenLogprob | None:
    """The token that begins at `place`, or that holds the first character there after blanks and a quote mark."""
    start = 0
    for token in tokens:
        end = start + len(token.token)
        if start <= place < end:
            return token if not token.token[: place - start].strip(' \t\n":') else None
        start = end
    return None


def _mean(token: TokenLogprob, legal: dict[str, float]) -> tuple[float, float] | None:
    alternatives = dict(token.top)
    alternatives.setdefault(token.token, token.logprob)
    weights: dict[str, float] = {}
    for text, logprob in alternatives.items():
        word = text.strip(' \t\n":,}')
        if word in legal and math.isfinite(logprob):
            weights[word] = weights.get(word, 0.0) + math.exp(logprob)
    total = math.fsum(weights.values())
    if total <= 0:
        return None
    mean = math.fsum(legal[word] * weight for word, weight in weights.items()) / total
    return mean, min(1.0, max(0.0, 1.0 - total))
