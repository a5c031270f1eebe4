"""Pair verdicts → what they say: of the judge (order, place, people, scores), and of who is better (a ranking)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from judge.calibration.pairwise import Contest, OrderReport, Strength, Winner, order_report, score_hits, strengths
from judge.calibration.probes.position import position_row
from judge.calibration.proportions import share
from judge.errors import StatisticsError
from judge.types.estimate import Statistic, undefined
from judge.types.pair import PairVerdict, PairWinner, Preferred
from judge.types.probe import BiasRow
from judge.types.record import Record
from judge.types.verdict import Trust

NEVER_MEET = (
    "Runs of different tasks never meet, so there is none over tasks. Where every run names its agent, agents are "
    "ranked."
)
_WINNER: Mapping[PairWinner, Winner] = {"a": 1, "b": 2, "tie": 0}


class Tally(Record):
    """How often one contestant won, lost and tied, and how often nothing could be said."""

    name: str
    won: int = 0
    lost: int = 0
    tied: int = 0
    inconclusive: int = 0
    failed: int = 0
    not_applicable: int = 0


class ScoreAgreement(Record):
    """Winners of pairs against scores of the same runs, one by one.

    Attributes:
        agreement: Share of the pairs with a winner and two different scores in which the higher score won.
        equal: Pairs with a winner and equal scores. `unscored`: with a winner, and a run without a score.
    """

    agreement: Statistic
    equal: int
    unscored: int


class PairReport(Record):
    """What a judge's verdicts on pairs say.

    Attributes:
        ranked: Whether contestants are agents or single runs.
        won, ties, inconclusive, failed, not_applicable: Pairs by outcome; they add up to `pairs`.
        swapped: Of the inconclusive ones, those whose two orders name different outcomes.
        failures: Failed samples by kind.
        order_agreement: Share, of the pairs with an outcome in both orders, of those in which it is the same one.
        position: Pull of the first place, with the band that is innocent.
        tallies: By contestant, in the order of their names.
        ranking: Bradley–Terry strengths, best first, from wins and ties; () where `unranked` says why there is none.
        left_out: Pairs that are in no ranking: inconclusive, failed or not applicable.
        pseudo_wins: Added to every two contestants in both directions before ranking; 0 for none.
        scores: None where no scores were given.
        people: None where no preferences of people were given, or none is of a pair that was judged.
        labels_unused: Preferences of people on pairs that were not judged.
    """

    omit_none: ClassVar[bool] = False

    schema_: Literal["judge.pairs/1"] = Field(default="judge.pairs/1", alias="schema")
    judge: str
    rubric: str
    ranked: Literal["agent", "run"]
    pairs: int
    tasks: int
    won: int
    ties: int
    inconclusive: int
    swapped: int
    failed: int
    not_applicable: int
    failures: dict[str, int]
    order_agreement: Statistic
    position: BiasRow
    tallies: tuple[Tally, ...]
    ranking: tuple[Strength, ...]
    unranked: str | None
    left_out: int
    pseudo_wins: float
    scores: ScoreAgreement | None
    people: OrderReport | None
    labels_unused: int = 0
    trust: Trust
    calls: int
    cached: int
    cost_usd: float | None


def pair_report(
    verdicts: Sequence[PairVerdict],
    *,
    ranked: Literal["agent", "run"],
    rng: np.random.Generator,
    scores: Mapping[str, float] | None = None,
    labels: Mapping[tuple[str, str], Preferred] | None = None,
    pseudo_wins: float = 0.0,
) -> PairReport:
    """Counts, order agreement, position bias, ranking, and agreement with scores and people where they are given.

    Args:
        verdicts: At least one, all by one judge under one rubric.
        scores: Score of a run by its id.
        labels: What people prefer, by (id, id) in the order in which they named the two.
        pseudo_wins: See `judge.calibration.bradley_terry`.

    Raises:
        StatisticsError: No verdict.
    """
    if not verdicts:
        raise StatisticsError("There is no verdict on any pair.", hint="Give runs that share a task.")
    by_run = [contest(verdict, (verdict.a, verdict.b), labels) for verdict in verdicts]
    by_name = [contest(verdict, verdict.contestants) for verdict in verdicts]
    outcomes = Counter(verdict.winner for verdict in verdicts)
    counted = [one for one, verdict in zip(by_name, verdicts, strict=True) if verdict.winner in _WINNER]
    tasks = len({verdict.task for verdict in verdicts})
    ranking, unranked = ((), NEVER_MEET) if ranked == "run" and tasks > 1 else _ranking(counted, rng, pseudo_wins)
    labelled = [one for one in by_run if one.label is not None]
    costs = [verdict.cost_usd for verdict in verdicts]
    return PairReport(
        judge=verdicts[0].judge,
        rubric=verdicts[0].rubric,
        ranked=ranked,
        pairs=len(verdicts),
        tasks=tasks,
        won=outcomes["a"] + outcomes["b"],
        ties=outcomes["tie"],
        inconclusive=outcomes["inconclusive"],
        swapped=sum(one.ab is not None and one.ba is not None and one.ab != one.ba for one in by_name),
        failed=outcomes["failed"],
        not_applicable=outcomes["not_applicable"],
        failures=dict(sorted(Counter(error.kind for verdict in verdicts for error in verdict.errors).items())),
        order_agreement=order_agreement(by_name, rng=rng),
        position=position_row(by_name, rng=rng),
        tallies=tallies(verdicts),
        ranking=ranking,
        unranked=unranked,
        left_out=len(verdicts) - len(counted),
        pseudo_wins=pseudo_wins,
        scores=None if scores is None else _against_scores(by_run, scores, rng),
        people=order_report(labelled, rng=rng) if labelled else None,
        labels_unused=len(labels or {}) - len(labelled),
        trust=verdicts[0].trust,
        calls=sum(verdict.calls for verdict in verdicts),
        cached=sum(verdict.cached for verdict in verdicts),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )


def contest(
    verdict: PairVerdict, names: tuple[str, str], labels: Mapping[tuple[str, str], Preferred] | None = None
) -> Contest:
    """The verdict for the statistics of `judge.calibration.pairwise`, its two sides under `names`."""
    label = (labels or {}).get((verdict.a, verdict.b))
    if label is None and (turned := (labels or {}).get((verdict.b, verdict.a))) is not None:
        label = "tie" if turned == "tie" else "b" if turned == "a" else "a"
    return Contest(
        first=names[0],
        second=names[1],
        ab=_WINNER.get(verdict.orders[0]),
        ba=_WINNER.get(verdict.orders[1]),
        label=None if label is None else _WINNER[label],
        group=verdict.task,
    )


def order_agreement(contests: Sequence[Contest], *, rng: np.random.Generator) -> Statistic:
    """Share of pairs with an outcome in both orders whose outcome is the same, clustered by task; failures are out."""
    both = [one for one in contests if one.ab is not None and one.ba is not None]
    if not both:
        return undefined("no pair has an outcome in both orders", n=0, clusters=0)
    return share([float(one.ab == one.ba) for one in both], groups=[one.group for one in both], rng=rng)


def tallies(verdicts: Sequence[PairVerdict]) -> tuple[Tally, ...]:
    """Outcomes by contestant, by name."""
    found: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        for side, name in zip(("a", "b"), verdict.contestants, strict=True):
            words = {"a": "won" if side == "a" else "lost", "b": "won" if side == "b" else "lost", "tie": "tied"}
            found.setdefault(name, Counter())[words.get(verdict.winner, verdict.winner)] += 1
    return tuple(Tally(name=name, **counts) for name, counts in sorted(found.items()))


def _ranking(
    contests: Sequence[Contest], rng: np.random.Generator, pseudo_wins: float
) -> tuple[tuple[Strength, ...], str | None]:
    if not contests:
        return (), "No pair has a winner or a tie."
    try:
        return strengths(contests, rng=rng, pseudo_wins=pseudo_wins, split_is_tie=False), None
    except StatisticsError as error:
        return (), str(error)


def _against_scores(
    contests: Sequence[Contest], scores: Mapping[str, float], rng: np.random.Generator
) -> ScoreAgreement:
    won = [one for one in contests if one.outcome in (1, 2)]
    scored = [one for one in won if one.first in scores and one.second in scores]
    hits = score_hits(contests, scores)
    found = (
        share([float(hit) for _, hit in hits], groups=[one.group for one, _ in hits], rng=rng)
        if hits
        else undefined("no pair has a winner and two different scores", n=0, clusters=0)
    )
    return ScoreAgreement(agreement=found, equal=len(scored) - len(hits), unscored=len(won) - len(scored))
