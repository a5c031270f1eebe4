"""The ceiling: do people agree with the judge as well as they agree with each other?

Both sides use pooled margins (Scott's pi, weighted as asked; Krippendorff's alpha without its small-sample term), on
the same items: every item with two people or more and the judge counts once, its pairs of people share its weight,
and so do its pairs of one person and the judge. The difference is taken inside each resample, so that luck with
items cancels.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from judge.calibration.alpha import code_matrix
from judge.calibration.ratings import MISSING, Codes, LabelValue, cluster_codes, encode
from judge.calibration.resampling import DRAWS, Floats, bounded, linear, sum_by_cluster
from judge.calibration.table import Weighting, coefficient
from judge.errors import StatisticsError
from judge.types.estimate import Statistic
from judge.types.record import Record

USABLE = 0.4
"""Below this lower bound of human–human agreement the labels cannot certify anybody."""


class Ceiling(Record):
    """Human–human agreement, judge–human agreement, and their difference (above 0: the judge agrees better).

    Attributes:
        labels_usable: Whether the lower bound of human–human agreement reaches 0.4; None where there is no bound.
        items: Items with two people or more and the judge.
    """

    human_human: Statistic
    judge_human: Statistic
    difference: Statistic
    labels_usable: bool | None
    items: int
    raters: int


def pair_rows(humans: Codes, judge: Codes, categories: int) -> tuple[Floats, Floats]:
    """Symmetrised pair tables of each item, flattened, each summing to 1: people with people, people with the judge."""
    n = humans.shape[1]
    counts = np.stack([(humans == place).sum(0) for place in range(categories)], axis=1).astype(np.float64)
    m = counts.sum(1)
    both = counts[:, :, None] * counts[:, None, :]
    places = np.arange(categories)
    both[:, places, places] -= counts
    among = both / (m * (m - 1))[:, None, None]
    verdict = np.zeros((n, categories))
    verdict[np.arange(n), judge] = 1.0
    mixed = counts[:, :, None] * verdict[:, None, :] / m[:, None, None]
    mixed = (mixed + mixed.transpose(0, 2, 1)) / 2
    return among.reshape(n, categories**2), mixed.reshape(n, categories**2)


def ceiling(
    humans: Sequence[Sequence[LabelValue]],
    judge: Sequence[LabelValue],
    *,
    domain: Sequence[LabelValue],
    weights: Weighting = "unweighted",
    groups: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
    confidence: float = 0.95,
    draws: int = DRAWS,
) -> Ceiling:
    """Judge–human against human–human agreement, clusters resampled jointly.

    Args:
        humans: One row a person, one entry an item, None where missing.
        judge: One verdict an item.

    Returns:
        Null statistics where no item has two people and the judge, or one class only is seen.

    Raises:
        StatisticsError: Rows of different length.
        LabelError: A label outside the domain.
    """
    people = code_matrix(humans, domain)
    verdict = encode(judge, domain, what="verdicts")
    if people.shape[1] != len(verdict):
        raise StatisticsError(f"{people.shape[1]} labelled items against {len(verdict)} verdicts.")
    kept = ((people != MISSING).sum(0) >= 2) & (verdict != MISSING)
    cluster = cluster_codes(groups, len(verdict))[kept]
    dense = np.unique(cluster, return_inverse=True)[1].astype(np.int64)
    size = len(domain)
    items = int(kept.sum())
    among, mixed = pair_rows(people[:, kept], verdict[kept], size)
    rows = sum_by_cluster(np.concatenate([among, mixed], axis=1), dense)
    scale = items / max(1, len(rows))
    cells = size**2
    # a pseudo-item for every pair of cells would be K⁴ rows: the two tables get theirs side by side
    symmetric = (np.eye(cells) + np.eye(cells).reshape(cells, size, size).transpose(0, 2, 1).reshape(cells, cells)) / 2
    flat = np.full((cells, cells), 1 / cells)
    pseudo = (
        np.concatenate([np.concatenate([symmetric, flat], axis=1), np.concatenate([flat, symmetric], axis=1)]) * scale
    )
    mass = 0.5 / cells

    def of(place: int, sums: Floats) -> Floats:
        table = sums[:, place * cells : (place + 1) * cells].reshape(-1, size, size)
        return coefficient(table, "scott", weights)

    because = "no item has two people and the judge" if not items else "only one class observed"

    def one(place: int) -> Statistic:
        half = rows[:, place * cells : (place + 1) * cells]
        statistic = linear(
            half, lambda sums: coefficient(sums.reshape(-1, size, size), "scott", weights), symmetric * scale, 1 / cells
        )
        return bounded(statistic, n=items, rng=rng, confidence=confidence, draws=draws, undefined_because=because)

    human_human = one(0)
    return Ceiling(
        human_human=human_human,
        judge_human=one(1),
        difference=bounded(
            linear(rows, lambda sums: of(1, sums) - of(0, sums), pseudo, mass),
            n=items,
            rng=rng,
            confidence=confidence,
            draws=draws,
            transform="none",
            undefined_because=because,
        ),
        labels_usable=None if human_human.lower is None else human_human.lower >= USABLE,
        items=items,
        raters=len(people),
    )
