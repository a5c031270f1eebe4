"""Dawid–Skene: the true classes and each rater's confusion, from labels alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judge.calibration.ratings import MISSING, Codes
from judge.calibration.resampling import Floats
from judge.errors import StatisticsError
from judge.types.record import Record


class Consensus(Record):
    """Attributes:
    classes: Most likely class of each item.
    probabilities: Of each class, one row an item.
    priors: Share of each class.
    accuracy: Of each rater under its estimated confusion.
    """

    classes: tuple[int, ...]
    probabilities: tuple[tuple[float, ...], ...]
    priors: tuple[float, ...]
    accuracy: tuple[float, ...]


def dawid_skene(codes: Codes, categories: int, *, rounds: int = 200, smoothing: float = 0.01) -> Consensus:
    """Expectation maximisation from the majority vote.

    Args:
        codes: Shape (raters, items), -1 where missing.
        categories: Size of the domain.

    When not to use: for judges of one family, whose errors go together: it then reports their shared error with
    confidence. Compare with the plain majority.

    Raises:
        StatisticsError: Fewer than three raters (two cannot be told apart), or an item without a label.

    Source: Dawid & Skene 1979, doi:10.2307/2346806.
    """
    raters, items = codes.shape
    if raters < 3:
        raise StatisticsError(f"{raters} raters, three needed: two cannot be told apart.")
    if ((codes != MISSING).sum(0) == 0).any():
        raise StatisticsError("An item has no label.", hint="Leave it out.")
    marks: NDArray[np.float64] = np.stack([(codes == place) for place in range(categories)], axis=2).astype(np.float64)
    believed: Floats = marks.sum(0)
    believed = believed / believed.sum(1, keepdims=True)
    confusion = np.empty((raters, categories, categories))
    priors = believed.mean(0)
    for _ in range(rounds):
        priors = (believed.sum(0) + smoothing) / (items + categories * smoothing)
        confusion = np.einsum("ik,ril->rkl", believed, marks) + smoothing
        confusion /= confusion.sum(2, keepdims=True)
        score = np.log(priors)[None, :] + np.einsum("ril,rkl->ik", marks, np.log(confusion))
        score -= score.max(1, keepdims=True)
        fresh = np.exp(score)
        fresh /= fresh.sum(1, keepdims=True)
        if float(np.abs(fresh - believed).max()) < 1e-9:
            believed = fresh
            break
        believed = fresh
    return Consensus(
        classes=tuple(int(place) for place in believed.argmax(1)),
        probabilities=tuple(tuple(float(p) for p in row) for row in believed),
        priors=tuple(float(p) for p in priors),
        accuracy=tuple(float((priors * np.diag(matrix)).sum()) for matrix in confusion),
    )
