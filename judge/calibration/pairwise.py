"""Which of two runs is better: verdicts in both orders, and a ranking from them.

A verdict is 1 (the first run of the pair is better), 2 (the second) or 0 (a tie), always named by the pair and not
by the place in the prompt. Where the two orders disagree the pair is inconclusive: it was decided by the order.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from judge.calibration.bradley_terry import bradley_terry
from judge.calibration.proportions import share
from judge.calibration.ratings import cluster_codes
from judge.errors import StatisticsError
from judge.types.estimate import Statistic, undefined
from judge.types.record import Record

Winner = Literal[0, 1, 2]
MAX_LOST = 0.05
"""Share of resamples that may have no finite strengths before intervals are withheld."""


@dataclass(frozen=True)
class Contest:
    """Two runs of one task, judged in both orders; None where an order gave no verdict.

    Attributes:
        first, second: What is ranked: agents, or runs.
        ab, ba: Winner when the first run stood first, and when it stood second.
        label: Winner by people, or None.
    """

    first: str
    second: str
    ab: Winner | None
    ba: Winner | None
    label: Winner | None = None
    group: Hashable = None

    @property
    def outcome(self) -> Winner | None:
        """The winner by both orders; None where they disagree, or one gave no verdict."""
        return self.ab if self.ab is not None and self.ab == self.ba else None


class OrderReport(Record):
    """A pairwise judge against people, and against itself in the other order.

    Attributes:
        accuracy: Share of the people's winner, each order a verdict of its own (what papers report).
        agreement: Share of pairs on which both orders name the same winner.
        right_if_agreed: Share of the people's winner among those pairs: orders may agree and be wrong.
        first_place: Share of verdicts for the run that stood first, among pairs whose orders disagree; .5 is no bias.
        inconclusive: Pairs whose orders disagree. `failed`: pairs with an order without a verdict; they count as
            disagreement and as wrong.
    """

    omit_none: ClassVar[bool] = False

    n: int
    accuracy: Statistic
    agreement: Statistic
    right_if_agreed: Statistic
    first_place: float | None
    inconclusive: int
    failed: int


class Strength(Record):
    """Bradley–Terry strength of one contestant; strengths sum to 1.

    The interval is null where too many resamples have no finite strengths, and where all tasks say the same.
    """

    omit_none: ClassVar[bool] = False

    name: str
    strength: float
    low: float | None
    high: float | None
    wins: float
    losses: float


def order_report(contests: Sequence[Contest], *, rng: np.random.Generator) -> OrderReport:
    """Accuracy, agreement of the two orders, and the pull of the first place.

    Raises:
        StatisticsError: No pair.

    Source: Zeng et al. 2024 (LLMBar), arXiv 2310.07641, for accuracy as the mean over orders.
    """
    if not contests:
        raise StatisticsError("No pair to report on.")
    groups = [i if c.group is None else c.group for i, c in enumerate(contests)]
    labelled = [(c, g) for c, g in zip(contests, groups, strict=True) if c.label is not None]
    agreed = [c.outcome is not None for c in contests]
    settled = [(c, g) for c, g in labelled if c.outcome is not None]
    split = [c for c in contests if c.ab is not None and c.ba is not None and c.ab != c.ba]
    # with the first run standing second, winner 2 is the run that stood first
    pulls = [hit for c in split for hit, tied in ((c.ab == 1, c.ab == 0), (c.ba == 2, c.ba == 0)) if not tied]
    none = undefined("no pair has a label", n=0)
    return OrderReport(
        n=len(contests),
        accuracy=share(
            [((c.ab == c.label) + (c.ba == c.label)) / 2 for c, _ in labelled], groups=[g for _, g in labelled], rng=rng
        )
        if labelled
        else none,
        agreement=share(np.asarray(agreed, dtype=np.float64), groups=groups, rng=rng),
        right_if_agreed=share(
            [float(c.outcome == c.label) for c, _ in settled], groups=[g for _, g in settled], rng=rng
        )
        if settled
        else none,
        first_place=float(np.mean(pulls)) if pulls else None,
        inconclusive=len(split),
        failed=sum(c.ab is None or c.ba is None for c in contests),
    )


def wins_of(contests: Sequence[Contest], *, split_is_tie: bool = True) -> tuple[tuple[str, ...], np.ndarray]:
    """Names and wins[i, j]; a tie is half a win each, failed pairs are left out.

    Args:
        split_is_tie: Whether a pair whose orders disagree is half a win each as well; else it is left out.
    """
    names = tuple(sorted({name for c in contests for name in (c.first, c.second)}))
    place = {name: i for i, name in enumerate(names)}
    wins = np.zeros((len(names), len(names)))
    for contest in contests:
        if contest.ab is None or contest.ba is None or (contest.outcome is None and not split_is_tie):
            continue
        i, j = place[contest.first], place[contest.second]
        won = {1: 1.0, 2: 0.0, 0: 0.5, None: 0.5}[contest.outcome]
        wins[i, j] += won
        wins[j, i] += 1 - won
    return names, wins


def strengths(
    contests: Sequence[Contest],
    *,
    rng: np.random.Generator,
    resamples: int = 500,
    confidence: float = 0.95,
    pseudo_wins: float = 0.0,
    split_is_tie: bool = True,
) -> tuple[Strength, ...]:
    """Bradley–Terry strengths, best first, with intervals over resampled tasks.

    An interval is logit(strength) ± t · s: s is the standard error over resamples, √(G/(G-1)) larger for G tasks; t has
    G-1 degrees. Percentiles cover too little at few tasks (docs/methods.md).

    Args:
        split_is_tie: See `wins_of`.

    Raises:
        StatisticsError: Some contestants are not tied together by wins in both directions; see `bradley_terry`.

    Source: `judge.calibration.bradley_terry`. When not to use: where preferences are circular (A over B over C over
    A): one number a contestant cannot say that.
    """
    names, wins = wins_of(contests, split_is_tie=split_is_tie)
    found = bradley_terry(wins, pseudo_wins=pseudo_wins)
    groups = [i if c.group is None else c.group for i, c in enumerate(contests)]
    cluster = cluster_codes(groups, len(contests))
    count = int(cluster.max()) + 1
    by_task = np.stack(
        [
            _wins_among(names, [c for c, k in zip(contests, cluster, strict=True) if k == task], split_is_tie)
            for task in range(count)
        ]
    )
    drawn = []
    for _ in range(resamples if count > 1 else 0):
        weight = np.bincount(rng.integers(count, size=count), minlength=count).astype(np.float64)
        try:
            drawn.append(bradley_terry(np.tensordot(weight, by_task, axes=1), pseudo_wins=pseudo_wins, rounds=1_000))
        except StatisticsError:
            continue  # counted below: too many of these, and there is no interval
    known = len(drawn) >= (1 - MAX_LOST) * resamples and bool(drawn)
    bounds = None
    if known and float(np.ptp(np.stack(drawn), axis=0).max()) > 1e-9:
        # where every task says the same, resampling them cannot show how sure this is
        bounds = _bounds(found, np.stack(drawn), count, confidence)
    order = np.argsort(-found, kind="stable")
    return tuple(
        Strength(
            name=names[i],
            strength=float(found[i]),
            low=None if bounds is None else float(bounds[0, i]),
            high=None if bounds is None else float(bounds[1, i]),
            wins=float(wins[i].sum()),
            losses=float(wins[:, i].sum()),
        )
        for i in order
    )


def _bounds(found: np.ndarray, drawn: np.ndarray, tasks: int, confidence: float) -> np.ndarray:
    """Lower and upper bounds of strengths, shape (2, k), from those of resampled tasks, shape (resamples, k)."""
    from scipy.stats import t

    spread = np.log(drawn / (1 - drawn)).std(axis=0, ddof=1) * np.sqrt(tasks / (tasks - 1))
    reach = float(t.ppf((1 + confidence) / 2, tasks - 1)) * spread
    centre = np.log(found / (1 - found))
    return np.stack([1 / (1 + np.exp(reach - centre)), 1 / (1 + np.exp(-reach - centre))])


def agreement_with_scores(contests: Sequence[Contest], scores: Mapping[str, float]) -> float | None:
    """Share of decided pairs in which the run with the higher score won; None without such a pair.

    Args:
        scores: Score of each run by the name it has in the pairs; runs without one, and equal scores, are left out.
    """
    hits = [hit for _, hit in score_hits(contests, scores)]
    return float(np.mean(hits)) if hits else None


def score_hits(contests: Sequence[Contest], scores: Mapping[str, float]) -> list[tuple[Contest, bool]]:
    """Decided pairs of two different scores, with whether the run with the higher one won; see above."""
    return [
        (c, (scores[c.first] > scores[c.second]) == (c.outcome == 1))
        for c in contests
        if c.outcome in (1, 2) and c.first in scores and c.second in scores and scores[c.first] != scores[c.second]
    ]


def _wins_among(names: Sequence[str], contests: Sequence[Contest], split_is_tie: bool) -> np.ndarray:
    own, wins = wins_of(contests, split_is_tie=split_is_tie)
    out = np.zeros((len(names), len(names)))
    places = [names.index(name) for name in own]
    out[np.ix_(places, places)] = wins
    return out
