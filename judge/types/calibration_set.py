"""Calibration set: trajectories, the labels on them, and how both came to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from judge.types.label import Label, RaterKind, Split
from judge.types.record import Record
from judge.types.rubric import Scale
from judge.types.trajectory import Trajectory

SamplingDesign = Literal["random", "by_verdict", "class_balanced", "constructed", "unknown"]
Profile = Literal["strict", "default", "advisory"]


class SetCriterion(Record):
    """A criterion that the set has labels for.

    Attributes:
        rubric: Id of the rubric that asks it.
        rubric_version: Version of that rubric that the labels were made under; labels under another are refused.
        scale: Scale of the labels, or None where it is not declared (then no value is checked).
        judged_by: Criterion of the rubric whose score, cut at `pass_mark`, answers this one; None where the rubric
            asks it itself.
        pass_mark: Lowest score of `judged_by` that counts as passed.
    """

    id: str = Field(min_length=1)
    rubric: str = Field(min_length=1)
    rubric_version: str | None = None
    scale: Scale | None = None
    judged_by: str | None = None
    pass_mark: float | None = None

    @model_validator(mode="after")
    def _cut(self) -> SetCriterion:
        if (self.judged_by is None) != (self.pass_mark is None):
            raise ValueError(f"criterion {self.id!r} needs both of judged_by and pass_mark, or neither")
        return self


class Population(Record):
    """What the runs stand for; a certificate holds for nothing else.

    Attributes:
        agents: Names of the agents, or () where any agent counts.
        tools: Names of the tools that the agents may call.
        min_steps, max_steps: Bounds of the number of steps of a run, both included.
        language: Of the texts, as a BCP 47 tag.
    """

    agents: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    min_steps: int | None = Field(default=None, ge=1)
    max_steps: int | None = Field(default=None, ge=1)
    language: str | None = None
    note: str = ""


class RequiredClaim(Record):
    """A claim that a certificate on this set must prove.

    Attributes:
        name: E.g. "tpr", "tnr", "kappa", "flip_rate".
        criterion: The criterion it is about; None for all of them.
        threshold: Bar for its unfavourable bound; None for the profile's.
    """

    name: str = Field(min_length=1)
    criterion: str | None = None
    threshold: float | None = None


class SetSettings(Record):
    """What set.yaml says.

    Attributes:
        sampling_design: How the trajectories came to be labelled. Never guessed: "constructed" and "unknown" allow no
            corrected pass rate.
        label_kinds_allowed: Kinds of rater whose labels may count; a certificate writes it down.
        claims: What must be proved, each at the threshold of `profile` where it gives none; () for all that `profile`
            requires.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]*$")
    title: str
    criteria: tuple[SetCriterion, ...] = Field(min_length=1)
    sampling_design: SamplingDesign
    population: Population = Population()
    licence: str
    label_kinds_allowed: tuple[RaterKind, ...] = ("human",)
    profile: Profile = "default"
    claims: tuple[RequiredClaim, ...] = ()

    @model_validator(mode="after")
    def _distinct(self) -> SetSettings:
        ids = [criterion.id for criterion in self.criteria]
        if len(set(ids)) < len(ids):
            raise ValueError(f"two criteria share an id: {ids!r}")
        stray = {claim.criterion for claim in self.claims if claim.criterion is not None} - set(ids)
        if stray:
            raise ValueError(f"claims name criteria that the set has not: {sorted(stray)!r}")
        claims = [(claim.name, claim.criterion) for claim in self.claims]
        if len(set(claims)) < len(claims):
            raise ValueError(f"a claim stands twice: {claims!r}")
        return self

    def criterion(self, id: str) -> SetCriterion | None:
        """The criterion of that id, or None."""
        return next((criterion for criterion in self.criteria if criterion.id == id), None)


class CalibrationSet(Record):
    """A set as read from its folder, consistent: see `judge.calibration.sets` for what was checked.

    Attributes:
        name: Name of the folder.
        card: The text of card.md: who labelled, when, how drawn, licence, splits.
    """

    name: str
    card: Annotated[str, Field(min_length=1)]
    settings: SetSettings
    trajectories: tuple[Trajectory, ...] = Field(min_length=1)
    labels: tuple[Label, ...] = Field(min_length=1)

    def splits(self) -> Mapping[str, Split]:
        """The split of each labelled trajectory, by id."""
        return {label.trajectory_id: label.split for label in self.labels}

    def clusters(self) -> Mapping[str, str]:
        """The group of each trajectory, by id; a run without a group is a group of its own."""
        return {run.id: cluster(run) for run in self.trajectories}


def cluster(trajectory: Trajectory) -> str:
    """The group that a trajectory is clustered by: its own id where it has none."""
    return trajectory.group if trajectory.group is not None else trajectory.id
