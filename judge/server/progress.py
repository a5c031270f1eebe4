"""How far a queue is: labels by rater, people against people, the judge against people, and how many more decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

from judge.calibration.label_budget import more_labels_for_share
from judge.calibration.proportions import wilson
from judge.store.access_keys import ADJUDICATED
from judge.store.label_queue import Entry, LabelQueues, QueueSettings
from judge.types.record import Record

BAR = 0.8
"""Share of agreement that `more` counts towards: that of the default profile for passed and failed runs."""


class Share(Record):
    """A share with its interval; all None where there is nothing to count.

    Attributes:
        hits, n: Trajectories counted.
        value: Each trajectory weighs the inverse of its chance to be drawn, so that an order that prefers some does not
            bend the share. `weighted`: whether the weights differ.
        low, high: Wilson interval at the effective size (Kish 1965), which is n where the weights are equal.
        more: Labels until the interval's lower bound clears `BAR` if the share stays; None where no number does it.
        reason: Why a number is absent.
    """

    omit_none: ClassVar[bool] = False

    hits: int
    n: int
    value: float | None
    low: float | None
    high: float | None
    more: int | None
    weighted: bool = False
    reason: str | None = None


class QueueProgress(Record):
    """The state of a queue.

    Attributes:
        drawn: Trajectories to label. `decided`: those with a consensus of people.
        disputed: Labelled differently by two people or more, not adjudicated.
        between_raters: Trajectories of two raters or more on which all of them agree (before adjudication).
        judge: Trajectories on which the judge agrees with the consensus: on the same side of the pass mark, or the
            same value where the scale has none.
    """

    omit_none: ClassVar[bool] = False

    queue: str
    drawn: int
    decided: int
    disputed: int
    by_rater: dict[str, int]
    between_raters: Share
    judge: Share


def progress_of(queues: LabelQueues, queue: str) -> QueueProgress:
    """Counts a queue's labels of people; labels of models are not among them."""
    settings = queues.settings(queue)
    scores = queues.scores(queue)
    by_id = people(queues.entries(queue))
    agreed = {id: consensus(entries) for id, entries in by_id.items()}
    decided = {id: value for id, value in agreed.items() if value is not None}
    chances = queues.chances(queue)
    given = {id: [e.value for e in entries if e.rater != ADJUDICATED] for id, entries in by_id.items()}
    several = [(len(set(values)) == 1, chances[id]) for id, values in given.items() if len(values) > 1]
    judged = [
        (same(settings, score, decided[id]), chances[id])
        for id, score in scores.items()
        if id in decided and score is not None
    ]
    return QueueProgress(
        queue=queue,
        drawn=len(scores),
        decided=len(decided),
        disputed=len(queues.disputes(queue)),
        by_rater=queues.counts(queue),
        between_raters=share(several, "no run has two raters"),
        judge=share(judged, "no run has both a label and a verdict"),
    )


def for_rater(progress: QueueProgress, rater: str) -> dict[str, object]:
    """What a rater may know of a queue: nothing that tells whether or how somebody else answered.

    A dispute that appears with the own answer says that another one gave a different one.
    """
    told = progress.to_json()
    mine = progress.by_rater.get(rater)
    return {
        "queue": told["queue"],
        "drawn": told["drawn"],
        "by_rater": {} if mine is None else {rater: mine},
        "judge": told["judge"],
    }


def people(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Answers of people by trajectory, skipped ones left out."""
    out: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.rater_kind == "human" and not entry.skipped:
            out.setdefault(entry.trajectory_id, []).append(entry)
    return out


def consensus(entries: Sequence[Entry]) -> float | None:
    """The adjudicated value, else the one that most raters gave; None for a tie or "not applicable"."""
    for entry in entries:
        if entry.rater == ADJUDICATED:
            return entry.value
    ranked = Counter(entry.value for entry in entries).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def same(settings: QueueSettings, judge: float, person: float) -> bool:
    """Whether judge and person agree: see `QueueProgress.judge`."""
    side = settings.passes(judge)
    return judge == person if side is None else side == settings.passes(person)


def share(counted: Sequence[tuple[bool, float]], empty: str) -> Share:
    """The share of hits with its interval, of (hit, chance of being drawn) each; `empty` says why there is none.

    Source: Hájek's ratio of weighted sums (Särndal, Swensson & Wretman 1992, 5.7); Kish 1965 for the effective size.
    """
    n = len(counted)
    if n == 0:
        return Share(hits=0, n=0, value=None, low=None, high=None, more=None, reason=empty)
    weights = [1 / chance for _, chance in counted]
    total = sum(weights)
    value = min(1.0, sum(weight for (hit, _), weight in zip(counted, weights, strict=True) if hit) / total)
    weighted = max(weights) > min(weights) * (1 + 1e-9)
    size = min(float(n), total**2 / sum(weight**2 for weight in weights)) if weighted else float(n)
    low, high = wilson(value * size, size)
    budget = more_labels_for_share(value * n, n, BAR, design_effect=n / size)
    return Share(
        hits=sum(hit for hit, _ in counted),
        n=n,
        value=value,
        low=low,
        high=high,
        more=budget.more,
        weighted=weighted,
        reason=budget.reason
        if value > BAR
        else f"that is not above the {100 * BAR:.0f} % to clear, and more labels of this kind would not lift it",
    )


def disagreements(queues: LabelQueues, queue: str) -> list[Mapping[str, object]]:
    """Trajectories on which the judge and the consensus of people differ, judge and every person side by side."""
    settings = queues.settings(queue)
    by_id = people(queues.entries(queue))
    out: list[Mapping[str, object]] = []
    for id, score in queues.scores(queue).items():
        agreed = consensus(by_id.get(id, []))
        if score is not None and agreed is not None and not same(settings, score, agreed):
            out.append({"id": id, "judge": score, "people": agreed, "entries": by_id[id]})
    return out
