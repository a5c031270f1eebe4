"""What a reader of one log format says of a record, and what it makes of a run."""

from __future__ import annotations

from typing import Literal, NamedTuple

from judge.importers.builder import StepBuilder
from judge.importers.envelope import Envelope
from judge.types.trajectory import Agent, Outcome, Usage


class Look(NamedTuple):
    """What a record is by its own marks.

    Attributes:
        layout: "run" where the record holds one run or several, "item" where it is one record of a run.
        score: Strength from 1 to 100, as in `judge.protocols.Candidate`.
    """

    format: str
    layout: Literal["run", "item"]
    evidence: str
    score: int = 95


class Log(NamedTuple):
    """One run, read.

    Attributes:
        place: Where in the record it stands, e.g. "samples[3]"; empty where it is the whole record.
        outcome: How the run ended, by the format's own flag; None where it has none.
        usage: Of the whole run, where the format states it; sub-agents are not added twice.
    """

    builder: StepBuilder
    envelope: Envelope = Envelope()
    place: str = ""
    final: str | None = None
    outcome: Outcome | None = None
    usage: Usage | None = None
    agents: tuple[Agent, ...] = ()
