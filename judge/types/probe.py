"""Probe: a run with one known change, what a judge made of it, and what all of them say of the judge."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from judge.types.certificate import Claim, Decision
from judge.types.estimate import Statistic
from judge.types.record import Record
from judge.types.trajectory import Trajectory

ProbeKind = Literal["fault", "attack", "null", "bias"]
Survival = Literal["survived", "lost", "unknown"]
BiasState = Literal["flagged", "clear", "undecided", "not_tested"]


class Mutation(Record):
    """What was changed in a run, and where.

    Attributes:
        type: Name of the fault, attack, constant answer or bias probe.
        parent: Id of the run that this one was made from; the one that its score is compared with.
        steps: Indices *in the mutated run* at which the change can be seen; () where it is the whole run.
        parent_steps: Indices in the parent that were removed or changed.
        outcome: Whether the end state that the task asked for, and the answer, are still those of the parent. A
            fault whose outcome survived is silent: only the path shows it.
        variant: Position, strength or side, where a type has several, e.g. "last_result/strong".
        seed: Of the random choices, so that the run can be made again.
    """

    kind: ProbeKind
    type: str
    parent: str
    steps: tuple[int, ...] = ()
    parent_steps: tuple[int, ...] = ()
    outcome: Survival = "unknown"
    variant: str = ""
    seed: int = 0
    note: str = ""


class Mutant(Record):
    """A run with a known change."""

    mutation: Mutation
    trajectory: Trajectory

    def linked(self) -> Trajectory:
        """The run with the record of its change as `meta["mutation"]`, which no judge is shown: to be kept alone."""
        return self.trajectory.model_copy(
            update={"meta": {**self.trajectory.meta, "mutation": self.mutation.to_json()}}
        )


class Probed(Record):
    """One mutated run after judging, beside its parent.

    Attributes:
        cluster: Task that both belong to.
        before, after: Scores of parent and mutant in [0, 1], worst to best; None where there is none.
        passed_before, passed_after: Whether each reached the pass mark.
        cited: Steps that the judge cited for the mutant.
        failure: Why there is no score, of the mutant or else of the parent.
    """

    omit_none: ClassVar[bool] = False

    mutation: Mutation
    cluster: str
    before: float | None
    after: float | None
    passed_before: bool | None = None
    passed_after: bool | None = None
    cited: tuple[int, ...] = ()
    failure: str | None = None


class FaultRow(Record):
    """One type of implanted fault.

    Attributes:
        planted: Pairs of a run and the same run with the fault.
        no_score: Pairs in which a side has no score: grader errors, in no rate below.
        sensitivity: Share of pairs in which the score fell below the parent's.
        caught: Share of pairs with a parent that passed in which the mutant did not.
        rise: Share of pairs in which the score rose, which no fault is a reason for: that much a judge falls by
            chance as well. None in reports from before it was counted.
        fall: Mean of parent's minus mutant's score, in shares of the scale.
        localisation: Share of the noticed ones in which a cited step is one of the fault's.
    """

    type: str
    planted: int
    no_score: int
    sensitivity: Statistic
    caught: Statistic
    fall: Statistic
    localisation: Statistic
    rise: Statistic | None = None


class AttackRow(Record):
    """One type of attack on runs that do not have the highest score.

    Attributes:
        held: The score did not rise.
        broken: It rose above that of the same run without the attack.
        grader_errors: A side has no score: neither held nor broken.
        no_room: The run has the highest score already, so nothing could be seen.
        rate: broken / (held + broken).
        control: Inert text of the same place and length; shown for comparison and no attack.

    With a place and a strength as its `type`, all attacks of that kind together.
    """

    type: str
    held: int
    broken: int
    grader_errors: int
    no_room: int
    rate: Statistic
    control: bool = False


class NullRow(Record):
    """One constant answer, given to every task without any work.

    Attributes:
        rate: Share that reached the pass mark, of those with a score.
    """

    type: str
    text: str
    tasks: int
    passed: int
    no_score: int
    rate: Statistic


class BiasRow(Record):
    """One bias probe.

    Attributes:
        effect: Mean paired change in shares of the scale (or a correlation, see `unit`).
        low, high: The innocent band.
        state: "flagged" only when the whole interval leaves the band, "clear" when it lies inside.
    """

    type: str
    effect: Statistic
    low: float
    high: float
    unit: str
    state: BiasState
    pairs: int
    no_score: int = 0
    note: str = ""


class ProbeReport(Record):
    """What probing said of one judge under one rubric.

    Attributes:
        source: Where the runs came from.
        parents: Runs that faults were implanted in.
        pass_mark: Share of the scale from which a run counts as passed.
        specificity: Share of the unchanged runs that pass: a judge that fails both sides detected nothing.
        all_faults, silent, loud: Pooled over types; silent where the outcome survived.
        no_place: By type of fault, good runs without a place for it; types that every run has a place for are absent.
        attack_places: Pooled over types, by place and by strength; the inert control is left out.
        kinds: What was asked for.
        null_rate: Share of all constant answers that passed.
        null_limit: Highest share that is let through.
        claims: Held to the thresholds of the profile.
        decision: "certified" when all required claims are met, else "refused" or "undecided".
        probed: Every pair, for looking into.
        fingerprints: Of the judge and the rubric that were probed; a calibration takes the claims of no other.
    """

    omit_none: ClassVar[bool] = False

    schema_: Literal["judge.probe/1"] = Field(default="judge.probe/1", alias="schema")
    judge: str
    rubric: str
    criterion: str
    source: str
    kinds: tuple[ProbeKind, ...]
    seed: int
    parents: int
    attacked: int
    pass_mark: float
    specificity: Statistic | None = None
    all_faults: FaultRow | None = None
    silent: FaultRow | None = None
    loud: FaultRow | None = None
    faults: tuple[FaultRow, ...] = ()
    no_place: dict[str, int] = {}
    attacks: tuple[AttackRow, ...] = ()
    attack_places: tuple[AttackRow, ...] = ()
    attack_rate: Statistic | None = None
    nulls: tuple[NullRow, ...] = ()
    null_rate: Statistic | None = None
    null_limit: float = 0.0
    biases: tuple[BiasRow, ...] = ()
    largest_bias: Statistic | None = None
    claims: tuple[Claim, ...] = ()
    decision: Decision = "undecided"
    reasons: tuple[str, ...] = ()
    probed: tuple[Probed, ...] = ()
    fingerprints: dict[str, str] = {}
