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
    """A share with its Wilson interval; all None where there is nothing to count.

    Attributes:
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
    several = [[e.value for e in entries if e.rater != ADJUDICATED] for entries in by_id.values()]
    several = [values for values in several if len(values) > 1]
    known = {id: score for id, score in scores.items() if id in decided and score is not None}
    hits = sum(same(settings, score, decided[id]) for id, score in known.items())
    return QueueProgress(
        queue=queue,
        drawn=len(scores),
        decided=len(decided),
        disputed=len(queues.disputes(queue)),
        by_rater=queues.counts(queue),
        between_raters=share(sum(len(set(values)) == 1 for values in several), len(several), "no run has two raters"),
        judge=share(hits, len(known), "no run has both a label and a verdict"),
    )


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


def share(hits: int, n: int, empty: str) -> Share:
    """The share with its interval; with nothing counted, `empty` says why."""
    if n == 0:
        return Share(hits=0, n=0, value=None, low=None, high=None, more=None, reason=empty)
    low, high = wilson(hits, n)
    budget = more_labels_for_share(hits, n, BAR)
    return Share(hits=hits, n=n, value=hits / n, low=low, high=high, more=budget.more, reason=budget.reason)


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
