"""Juror: what one judge brings to a jury on labelled runs."""

from __future__ import annotations

from typing import ClassVar

from judge.types.estimate import Statistic
from judge.types.record import Record


class Juror(Record):
    """One judge of a jury.

    Attributes:
        reserve: Whether it only sits in for a member without a score.
        called: Runs, of `runs`, on which it was asked; `scored` those on which it gave a score, the others stand in
            `failures` by cause.
        replaced: Runs on which it gave no score and a reserve took its seat.
        alone: Its own credit over the runs on which it was asked, one without a score earns none; undefined where it
            was never asked.
        without: Credit of the jury without it, over all runs; undefined where votes for that were never cast. On
            `without_unsettled` runs it gives no verdict; a tie among them is worth the mean of the tied values.
        adds: Credit of the jury less that of the jury without it, ties of both so, paired, with an interval over tasks.
    """

    omit_none: ClassVar[bool] = False

    judge: str
    reserve: bool
    runs: int
    called: int
    scored: int
    failures: dict[str, int]
    replaced: int
    alone: Statistic
    without: Statistic
    without_unsettled: int | None
    adds: Statistic
