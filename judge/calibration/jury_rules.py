"""Who is called next, and what the votes of a jury come to: one rule for live and recorded juries.

Votes are given as judge to value; None stands for a judge that was called and gave no score. Scales: binary values
are 1 (passed) and 0 (failed); others are numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import ClassVar

from judge.errors import StatisticsError
from judge.types.jury import Jury
from judge.types.record import Record

Given = Mapping[str, float | None]


class JuryVote(Record):
    """What a jury says of one run.

    Attributes:
        value: The verdict, or None with `failure`, or None with `tie`.
        called: Judges whose votes stand behind it, reserves in their seats.
        split: Whether the valid votes differed.
    """

    omit_none: ClassVar[bool] = False

    value: float | None
    failure: str | None
    tie: bool
    split: bool
    called: tuple[str, ...]


def next_seat(jury: Jury, given: Given) -> str | None:
    """The judge to call next on a run, given the votes so far; None when the jury may vote."""
    seats = occupied(jury, given)
    for place, name in enumerate(seats):
        if name in given:
            continue
        if _needed(jury, place, [given[seat] for seat in seats[:place]]):
            return name
        return None
    return None


def sure_seats(jury: Jury) -> int:
    """How many members are called on every run; the others wait for a split, or for a pass."""
    return {"all": len(jury.members), "on_split": 2, "screen": 1}[jury.seating]


def jury_vote(jury: Jury, given: Given, *, binary: bool, weights: Mapping[str, float] | None = None) -> JuryVote:
    """The verdict of the judges that were called.

    Args:
        weights: Of each judge, for rule "weighted".

    Raises:
        StatisticsError: A rule that needs a binary scale on another, weights missing, or a rule that needs all runs
            at once ("dawid_skene", "stacked").
    """
    if not binary and (why := needs_binary(jury)):
        raise StatisticsError(f"Jury {jury.name!r}: {why}.")
    called = tuple(name for name in occupied(jury, given) if name in given)
    votes = {name: value for name in called if (value := given[name]) is not None}
    split = len(set(votes.values())) > 1
    made: dict[str, object] = {"called": called, "split": split, "tie": False, "failure": None, "value": None}
    need = jury.quorum if jury.quorum is not None else len(called) // 2 + 1
    if jury.seating == "screen":
        made |= _screened([given[name] for name in called], _mark(jury))
    elif jury.rule == "minimum":
        made |= _minimum(jury.passes or 1, list(votes.values()), len(called) - len(votes))
    elif len(votes) < need or not votes:
        made["failure"] = f"failed: {len(votes)} of {len(called)} seats gave a score, {need} needed"
    else:
        value = _combined(jury, votes, binary, weights)
        if value is None and jury.on_tie == "fail":
            value = min(votes.values())
        made |= {"value": value, "tie": value is None}
    return JuryVote.model_validate(made)


def needs_binary(jury: Jury) -> str | None:
    """Why this jury votes on a binary scale alone, or None where it does not."""
    if jury.rule == "minimum":
        return "rule minimum needs verdicts that are passed or failed"
    if jury.seating == "screen" and jury.pass_mark is None:
        return "seating screen needs a pass_mark on a scale that is not binary"
    return None


def occupied(jury: Jury, given: Given) -> list[str]:
    """Who sits on each seat by now: the member, or the reserve that took the place of one without a score."""
    reserves = iter(jury.reserves)
    seats = []
    for member in jury.members:
        name = member
        while name in given and given[name] is None:
            reserve = next(reserves, None)
            if reserve is None:
                break
            name = reserve
        seats.append(name)
    return seats


def _needed(jury: Jury, place: int, before: Sequence[float | None]) -> bool:
    """Whether the seat at `place` is called, given the answers of all seats before it."""
    if jury.seating == "on_split" and place >= 2:
        return before[0] is None or before[0] != before[1]
    if jury.seating == "screen" and place == 1:
        return before[0] is None or before[0] >= _mark(jury)
    return True


def _mark(jury: Jury) -> float:
    return 1.0 if jury.pass_mark is None else jury.pass_mark


def _screened(answers: Sequence[float | None], mark: float) -> dict[str, object]:
    """The lower score; a score below the mark needs no second one, a pass needs both."""
    scores = [value for value in answers if value is not None]
    if scores and (min(scores) < mark or len(scores) == 2):
        return {"value": min(scores)}
    return {"failure": "failed: a pass needs both judges, and one gave no score"}


def _minimum(needed: int, votes: Sequence[float], missing: int) -> dict[str, object]:
    passes = sum(value == 1.0 for value in votes)
    if passes >= needed:
        return {"value": 1.0}
    if passes + missing < needed:
        return {"value": 0.0}
    return {"failure": f"failed: {passes} passes of {needed} needed, and {missing} seats gave no score"}


def _combined(
    jury: Jury, votes: Mapping[str, float], binary: bool, weights: Mapping[str, float] | None
) -> float | None:
    values = list(votes.values())
    if jury.rule == "majority":
        ranked = Counter(values).most_common(2)
        return None if len(ranked) > 1 and ranked[0][1] == ranked[1][1] else ranked[0][0]
    if jury.rule == "median":
        middle = float(median(values))
    elif jury.rule == "mean":
        middle = sum(values) / len(values)
    elif jury.rule == "weighted":
        missing = [name for name in votes if name not in (weights or {})]
        if weights is None or missing:
            raise StatisticsError(f"Jury {jury.name!r}: no weight for {', '.join(missing) or 'its members'}.")
        total = sum(weights[name] for name in votes)
        if total <= 0:
            return None
        middle = sum(weights[name] * value for name, value in votes.items()) / total
    else:
        raise StatisticsError(
            f"Jury {jury.name!r}: rule {jury.rule} learns from all runs at once.", hint="Use it on recorded verdicts."
        )
    if not binary:
        return middle
    return None if abs(middle - 0.5) < 1e-12 else float(middle > 0.5)
